#include "apps/sheaf/ranks/devices.hpp"

#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>

#include <sheaf/distributed/gpus.hpp>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "core/backends.hpp"
#include "distributed/state.hpp"

namespace sheaf::cli {
namespace {

/// The exception under way as one of the library. @param before  what its words have in front
error failure_under_way(const std::string& before) {
  try {
    throw;
  } catch (const error& thrown) {
    return {thrown.code(), before + thrown.what()};
  } catch (const std::bad_alloc&) {
    return {error_code::out_of_memory, before + "host memory is short"};
  } catch (const std::system_error& thrown) {
    return {error_code::io_failure, before + thrown.what()};
  } catch (const std::exception& thrown) {
    return {error_code::internal, before + thrown.what()};
  } catch (...) {
    return {error_code::internal, before + distributed::unknown_exception};
  }
}

}  // namespace

void require_options_of_devices(const common_options& common) {
  if (!common.devices) return;
  if (started_ranks() > 1) primitives::refuse("--devices is for one process, not for several of MPI");
  if (common.backend != "auto" && common.backend != name(backend_kind::cuda))
    primitives::refuse("--devices is for CUDA, not for --backend {}", common.backend);
  if (common.threads != 0) primitives::refuse("--threads is for the CPU, not for --devices");
}

rank_threads threads_on_devices(const common_options& common) {
  const core::backend& cuda = core::backend_of(backend_kind::cuda);
  const int count = cuda.is_built() ? cuda.device_count() : 0;
  if (count <= 0) {
    io::throw_error(error_code::backend_unavailable, "--devices: there is no CUDA device{}",
                    cuda.is_built() ? "" : fmt::format(": this build of sheaf has no backend '{}'", cuda.name));
  }
  const std::vector<int> devices = common.devices.value_or(std::vector<int>{});
  for (const int device : devices) {
    if (device >= count) {
      io::throw_error(error_code::backend_unavailable, "--devices: there is no CUDA device {}; this machine has {}",
                      device, count);
    }
  }
  return [devices](const std::function<void(const distributed::group&)>& work) {
    distributed::run_on_gpus(devices, {}, work);
  };
}

void work_on_threads(const rank_threads& threads, const std::function<void(const distributed::group&)>& work) {
  std::mutex mutex;
  std::exception_ptr of_all;         // as the first rank has it
  std::optional<error> of_one_rank;  // the first that was noted: others may be what came of it
  // No exception leaves a thread. Its group would be lost, and with it what all ranks are about to throw alike.
  threads([&](const distributed::group& ranks) {
    try {
      work(ranks);
      ranks.wait();
    } catch (...) {
      const distributed::group_state& state = ranks.state();
      if (state.is_shared() && !state.is_lost()) {
        if (ranks.rank() == 0) of_all = std::current_exception();
        return;
      }
      // What has ended a call of all ranks names the rank that it befell.
      const error failure = failure_under_way(state.is_lost() ? "" : fmt::format("rank {}: ", ranks.rank()));
      {
        const std::lock_guard lock(mutex);
        if (!of_one_rank) of_one_rank.emplace(failure);
      }
      if (!state.is_lost()) ranks.abandon(failure.what());
    }
  });
  if (of_one_rank) throw *of_one_rank;
  if (of_all != nullptr) std::rethrow_exception(of_all);
}

}  // namespace sheaf::cli
