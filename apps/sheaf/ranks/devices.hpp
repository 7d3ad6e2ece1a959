#pragma once

#include <functional>

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/command.hpp"

// The command on several GPUs of this machine: ranks are threads of this process, one for each GPU.
namespace sheaf::cli {

/// Starts ranks that are threads of this process, calls `work` on each, and returns once all have ended.
using rank_threads = std::function<void(const std::function<void(const distributed::group&)>& work)>;

/// Refuses options that do not go with --devices, and --devices among processes of MPI. @throws error(bad_argument)
void require_options_of_devices(const common_options& common);

/// Ranks on the GPUs that --devices names. @throws error(backend_unavailable) where there is no such device
rank_threads threads_on_devices(const common_options& common);

/// Does work on such ranks. Throws what the first rank threw, where all ranks know of it alike; and what befell one
/// rank alone, which ends the calls of the others, with the number of that rank.
void work_on_threads(const rank_threads& threads, const std::function<void(const distributed::group&)>& work);

}  // namespace sheaf::cli
