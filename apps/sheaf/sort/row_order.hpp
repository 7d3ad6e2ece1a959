#pragma once

#include <optional>

#include <sheaf/sort.hpp>

namespace sheaf::jobs {

/// How the bytes of a column compare.
enum class column_type : std::uint8_t {
  unsigned_integer,
  signed_integer,
  floating,  ///< IEEE 754 of 2, 4 or 8 bytes, in the standard's total order
  bytes,     ///< from the first to the last, as memcmp compares them
  time,      ///< a date or duration of numpy: a signed number of 8 bytes, of which the lowest, NaT, comes last
  text,      ///< a string of numpy: code points of 4 bytes each
};

/// What rows are compared by: bytes of a row, the same in each. Columns whose bytes differ never compare as equal.
struct order_column {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  column_type type = column_type::unsigned_integer;
  bool big_endian = false;  ///< of numbers, dates and code points
  bool descending = false;
};

/// The order of rows: by columns, of which the first that differs decides. A key of the library has no order of
/// big-endian numbers, dates and strings of code points. Where there are such columns, `key` is that of the rows which
/// make_sortable() makes of them.
struct row_order {
  std::vector<order_column> columns;
  sort_key key{};
  std::vector<order_column> changes;  ///< columns whose bytes make_sortable() changes

  /// @throws error(bad_argument) for columns that take more than a key of the library, or of which one is changed and
  /// shares some of its bytes with another
  explicit row_order(std::vector<order_column> in_order);
  row_order(const sort_key& of_rows);
  row_order(const key_field& only) : row_order(sort_key(only)) {}
};

/// A bad character: a number past all code points.
struct bad_character {
  std::uint64_t row = 0;
  std::uint64_t place = 0;  ///< number of the character in the column
  std::uint32_t value = 0;
};

/// Changes these columns of rows side by side, in place, so that a key of the library has their order. Returns the
/// first bad character in them, if there is one; rows are unspecified then.
std::optional<bad_character> make_sortable(std::byte* rows, std::uint64_t count, std::uint64_t row_bytes,
                                           std::span<const order_column> changes) noexcept;
/// Undoes make_sortable().
void restore(std::byte* rows, std::uint64_t count, std::uint64_t row_bytes,
             std::span<const order_column> changes) noexcept;

}  // namespace sheaf::jobs
