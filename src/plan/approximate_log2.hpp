#pragma once

#include <bit>
#include <cstdint>

namespace sheaf::plan {

/// The binary logarithm of x > 0, interpolated linearly between powers of two, because every call makes plans.
inline double approximate_log2(std::uint64_t x) noexcept {
  const auto whole = static_cast<int>(std::bit_width(x)) - 1;
  return whole + static_cast<double>(x) / static_cast<double>(std::uint64_t{1} << whole) - 1;
}

}  // namespace sheaf::plan
