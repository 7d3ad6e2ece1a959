#include <algorithm>
#include <numeric>
#include <optional>

#include <sheaf/distributed/gpus.hpp>
#include <sheaf/error.hpp>

#include "core/composition.hpp"
#include "distributed/threads.hpp"

namespace sheaf::distributed {
namespace {

std::vector<int> named_or_all(std::span<const int> devices) {
  if (!devices.empty()) return {devices.begin(), devices.end()};
  std::vector<int> all(static_cast<std::size_t>(std::max(0, core::backend_of(backend_kind::cuda).device_count())));
  std::iota(all.begin(), all.end(), 0);
  if (all.empty()) throw error(error_code::backend_unavailable, "groups of GPUs: the machine has no CUDA device");
  return all;
}

std::vector<context> contexts_of(std::span<const int> devices) {
  std::vector<context> contexts;
  for (const int device : devices) contexts.push_back(context::cuda(device));
  return contexts;
}

}  // namespace

void run_on_gpus(std::span<const int> devices, const limits& bounds, const std::function<void(const group&)>& work) {
  const std::vector<context> contexts = contexts_of(named_or_all(devices));
  const auto transports = transports_between_gpus(contexts);
  run_on_threads(
      static_cast<int>(contexts.size()),
      [&](int r) {
        const auto place = static_cast<std::size_t>(r);
        return group(contexts[place], transports[place], bounds);
      },
      work);
}

std::vector<group> local_gpus(std::span<const int> devices, const limits& bounds) {
  const std::vector<int> numbers = named_or_all(devices);
  std::vector<std::optional<group>> made(numbers.size());
  run_on_gpus(numbers, bounds, [&](const group& mine) { made[static_cast<std::size_t>(mine.rank())] = mine; });
  std::vector<group> groups;
  for (std::optional<group>& g : made) groups.push_back(std::move(*g));
  return groups;
}

}  // namespace sheaf::distributed
