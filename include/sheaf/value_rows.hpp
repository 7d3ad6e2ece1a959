#pragma once

#include <cstdint>

#include <sheaf/values.hpp>

// Views of rows of numbers: matrices whose rows lie in memory one behind the other, with or without gaps.
namespace sheaf {

/// A view of rows of numbers, to read. It owns nothing. Row r is the `values_per_row` numbers that lie side by side
/// from data + r * stride_bytes on. Calls take rows of 1 to 65,536 values; the stride is a multiple of the bytes of a
/// value and at least those of a row, and `data` is aligned to the type.
struct const_value_rows {
  const void* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t values_per_row = 0;
  std::uint64_t stride_bytes = 0;
  value_type type = value_type::f32;

  constexpr const_value_rows() = default;
  constexpr const_value_rows(const void* first, std::uint64_t row_count, std::uint64_t values, value_type t)
      : const_value_rows(first, row_count, values, t, values * bytes(t)) {}
  constexpr const_value_rows(const void* first, std::uint64_t row_count, std::uint64_t values, value_type t,
                             std::uint64_t stride)
      : data(first), count(row_count), values_per_row(values), stride_bytes(stride), type(t) {}
  /// Rows of one value.
  constexpr explicit const_value_rows(const_values numbers)
      : const_value_rows(numbers.data, numbers.count, 1, numbers.type) {}
};

/// A view of rows of numbers to write; see const_value_rows.
struct value_rows {
  void* data = nullptr;
  std::uint64_t count = 0;
  std::uint64_t values_per_row = 0;
  std::uint64_t stride_bytes = 0;
  value_type type = value_type::f32;

  constexpr value_rows() = default;
  constexpr value_rows(void* first, std::uint64_t row_count, std::uint64_t values, value_type t)
      : value_rows(first, row_count, values, t, values * bytes(t)) {}
  constexpr value_rows(void* first, std::uint64_t row_count, std::uint64_t values, value_type t, std::uint64_t stride)
      : data(first), count(row_count), values_per_row(values), stride_bytes(stride), type(t) {}
  /// Rows of one value.
  constexpr explicit value_rows(sheaf::values numbers) : value_rows(numbers.data, numbers.count, 1, numbers.type) {}

  operator const_value_rows() const { return {data, count, values_per_row, type, stride_bytes}; }
};

}  // namespace sheaf
