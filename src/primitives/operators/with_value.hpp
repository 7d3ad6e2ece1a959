#pragma once

#include <sheaf/scatter_reduce.hpp>

namespace sheaf::primitives {

/// Calls body with a value of the type that `type` names, which has 4 or 8 bytes.
template <class Body>
void with_value(value_type type, Body body) {
  switch (type) {
    case value_type::i32: return body(std::int32_t{});
    case value_type::u32: return body(std::uint32_t{});
    case value_type::i64: return body(std::int64_t{});
    case value_type::u64: return body(std::uint64_t{});
    case value_type::f32: return body(float{});
    case value_type::f64: return body(double{});
    default: return;
  }
}

/// Likewise of any type.
template <class Body>
void with_any_value(value_type type, Body body) {
  switch (type) {
    case value_type::i8: return body(std::int8_t{});
    case value_type::u8: return body(std::uint8_t{});
    case value_type::i16: return body(std::int16_t{});
    case value_type::u16: return body(std::uint16_t{});
    case value_type::f16: return body(float16{});
    case value_type::bf16: return body(bfloat16{});
    default: return with_value(type, body);
  }
}

/// Calls body with a value of the type that `type` names and the operation, add, min, max or subtract, as an integral
/// constant, so that body can call reduced<op()>(a, b).
template <class Body>
void with_value_and_op(value_type type, reduction op, Body body) {
  with_value(type, [&](auto value) {
    switch (op) {
      case reduction::add: return body(value, std::integral_constant<reduction, reduction::add>{});
      case reduction::min: return body(value, std::integral_constant<reduction, reduction::min>{});
      case reduction::max: return body(value, std::integral_constant<reduction, reduction::max>{});
      case reduction::subtract: return body(value, std::integral_constant<reduction, reduction::subtract>{});
      default: return;
    }
  });
}

}  // namespace sheaf::primitives
