#pragma once

#include <functional>
#include <optional>

#include <sheaf/distributed/group.hpp>
#include <sheaf/distributed/worth.hpp>

#include "apps/sheaf/command.hpp"

// The command on several GPUs of this machine: ranks are threads of this process, one for each GPU.
namespace sheaf::cli {

/// Starts ranks that are threads of this process, calls `work` on each, and returns once all have ended.
using rank_threads = std::function<void(const std::function<void(const distributed::group&)>& work)>;

/// Refuses options that do not go with --devices, and --devices among processes of MPI. @throws error(bad_argument)
void require_options_of_devices(const common_options& common);

/// A call that ranks are to divide, as sizes alone say it.
struct sized_call {
  /// What it is predicted to take on 1 to `most` GPUs like that of the context.
  std::function<distributed::device_estimate(const context& first, int most)> explain;
  /// Memory that it takes on each of so many, at most.
  std::function<std::uint64_t(int devices)> bytes_on_each;
};
/// Looks into files for the sizes; nothing where only reading all of them would tell.
using call_sizes = std::function<std::optional<sized_call>()>;

/// On how many GPUs a call takes least, of those on which its arrays fit; all where they fit on none.
/// @param free_bytes  memory that is free on the fullest of the first so many GPUs. It is not asked about more of them
/// than are worth it: to ask a GPU begins work on it.
int devices_worth(const distributed::device_estimate& estimate, const sized_call& call,
                  const std::function<std::uint64_t(int devices)>& free_bytes);

/// Ranks on the GPUs that --devices names; of all GPUs, on so many of the first as are worth it.
/// @throws error(backend_unavailable) where there is no such device
rank_threads threads_on_devices(const common_options& common, const call_sizes& sizes);

/// Does work on such ranks. Throws what the first rank threw, where all ranks know of it alike; and what befell one
/// rank alone, which ends the calls of the others, with the number of that rank.
void work_on_threads(const rank_threads& threads, const std::function<void(const distributed::group&)>& work);

}  // namespace sheaf::cli
