#pragma once

#include <cstdint>
#include <limits>

#include "primitives/operators/reduce_value.hpp"
#include "primitives/operators/with_value.hpp"

// The reductions of rows: what values become before they are combined, what they are combined in, and what a row of out
// gets in the end; with equal results on host and device.
namespace sheaf::primitives {

template <class T>
constexpr bool is_small_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool is_any_float = std::is_floating_point_v<T> || is_small_float<T>;

constexpr bool is_float(value_type type) noexcept {
  return type == value_type::f16 || type == value_type::bf16 || type == value_type::f32 || type == value_type::f64;
}

/// Whether rows of the one type may be combined into rows of the other, in another operation than count.
constexpr bool combines(value_type in, value_type out) noexcept {
  if (in == out) return true;
  switch (in) {
    case value_type::f16:
    case value_type::bf16: return out == value_type::f32;
    case value_type::i8:
    case value_type::i16: return out == value_type::i32 || out == value_type::i64;
    case value_type::u8:
    case value_type::u16: return out == value_type::u32 || out == value_type::u64;
    default: return false;
  }
}

/// The type in which values of this type are combined into a row of `out`: f32 for floats of 16 bits; integers of 64
/// bits for means of integers, else integers of 32 bits for what has fewer.
constexpr value_type sum_type(value_type out, reduction op) noexcept {
  const bool is_mean = op == reduction::mean;
  switch (out) {
    case value_type::f16:
    case value_type::bf16: return value_type::f32;
    case value_type::i8:
    case value_type::i16:
    case value_type::i32: return is_mean ? value_type::i64 : value_type::i32;
    case value_type::u8:
    case value_type::u16:
    case value_type::u32: return is_mean ? value_type::u64 : value_type::u32;
    default: return out;
  }
}

/// Whether the last bits of a result depend on the order in which rows are combined.
constexpr bool order_matters(value_type out, reduction op) noexcept {
  return is_float(out) && op != reduction::min && op != reduction::max && op != reduction::count;
}

/// A value as another type: floats of 16 bits by f32, integers modulo the range of To.
template <class To, class From>
SHEAF_HOST_DEVICE constexpr To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (is_small_float<From> && std::is_same_v<To, float>) {
    return static_cast<float>(value);
  } else if constexpr (is_small_float<From>) {
    return converted<To>(static_cast<float>(value));
  } else if constexpr (is_small_float<To>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

/// The greatest value of a type, or +infinity; and the least.
template <class T>
SHEAF_HOST_DEVICE constexpr T greatest() {
  if constexpr (is_small_float<T>)
    return T(__builtin_huge_valf());
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(__builtin_huge_val());
  else
    return std::numeric_limits<T>::max();
}
template <class T>
SHEAF_HOST_DEVICE constexpr T least() {
  if constexpr (is_small_float<T>)
    return T(-__builtin_huge_valf());
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(-__builtin_huge_val());
  else
    return std::numeric_limits<T>::lowest();
}

/// What a row of out gets that no row comes to.
template <class T>
SHEAF_HOST_DEVICE constexpr T identity_of(reduction op) {
  switch (op) {
    case reduction::min: return greatest<T>();
    case reduction::max: return least<T>();
    case reduction::multiply: return converted<T>(1.0F);
    default: return converted<T>(0.0F);
  }
}

/// A row's value as the operation combines it: its negative if it is subtracted, and the one NaN that a minimum or
/// maximum has.
template <reduction Op, class T>
SHEAF_HOST_DEVICE inline T operand(T value) {
  if constexpr (Op == reduction::subtract) {
    if constexpr (std::is_floating_point_v<T>)
      return -value;
    else
      return reduced<reduction::subtract>(T{0}, value);
  } else if constexpr ((Op == reduction::min || Op == reduction::max) && std::is_floating_point_v<T>) {
    return value != value ? quiet_nan<T>() : value;  // NOLINT(misc-redundant-expression)
  } else {
    return value;
  }
}

/// Two operands, or what operands were combined to.
template <reduction Op, class T>
SHEAF_HOST_DEVICE inline T combined(T a, T b) {
  if constexpr (Op == reduction::min || Op == reduction::max || Op == reduction::multiply)
    return reduced<Op>(a, b);
  else
    return reduced<reduction::add>(a, b);
}

/// A sum of so many rows divided by their number, of integers rounded towards zero.
template <class Sum>
SHEAF_HOST_DEVICE inline Sum mean_of(Sum sum, std::uint64_t rows) {
  return sum / static_cast<Sum>(rows);
}

/// Calls body with the operation as an integral constant.
template <class Body>
void with_reduction(reduction op, Body body) {
  switch (op) {
    case reduction::add: return body(std::integral_constant<reduction, reduction::add>{});
    case reduction::min: return body(std::integral_constant<reduction, reduction::min>{});
    case reduction::max: return body(std::integral_constant<reduction, reduction::max>{});
    case reduction::subtract: return body(std::integral_constant<reduction, reduction::subtract>{});
    case reduction::multiply: return body(std::integral_constant<reduction, reduction::multiply>{});
    case reduction::mean: return body(std::integral_constant<reduction, reduction::mean>{});
    case reduction::count: return body(std::integral_constant<reduction, reduction::count>{});
  }
}

/// Calls body with values of two types, of which the first may be combined into the second.
template <class Body>
void with_combined_types(value_type in, value_type out, Body body) {
  with_any_value(in, [&](auto from) {
    with_any_value(out, [&](auto to) {
      using From = std::remove_cvref_t<decltype(from)>;
      using To = std::remove_cvref_t<decltype(to)>;
      if constexpr (combines(value_type_of<From>(), value_type_of<To>())) body(From{}, To{});
    });
  });
}

}  // namespace sheaf::primitives
