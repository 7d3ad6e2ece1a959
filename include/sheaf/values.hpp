#pragma once

#include <cstdint>
#include <ranges>
#include <type_traits>

#include <sheaf/records.hpp>

// Numbers whose type is known only at run time, and views of arrays of them.
namespace sheaf {

/// Signed and unsigned integers and IEEE 754 floats of 4 or 8 bytes.
enum class value_type : std::uint8_t { i32, u32, i64, u64, f32, f64 };

/// Bytes of one value: 4 or 8.
constexpr std::uint64_t bytes(value_type type) {
  return type == value_type::i64 || type == value_type::u64 || type == value_type::f64 ? 8 : 4;
}

/// The C++ types of the six value types.
template <class T>
concept reducible_value =
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// A contiguous, sized range of such values: std::vector, std::array, std::span.
template <class Range>
concept value_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range> &&
    reducible_value<std::ranges::range_value_t<Range>>;

/// The value_type of a C++ type.
template <reducible_value T>
constexpr value_type value_type_of() {
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
