#pragma once

#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_reader.hpp"

// How cpu.diagonals groups rows.
namespace sheaf::cpu {

/// Rows that are added side by side; a run of rows has a multiple of them.
constexpr std::uint64_t tile_rows = 8;
/// Entries of a segment, so that threads get segments of about the same size.
constexpr std::uint64_t segment_entries = std::uint64_t{1} << 15;
/// Rows that one thread groups at once. No segment crosses the end of such rows, so that segments, and with them the
/// bits of y, depend on the matrix alone.
constexpr std::uint64_t chunk_rows = std::uint64_t{1} << 14;
/// A matrix with a row of as many entries is not grouped: threads share a row of cpu.rows, and none of these.
constexpr std::uint64_t longest_row = std::uint64_t{1} << 16;

/// Rows one behind the other. On diagonals, they have `diagonals` entries each, whose values lie tile by tile, in a
/// tile diagonal by diagonal. Rows of other segments are compressed rows, which lie one behind the other, too: where
/// they are few, each would wait for memory in the caller's arrays.
struct segment {
  std::uint64_t row = 0;
  std::uint64_t rows = 0;
  std::uint64_t diagonals = 0;       ///< 0: not on diagonals
  std::uint64_t first_value = 0;     ///< on diagonals; else the first compressed row
  std::uint64_t first_distance = 0;  ///< of the diagonals from the main one, modulo 2^64
  std::uint64_t entries_before = 0;  ///< of all segments before
};

/// How much there is in some rows.
struct segment_counts {
  std::uint64_t segments = 0;
  std::uint64_t distances = 0;
  std::uint64_t values = 0;   ///< on diagonals
  std::uint64_t entries = 0;  ///< all
  std::uint64_t rows = 0;     ///< not on diagonals

  std::uint64_t entries_of_rows() const noexcept { return entries - values; }
};

template <class Column>
class row_grouping {
 public:
  row_grouping(const primitives::spmv_problem& p, const csr_view& a)
      : rows_(a, p.entries), columns_(static_cast<const Column*>(a.column_indices.data)), limit_(column_limit_of(p)) {}

  /// What is wrong with the rows [first, last), and whether one is longer than longest_row.
  row_faults check(std::uint64_t first, std::uint64_t last, bool& has_long_row) const {
    row_faults faults;
    for (std::uint64_t row = first; row < last; ++row) {
      if (!rows_.is_row(row)) {
        faults.in_rows = true;
        return faults;
      }
      const std::uint64_t end = rows_.end(row);
      has_long_row |= end - rows_.begin(row) >= longest_row;
      bool is_bad = false;
      for (std::uint64_t place = rows_.begin(row); place < end; ++place) is_bad |= columns_[place] >= limit_;
      faults.in_columns |= is_bad;
    }
    return faults;
  }

  /// Calls take(segment, is_new) for the segments that make up [first, last), in order, with all their members set that
  /// the rows decide; is_new says whether the distances are others than those of the segment on diagonals before.
  template <class Take>
  void for_each_segment(std::uint64_t first, std::uint64_t last, Take take) const {
    std::uint64_t rest = first;         // first row of those that are in no segment yet
    std::uint64_t last_pattern = last;  // a row that has the distances of the segment before
    const auto take_rest = [&](std::uint64_t end) {
      if (end > rest) take(segment{.row = rest, .rows = end - rest}, false);
    };
    for (std::uint64_t row = first; row < last;) {
      const std::uint64_t diagonals = rows_.end(row) - rows_.begin(row);
      const std::uint64_t most_rows =
          std::max(tile_rows, segment_entries / std::max<std::uint64_t>(1, diagonals) / tile_rows * tile_rows);
      std::uint64_t end = row + 1;
      while (end < last && end - row < most_rows && are_alike(row, end)) ++end;
      const std::uint64_t grouped = (end - row) / tile_rows * tile_rows;
      if (grouped == 0 || diagonals == 0) {
        row = end;
        continue;
      }
      take_rest(row);
      take(segment{.row = row, .rows = grouped, .diagonals = diagonals},
           last_pattern == last || !are_alike(last_pattern, row));
      last_pattern = row;
      row += grouped;
      rest = row;
    }
    take_rest(last);
  }

  std::uint64_t entries_of(std::uint64_t first, std::uint64_t end) const {
    std::uint64_t sum = 0;
    for (std::uint64_t row = first; row < end; ++row) sum += rows_.end(row) - rows_.begin(row);
    return sum;
  }
  /// Copies the rows of a segment behind each other; `offsets` has where the first of them begins, and gets their ends.
  template <class Value>
  void copy_rows(const segment& segment, const Value* values, std::uint64_t first_entry, std::uint64_t* offsets,
                 Column* columns_to, Value* values_to) const {
    std::uint64_t done = 0;
    for (std::uint64_t i = 0; i < segment.rows; ++i) {
      const std::uint64_t begin = rows_.begin(segment.row + i);
      const std::uint64_t count = rows_.end(segment.row + i) - begin;
      std::copy_n(columns_ + begin, count, columns_to + done);
      std::copy_n(values + begin, count, values_to + done);
      done += count;
      offsets[i + 1] = first_entry + done;
    }
  }
  template <class Value>
  void transpose_tiles(const segment& s, const Value* values, Value* to) const {
    for (std::uint64_t tile = 0; tile < s.rows; tile += tile_rows, to += s.diagonals * tile_rows) {
      for (std::uint64_t lane = 0; lane < tile_rows; ++lane) {
        const Value* const from = values + rows_.begin(s.row + tile + lane);
        for (std::uint64_t d = 0; d < s.diagonals; ++d) to[d * tile_rows + lane] = from[d];
      }
    }
  }
  /// The diagonal of entry i of a row.
  std::uint64_t distance(std::uint64_t row, std::uint64_t i) const {
    return std::uint64_t{columns_[rows_.begin(row) + i]} - row;
  }

 private:
  bool are_alike(std::uint64_t row, std::uint64_t other) const {
    const std::uint64_t count = rows_.end(row) - rows_.begin(row);
    if (rows_.end(other) - rows_.begin(other) != count) return false;
    const Column* const a = columns_ + rows_.begin(row);
    const Column* const b = columns_ + rows_.begin(other);
    const std::uint64_t step = other - row;
    if (count == 0 || a[0] + step != b[0]) return count == 0;
    bool differ = false;
    for (std::uint64_t i = 0; i < count; ++i) differ |= a[i] + step != b[i];
    return !differ;
  }

  row_reader rows_;
  const Column* columns_;
  std::uint64_t limit_;
};

}  // namespace sheaf::cpu
