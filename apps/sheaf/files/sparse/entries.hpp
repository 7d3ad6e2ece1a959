#pragma once

#include <algorithm>
#include <memory>

#include "apps/sheaf/files/sparse/header.hpp"

namespace sheaf::io {

/// A place of a matrix, counted from 0, and its value. Index is std::uint32_t where all places fit.
template <class Index, class Value>
struct market_entry {
  Index row;
  Index column;
  Value value;
};

/// Rows of a matrix in ranges of a power of two, few enough that a thread keeps a count for each in its cache.
struct row_ranges {
  explicit row_ranges(std::uint64_t row_count) : rows(row_count) {
    constexpr std::uint64_t most_ranges = 512;
    while (count() > most_ranges) ++shift;
  }

  std::uint64_t count() const noexcept { return rows == 0 ? 0 : ((rows - 1) >> shift) + 1; }
  std::uint64_t first_row(std::uint64_t range) const noexcept { return std::min(range << shift, rows); }

  std::uint64_t rows;
  unsigned shift = 0;
};

/// The rows of a matrix, or of its transpose, whose entries are kept. They are numbered from 0.
struct kept_rows {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool is_transposed = false;
};

/// Entries of a part of a file, split by the range of their row, in the file's order inside each.
template <class Index, class Value>
struct entry_block {
  std::unique_ptr<market_entry<Index, Value>[]> entries;
  std::vector<std::uint64_t> range_offsets;  ///< where each range begins, and the end of the last
};

/// All entries of a file, in its order: block by block. Those of symmetric files are mirrored.
template <class Index, class Value>
struct file_entries {
  std::vector<entry_block<Index, Value>> blocks;
  bool has_both_triangles = false;  ///< of a file that is not general: entries above the diagonal and others below
};

/// @param ranges  of the rows that are kept. @throws error(bad_input) naming the first line that is wrong
template <class Index, class Value>
file_entries<Index, Value> read_entries(const named_text& file, const market_header& header, const kept_rows& kept,
                                        const row_ranges& ranges, std::uint64_t part_bytes, int threads);

/// Checks that a symmetric or skew-symmetric coordinate file, whose lines are known to be right, gives no pair of
/// places that are mirror images both above and below the diagonal. Index holds all places. Takes 16 bytes for each
/// entry, or 24 where Index is std::uint64_t. @throws error(bad_input) naming the first line whose entry was given
/// before as its mirror image, and the line before
template <class Index>
void require_pairs_once(const named_text& file, const market_header& header);

}  // namespace sheaf::io
