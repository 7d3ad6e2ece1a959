#pragma once

#include <concepts>

#include <sheaf/list_scan.hpp>

#include "core/host_device.hpp"
#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"

// The operators of list_scan, with equal results on host and device.
namespace sheaf::primitives {

/// earlier Op later. Sums and products of integers wrap around.
template <scan_operator Op, class T>
SHEAF_HOST_DEVICE inline T scanned(T earlier, T later) {
  if constexpr (Op == scan_operator::add) {
    return reduced<reduction::add>(earlier, later);
  } else if constexpr (Op == scan_operator::min) {
    return reduced<reduction::min>(earlier, later);
  } else if constexpr (Op == scan_operator::max) {
    return reduced<reduction::max>(earlier, later);
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(Op == scan_operator::mul, "the bits of a float are not numbers");
    return earlier * later;
  } else {
    using bits = std::make_unsigned_t<T>;
    const auto a = static_cast<bits>(earlier);
    const auto b = static_cast<bits>(later);
    if constexpr (Op == scan_operator::mul) return static_cast<T>(a * b);
    if constexpr (Op == scan_operator::bit_and) return static_cast<T>(a & b);
    if constexpr (Op == scan_operator::bit_or) return static_cast<T>(a | b);
    return static_cast<T>(a ^ b);
  }
}

/// The operator as a function object without state.
template <scan_operator Op, class T>
struct scan_function {
  SHEAF_HOST_DEVICE T operator()(T earlier, T later) const { return scanned<Op>(earlier, later); }
};

/// Whether a minimum or maximum of one NaN may be another NaN.
template <scan_operator Op, class T>
constexpr bool changes_nan = std::is_floating_point_v<T> && (Op == scan_operator::min || Op == scan_operator::max);

/// Whether the operator takes values of this type.
constexpr bool takes(scan_operator op, value_type type) noexcept {
  if (type > value_type::f64) return false;
  const bool is_float = type == value_type::f32 || type == value_type::f64;
  return !is_float || op < scan_operator::bit_and;
}

/// Calls body with a value of the type and the operator's function for it. The operator must take the type.
template <class Body>
void with_scan_function(value_type type, scan_operator op, Body body) {
  with_value(type, [&](auto value) {
    using T = decltype(value);
    switch (op) {
      case scan_operator::add: return body(value, scan_function<scan_operator::add, T>{});
      case scan_operator::min: return body(value, scan_function<scan_operator::min, T>{});
      case scan_operator::max: return body(value, scan_function<scan_operator::max, T>{});
      case scan_operator::mul: return body(value, scan_function<scan_operator::mul, T>{});
      default: break;
    }
    if constexpr (std::is_integral_v<T>) {
      if (op == scan_operator::bit_and) return body(value, scan_function<scan_operator::bit_and, T>{});
      if (op == scan_operator::bit_or) return body(value, scan_function<scan_operator::bit_or, T>{});
      return body(value, scan_function<scan_operator::bit_xor, T>{});
    }
  });
}

}  // namespace sheaf::primitives

namespace sheaf::detail {

/// A minimum or maximum of a value and itself is the value, or the NaN that it is of any values with a NaN.
template <scan_operator Op, class T>
requires primitives::changes_nan<Op, T>
struct first_result<primitives::scan_function<Op, T>, T> {
  static constexpr bool is_value = false;
  static T of(const primitives::scan_function<Op, T>& op, T value) noexcept { return op(value, value); }
};

}  // namespace sheaf::detail
