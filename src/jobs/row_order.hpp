#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/sort.hpp>

namespace sheaf::jobs {

/// Rows that are a date or a duration of numpy each (datetime64, timedelta64): a signed number of 8 bytes, of which the
/// lowest, NaT, comes after all others.
enum class time_rows : std::uint8_t { none, little_endian, big_endian };

constexpr std::uint64_t time_bytes = 8;

/// How the rows of a file compare: by a key, or as dates and durations, whose order no field of a key has. Then `key`
/// is that of the rows which make_sortable() makes of them.
struct row_order {
  sort_key key;
  time_rows times = time_rows::none;

  row_order(const sort_key& of_rows, time_rows kind = time_rows::none) : key(of_rows), times(kind) {}
  row_order(const key_field& only) : key(only) {}
};

/// Rewrites dates and durations in place as signed little-endian numbers in the order of row_order::key. Subtracting 1
/// takes NaT, the lowest number, around to the highest, and leaves the order of the others. Other rows stay as they
/// are.
void make_sortable(std::byte* rows, std::uint64_t count, time_rows kind) noexcept;
/// Undoes make_sortable().
void restore(std::byte* rows, std::uint64_t count, time_rows kind) noexcept;

}  // namespace sheaf::jobs
