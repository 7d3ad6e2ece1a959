#pragma once

#include <cstdint>
#include <ranges>
#include <type_traits>

#include <sheaf/float16.hpp>
#include <sheaf/records.hpp>

// Numbers whose type is known only at run time, and views of arrays of them.
namespace sheaf {

/// Signed and unsigned integers and floats. Those of 1 and 2 bytes are taken by reductions of rows and by spmm alone;
/// other calls refuse them.
enum class value_type : std::uint8_t { i32, u32, i64, u64, f32, f64, i8, u8, i16, u16, f16, bf16 };

/// Bytes of one value: 1, 2, 4 or 8.
constexpr std::uint64_t bytes(value_type type) {
  switch (type) {
    case value_type::i8:
    case value_type::u8: return 1;
    case value_type::i16:
    case value_type::u16:
    case value_type::f16:
    case value_type::bf16: return 2;
    case value_type::i64:
    case value_type::u64:
    case value_type::f64: return 8;
    default: return 4;
  }
}

/// The C++ types of the six value types of 4 and 8 bytes.
template <class T>
concept reducible_value =
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// The C++ types of all value types.
template <class T>
concept number_value = reducible_value<T> || std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t> ||
    std::is_same_v<T, std::int16_t> || std::is_same_v<T, std::uint16_t> || std::is_same_v<T, float16> ||
    std::is_same_v<T, bfloat16>;

/// A contiguous, sized range of values: std::vector, std::array, std::span.
template <class Range>
concept value_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    number_value<std::ranges::range_value_t<Range>>;

/// The value_type of a C++ type.
template <number_value T>
constexpr value_type value_type_of() {
  if constexpr (std::is_same_v<T, std::int8_t>) return value_type::i8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return value_type::u8;
  if constexpr (std::is_same_v<T, std::int16_t>) return value_type::i16;
  if constexpr (std::is_same_v<T, std::uint16_t>) return value_type::u16;
  if constexpr (std::is_same_v<T, float16>) return value_type::f16;
  if constexpr (std::is_same_v<T, bfloat16>) return value_type::bf16;
  if constexpr (std::is_same_v<T, std::int32_t>) return value_type::i32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return value_type::u32;
  if constexpr (std::is_same_v<T, std::int64_t>) return value_type::i64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return value_type::u64;
  if constexpr (std::is_same_v<T, float>) return value_type::f32;
  return value_type::f64;
}

/// A view of numbers that lie side by side, to read. It owns nothing, and `data` is aligned to the type.
struct const_values {
  const void* data = nullptr;
  std::uint64_t count = 0;
  value_type type = value_type::f32;

  constexpr const_values() = default;
  constexpr const_values(const void* first, std::uint64_t value_count, value_type t)
      : data(first), count(value_count), type(t) {}
  template <value_range Range>
  const_values(const Range& list)
      : const_values(std::ranges::data(list), std::ranges::size(list),
                     value_type_of<std::ranges::range_value_t<Range>>()) {}
};

/// A view of numbers to write; see const_values.
struct values {
  void* data = nullptr;
  std::uint64_t count = 0;
  value_type type = value_type::f32;

  constexpr values() = default;
  constexpr values(void* first, std::uint64_t value_count, value_type t) : data(first), count(value_count), type(t) {}
  template <value_range Range>
  requires record_output_range<Range> values(Range&& list)
      : values(std::ranges::data(list), std::ranges::size(list), value_type_of<std::ranges::range_value_t<Range>>()) {}

  operator const_values() const { return {data, count, type}; }
};

}  // namespace sheaf
