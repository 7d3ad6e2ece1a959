#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "core/host_device.hpp"
#include "core/startable.hpp"

// Arrays are filled and answers are checked by one function object per item, by one source for host and device.
namespace sheaf::jobs {

/// Sums over the items of an array.
struct tally {
  std::uint64_t mismatches = 0;
  std::uint64_t sum = 0;  ///< sum of checksums, modulo 2^64

  SHEAF_HOST_DEVICE tally& operator+=(const tally& other) {
    mismatches += other.mismatches;
    sum += other.sum;
    return *this;
  }
};

namespace device {
/// Defined in items.cu, and instantiated there for each function object.
template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item);
}  // namespace device

/// Whether over_items() runs where the memory of this backend is: the host's, or a device's that it has loops for.
/// Jobs go through host memory for others.
constexpr bool has_item_loops(backend_kind backend) { return backend != backend_kind::cuda || SHEAF_HAS_CUDA != 0; }

/// The sum of item(0) to item(count - 1), computed where the context's memory is. Waits.
template <class Item>
tally over_items(const context& ctx, std::uint64_t count, const Item& item) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::over_items(ctx, count, item);
#endif
  std::uint64_t mismatches = 0;
  std::uint64_t sum = 0;
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static) reduction(+ : mismatches, sum)
  for (std::uint64_t i = 0; i < count; ++i) {
    const tally one = item(i);
    mismatches += one.mismatches;
    sum += one.sum;
  }
  return {mismatches, sum};
}

}  // namespace sheaf::jobs
