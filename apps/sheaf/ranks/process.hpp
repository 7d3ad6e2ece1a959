#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/ranks/devices.hpp"

// The command on ranks, each of which works on its part of the files: as one of several processes that an MPI's
// launcher has started, or on threads of one process.
namespace sheaf::cli {

/// The number of processes that mpirun, srun or the like says it has started; 1 where none has.
int started_ranks();
/// Which of them this one is, as they say; 0 where none has.
int started_rank();

/// What a subcommand does where several processes run it.
enum class role_on_ranks : std::uint8_t {
  divides,  ///< all work, each on its part
  prints,   ///< the first prints what it would print alone, and the others leave
  refuses,  ///< the first says that the work is not divided, and the others leave
};
/// Of a subcommand that is named nowhere it is the last.
role_on_ranks role_of_subcommand(std::string_view name);

/// Whether ranks divide the work of a subcommand that divides it. @throws error(bad_argument) for a plan on --devices
bool is_divided(const common_options& common);

/// Does work on all ranks: on `threads` where they are given, else on the GPUs of --devices, else on the processes of
/// MPI, as one of them, and ends MPI.
///
/// An error that all ranks have is thrown once: by the first process of MPI, while others leave in silence, or for all
/// threads. What befalls one process alone is said there, and ends all. Processes whose arguments are not all the same
/// are refused. Threads call `work` side by side: what it does for all of them is for the first rank alone.
/// @param sizes  of the call, by which it runs on fewer GPUs than all where that is faster; may be empty
void work_on_ranks(const common_options& common, const rank_threads& threads, const call_sizes& sizes,
                   const std::function<void(const distributed::group&)>& work);

/// group::agree() for checks that all ranks do alike: what the first rank refuses it throws as it was, in full and
/// without its rank.
void agree_on_ranks(const distributed::group& ranks, const std::function<void()>& check);

/// Ends the other processes with a refusal that this one has found before work_on_ranks(), which they may be in.
/// Does nothing after that. Returns on the first process alone, for it to say what is wrong; others leave in silence.
void tell_ranks(error_code code, const std::string& refusal);

/// group::wait(), whose bad index becomes one of the file that it came from. @param path  of that file
void wait_for_index(const distributed::group& ranks, const std::string& path);

/// Options that make no sense where many ranks work, or that are not done there yet: those given are refused by name.
struct refused_option {
  const char* name;
  bool is_given;
};
void refuse_on_ranks(std::span<const refused_option> options);
/// Likewise of the options that all subcommands have.
void refuse_on_ranks(const common_options& common);
/// Streams, of which ranks cannot have parts. A name may be empty.
void refuse_streams(std::initializer_list<std::string> paths);

}  // namespace sheaf::cli
