#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/command.hpp"

// The command as one of several processes that an MPI's launcher has started: each works on its part of the files.
namespace sheaf::cli {

/// The number of processes that mpirun, srun or the like says it has started; 1 where none has.
int started_ranks();

/// Does work on all ranks, as one of them, and ends MPI. An error that all ranks have is thrown on the first, for it to
/// be said once; other ranks leave in silence. What befalls this rank alone is said here, and ends all ranks.
void work_on_ranks(const common_options& common, const std::function<void(const distributed::group&)>& work);

/// Options that make no sense where many ranks work, or that are not done there yet: those given are refused by name.
struct refused_option {
  const char* name;
  bool is_given;
};
void refuse_on_ranks(std::span<const refused_option> options);

}  // namespace sheaf::cli
