#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "core/host_device.hpp"

// Filling arrays and checking answers, the same on host and device: one function object for each item of an array.
namespace sheaf::bench {

/// What items say when they are put together.
struct tally {
  std::uint64_t mismatches = 0;
  std::uint64_t sum = 0;  ///< of checksums that must cancel out

  SHEAF_HOST_DEVICE tally& operator+=(const tally& other) {
    mismatches += other.mismatches;
    sum += other.sum;
    return *this;
  }
};

namespace device {
/// Compiled in items.cu for the function objects that are listed there.
template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item);
}  // namespace device

/// The tallies of item(0) to item(count - 1), run where the context's memory is. Waits.
template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::over_items(ctx, count, item);
#endif
  std::uint64_t mismatches = 0;
  std::uint64_t sum = 0;
#pragma omp parallel for num_threads(ctx.threads()) schedule(static) reduction(+ : mismatches, sum)
  for (std::uint64_t i = 0; i < count; ++i) {
    const tally one = item(i);
    mismatches += one.mismatches;
    sum += one.sum;
  }
  return {mismatches, sum};
}

}  // namespace sheaf::bench
