#pragma once

#include <sheaf/scatter_reduce.hpp>

#include "core/host_device.hpp"

// The reduction of two values, with equal results on host and device.
namespace sheaf::primitives {

template <class T>
SHEAF_HOST_DEVICE inline T quiet_nan() {
  if constexpr (sizeof(T) == 4) return __builtin_nanf("");
  return static_cast<T>(__builtin_nan(""));
}

/// Whether b is less than a, with -0 less than +0. Neither is NaN.
template <class T>
SHEAF_HOST_DEVICE inline bool is_below(T b, T a) {
  if constexpr (std::is_floating_point_v<T>) return b < a || (b == a && __builtin_signbit(b) && !__builtin_signbit(a));
  return b < a;
}

/// a Op b. Sums, differences and products of integers wrap around; a minimum or maximum with a NaN is the positive
/// quiet NaN.
template <reduction Op, class T>
SHEAF_HOST_DEVICE inline T reduced(T a, T b) {
  if constexpr (Op == reduction::add || Op == reduction::subtract) {
    constexpr bool subtracts = Op == reduction::subtract;
    if constexpr (std::is_floating_point_v<T>) return subtracts ? a - b : a + b;
    using bits = std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>;
    const auto left = static_cast<bits>(a);
    const auto right = static_cast<bits>(b);
    return static_cast<T>(subtracts ? left - right : left + right);
  } else if constexpr (Op == reduction::multiply) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    // Products of 16 bits would overflow as numbers with a sign.
    using wide =
        std::conditional_t<sizeof(T) < 4, std::int32_t, std::conditional_t<std::is_floating_point_v<T>, int, T>>;
    using bits = std::make_unsigned_t<wide>;
    return static_cast<T>(static_cast<bits>(a) * static_cast<bits>(b));
  } else {
    static_assert(Op == reduction::min || Op == reduction::max);
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return quiet_nan<T>();  // NOLINT(misc-redundant-expression)
    }
    return (Op == reduction::min ? is_below(b, a) : is_below(a, b)) ? b : a;
  }
}

}  // namespace sheaf::primitives
