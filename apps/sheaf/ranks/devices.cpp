#include "apps/sheaf/ranks/devices.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>

#include <sheaf/distributed/gpus.hpp>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/ranks/process.hpp"
#include "core/backends.hpp"
#include "distributed/cost.hpp"
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

int devices_worth(const distributed::device_estimate& estimate, const sized_call& call,
                  const std::function<std::uint64_t(int devices)>& free_bytes) {
  constexpr double never = std::numeric_limits<double>::infinity();
  double least = never;
  return distributed::cheapest_ranks(static_cast<int>(estimate.seconds.size()), [&](int devices) {
    const double seconds = estimate.seconds[static_cast<std::size_t>(devices) - 1];
    if (!(seconds < least) || call.bytes_on_each(devices) > free_bytes(devices)) return never;
    return least = seconds;
  });
}

namespace {

/// Of the first GPUs, the least memory that is free on one, asked once of each.
class free_memory {
 public:
  std::uint64_t least(int devices) {
    while (of_first_.size() < static_cast<std::size_t>(devices)) {
      const context ctx = context::cuda(static_cast<int>(of_first_.size()));
      const std::uint64_t free = primitives::routing_steps_of(backend_kind::cuda).free_bytes(ctx);
      of_first_.push_back(of_first_.empty() ? free : std::min(of_first_.back(), free));
    }
    return of_first_[static_cast<std::size_t>(devices) - 1];
  }
  bool is_known(int devices) const noexcept { return of_first_.size() >= static_cast<std::size_t>(devices); }

 private:
  std::vector<std::uint64_t> of_first_;
};

void print_prediction(const common_options& common, const distributed::device_estimate& estimate,
                      const sized_call& call, free_memory& memory, int taken) {
  for (int k = 1; k <= static_cast<int>(estimate.seconds.size()); ++k) {
    const std::uint64_t bytes = call.bytes_on_each(k);
    const bool is_too_long = memory.is_known(k) && bytes > memory.least(k);
    fmt::print(stderr, "{}: {} GPU{}: predicted {}{}{}\n", common.command_name, k, k == 1 ? "" : "s",
               seconds_text(estimate.seconds[static_cast<std::size_t>(k) - 1]),
               is_too_long
                   ? fmt::format("; takes {} of {} that are free", bytes_text(bytes), bytes_text(memory.least(k)))
                   : "",
               k == taken ? ", taken" : "");
  }
}

/// The first GPUs, as many as the call is worth.
std::vector<int> devices_of_all(const common_options& common, int count, const call_sizes& sizes) {
  std::vector<int> devices(static_cast<std::size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  if (count == 1 || !sizes) return devices;
  const auto all_because = [&](std::string_view reason) {
    if (common.verbose) fmt::print(stderr, "{}: all {} GPUs: {}\n", common.command_name, count, reason);
    return devices;
  };
  try {
    const std::optional<sized_call> call = sizes();
    if (!call) return all_because("the sizes are known only once the whole input is read");
    const distributed::device_estimate estimate = call->explain(context::cuda(0), count);
    free_memory memory;
    const int taken = devices_worth(estimate, *call, [&](int k) { return memory.least(k); });
    if (common.verbose) print_prediction(common, estimate, *call, memory, taken);
    devices.resize(static_cast<std::size_t>(taken));
  } catch (const std::exception& thrown) {
    // What is wrong ranks find, too, and say it in their words.
    return all_because(fmt::format("nothing is predicted: {}", thrown.what()));
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
