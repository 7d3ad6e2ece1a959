#include "apps/sheaf/ranks/devices.hpp"

#include <exception>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>

#include <sheaf/distributed/gpus.hpp>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "core/backends.hpp"
#include "distributed/state.hpp"
#include "primitives/ranks/steps.hpp"

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

int devices_worth(const distributed::device_estimate& estimate, const sized_call& call, std::uint64_t free_bytes) {
  const int most = static_cast<int>(estimate.seconds.size());
  int best = 0;
  for (int devices = 1; devices <= most; ++devices) {
    if (call.bytes_on_each(devices) > free_bytes) continue;
    const auto seconds_on = [&](int count) { return estimate.seconds[static_cast<std::size_t>(count) - 1]; };
    if (best == 0 || seconds_on(devices) < seconds_on(best)) best = devices;
  }
  return best == 0 ? most : best;
}

namespace {

/// The first GPUs, as many as the call is worth.
std::vector<int> devices_of_all(const common_options& common, int count, const call_sizes& sizes) {
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  if (count == 1 || !sizes) return devices;
  std::optional<sized_call> call;
  distributed::device_estimate estimate;
  std::optional<context> first;
  try {
    call = sizes();
    if (!call) return devices;
    first.emplace(context::cuda(0));
    estimate = call->explain(*first, count);
  } catch (const std::exception&) {
    return devices;  // what is wrong ranks find, too, and say it in their words
  }
  const std::uint64_t free_bytes = primitives::routing_steps_of(backend_kind::cuda).free_bytes(*first);
  devices.resize(static_cast<std::size_t>(devices_worth(estimate, *call, free_bytes)));
  if (!common.verbose) return devices;
  for (int k = 1; k <= count; ++k) {
    const std::uint64_t bytes = call->bytes_on_each(k);
    fmt::print(stderr, "{}: {} GPU{}: predicted {}{}{}\n", common.command_name, k, k == 1 ? "" : "s",
               seconds_text(estimate.seconds[static_cast<std::size_t>(k) - 1]),
               bytes > free_bytes
                   ? fmt::format("; takes {} of {} that are free", bytes_text(bytes), bytes_text(free_bytes))
                   : "",
               k == static_cast<int>(devices.size()) ? ", taken" : "");
  }
  return devices;
}

}  // namespace

rank_threads threads_on_devices(const common_options& common, const call_sizes& sizes) {
  const core::backend& cuda = core::backend_of(backend_kind::cuda);
  const int count = cuda.is_built() ? cuda.device_count() : 0;
  if (count <= 0) {
    io::throw_error(error_code::backend_unavailable, "--devices: there is no CUDA device{}",
                    cuda.is_built() ? "" : fmt::format(": this build of sheaf has no backend '{}'", cuda.name));
  }
  const std::vector<int> named = common.devices.value_or(std::vector<int>{});
  const std::vector<int> devices = named.empty() ? devices_of_all(common, count, sizes) : named;
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
