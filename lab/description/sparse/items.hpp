#pragma once

#include "lab/description/items.hpp"
#include "lab/description/sparse/problem.hpp"
#include "lab/inputs/pattern_function.hpp"

// Function objects for over_items() that fill the arrays of an spmv and check its answer. Values are small whole
// numbers of either sign at random, so that sums are whole, too, and exact in any order.
namespace sheaf::jobs {

using primitives::nonzero_pattern;

/// Parameters of the functions that give a matrix and a vector.
struct matrix_source {
  primitives::row_lengths lengths;
  std::uint64_t columns = 0;
  nonzero_pattern nonzeros = nonzero_pattern::banded;
  inputs::pattern order;   ///< of columns that are not a function of the row
  std::uint64_t side = 1;  ///< of a grid
  std::uint64_t seed = 0;  ///< of values and of the vector
  value_type type = value_type::f32;
  index_type column = index_type::u32;
  index_type offset = index_type::u32;
  bool is_transposed = false;

  SHEAF_HOST_DEVICE std::uint64_t y_count() const { return is_transposed ? columns : lengths.rows; }
};

/// The most that the product of an entry and a value of the vector is.
constexpr std::uint64_t most_product = 3 * 7;

SHEAF_HOST_DEVICE inline std::uint64_t moved_around(std::uint64_t from, std::int64_t by, std::uint64_t count) {
  return by < 0 ? (from + count - static_cast<std::uint64_t>(-by) % count) % count
                : (from + static_cast<std::uint64_t>(by)) % count;
}

/// How far the k-th point that a point of a grid is joined to lies behind it, itself among them. With 5 and 7 these are
/// neighbours along the axes, with 9 and 27 all of a square or cube. Points nearer to the beginning come first.
SHEAF_HOST_DEVICE inline std::int64_t step_of_grid(std::uint64_t entries_of_a_point, std::uint64_t k,
                                                   std::int64_t side) {
  const auto i = static_cast<std::int64_t>(k);
  if (entries_of_a_point == 5 || entries_of_a_point == 7) {
    const std::int64_t axis = i - static_cast<std::int64_t>(entries_of_a_point / 2);
    const std::int64_t steps[] = {0, 1, side, side * side};
    return axis < 0 ? -steps[-axis] : steps[axis];
  }
  const std::int64_t z = entries_of_a_point == 27 ? i / 9 - 1 : 0;
  return (z * side + i / 3 % 3 - 1) * side + i % 3 - 1;
}

/// The column of an entry of a row. A matrix ends at no side: what goes past the last column begins with the first.
SHEAF_HOST_DEVICE inline std::uint64_t column_of_entry(const matrix_source& source, std::uint64_t entry,
                                                       std::uint64_t row) {
  switch (source.nonzeros) {
    case nonzero_pattern::uniform:
    case nonzero_pattern::zipf: return inputs::pattern_entry(source.order, entry, source.columns);
    case nonzero_pattern::banded: {
      const std::uint64_t begin = source.lengths.begin_of_row(row);
      const std::uint64_t half = (source.lengths.begin_of_row(row + 1) - begin) / 2;
      return moved_around(row % source.columns,
                          static_cast<std::int64_t>(entry - begin) - static_cast<std::int64_t>(half), source.columns);
    }
    case nonzero_pattern::grid: {
      const std::uint64_t k = entry - source.lengths.begin_of_row(row);
      return moved_around(row, step_of_grid(source.lengths.least, k, static_cast<std::int64_t>(source.side)),
                          source.columns);
    }
  }
  return 0;
}

SHEAF_HOST_DEVICE inline std::int64_t value_of_entry(const matrix_source& s, std::uint64_t entry) {
  const std::uint64_t bits = inputs::mix(entry + s.seed);
  const auto size = static_cast<std::int64_t>(bits % 3) + 1;
  return bits >> 63 != 0 ? -size : size;
}

SHEAF_HOST_DEVICE inline std::int64_t value_of_vector(const matrix_source& s, std::uint64_t i) {
  return static_cast<std::int64_t>(inputs::mix(i - s.seed) % 15) - 7;
}

/// The factor of a result in the checksum. It is odd, so that one wrong number always changes a sum.
SHEAF_HOST_DEVICE inline std::uint64_t factor_of_result(std::uint64_t i) { return inputs::mix(i + 0xfac) | 1; }

/// Where rows begin, or where those `ahead` of them do: the ends of rows.
struct fill_row_begins {
  matrix_source source;
  void* begins;
  std::uint64_t ahead = 0;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t row) const {
    store_number(begins, bytes(source.offset), row, source.lengths.begin_of_row(row + ahead));
    return {};
  }
};

struct fill_columns {
  matrix_source source;
  void* columns;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    store_number(columns, bytes(source.column), entry,
                 column_of_entry(source, entry, source.lengths.row_of_entry(entry)));
    return {};
  }
};

using fill_entry_values = fill_whole_values<matrix_source, value_of_entry>;
using fill_vector = fill_whole_values<matrix_source, value_of_vector>;

/// Checksum of the entries: each product times the factor of its result.
struct checksum_entries {
  matrix_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    const std::uint64_t row = source.lengths.row_of_entry(entry);
    const std::uint64_t column = column_of_entry(source, entry, row);
    const std::int64_t product =
        value_of_entry(source, entry) * value_of_vector(source, source.is_transposed ? row : column);
    return {0, static_cast<std::uint64_t>(product) * factor_of_result(source.is_transposed ? column : row)};
  }
};

/// Checksum of the results: each times its factor. A result that is not a whole number is a mismatch.
struct checksum_results {
  matrix_source source;
  const void* results;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t i) const {
    std::int64_t whole = 0;
    if (!is_whole(float_at(results, source.type, i), whole)) return {1, 0};
    return {0, static_cast<std::uint64_t>(whole) * factor_of_result(i)};
  }
};

/// A product with a dense matrix, whose values are those of one long vector.
struct dense_source : matrix_source {
  std::uint64_t width = 1;  ///< values of a row of X and of Y
};

SHEAF_HOST_DEVICE inline std::int64_t value_of_dense(const dense_source& s, std::uint64_t i) {
  return value_of_vector(s, i);
}

using fill_dense = fill_whole_values<dense_source, value_of_dense>;

/// Checksum of the entries: each value of their products times the factor of its result.
struct checksum_dense_entries {
  dense_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    const std::uint64_t row = source.lengths.row_of_entry(entry);
    const std::uint64_t column = column_of_entry(source, entry, row);
    const std::uint64_t from = (source.is_transposed ? row : column) * source.width;
    const std::uint64_t to = (source.is_transposed ? column : row) * source.width;
    std::uint64_t sum = 0;
    for (std::uint64_t k = 0; k < source.width; ++k) {
      const std::int64_t product = value_of_entry(source, entry) * value_of_dense(source, from + k);
      sum += static_cast<std::uint64_t>(product) * factor_of_result(to + k);
    }
    return {0, sum};
  }
};

/// A symmetric positive definite matrix of the same sizes: that of a grid, with -1 for each neighbour and half as much
/// again on the diagonal as a row has neighbours. What the last row has is less than a point's, if the entries do not
/// suffice; it is then apart from the others.
struct system_source : matrix_source {
  SHEAF_HOST_DEVICE std::uint64_t points() const { return lengths.entries / lengths.least; }
};

SHEAF_HOST_DEVICE inline std::uint64_t column_of_system(const system_source& s, std::uint64_t entry) {
  const std::uint64_t row = entry / s.lengths.least;
  const std::uint64_t k = entry % s.lengths.least;
  if (row == s.points()) return row;
  return moved_around(row, step_of_grid(s.lengths.least, k, static_cast<std::int64_t>(s.side)), s.points());
}

SHEAF_HOST_DEVICE inline std::int64_t value_of_system(const system_source& s, std::uint64_t entry) {
  const auto diagonal = static_cast<std::int64_t>((s.lengths.least - 1) / 2 * 3);
  const std::uint64_t k = entry % s.lengths.least;
  if (entry / s.lengths.least == s.points()) return k == 0 ? diagonal : 0;
  return k == s.lengths.least / 2 ? diagonal : -1;
}

/// Odd, so that no solution of a row by itself is 0, where a wrong bit would be too small to be seen.
SHEAF_HOST_DEVICE inline std::int64_t right_side_of(const system_source& s, std::uint64_t row) {
  return 2 * value_of_vector(s, row) + 1;
}

using fill_right_side = fill_whole_values<system_source, right_side_of>;
using fill_system_values = fill_whole_values<system_source, value_of_system>;

struct fill_system_columns {
  system_source source;
  void* columns;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t entry) const {
    store_number(columns, bytes(source.column), entry, column_of_system(source, entry));
    return {};
  }
};

struct square_of_right_side {
  system_source source;
  SHEAF_HOST_DEVICE tally operator()(std::uint64_t row) const {
    const std::int64_t b = right_side_of(source, row);
    return {0, static_cast<std::uint64_t>(b * b)};
  }
};

/// The square of a row's true residual, of which all together may be `most`, in parts of that.
struct share_of_residual {
  static constexpr std::uint64_t whole = std::uint64_t{1} << 30;

  system_source source;
  const void* solution;
  double most;

  SHEAF_HOST_DEVICE tally operator()(std::uint64_t row) const {
    auto residual = static_cast<double>(right_side_of(source, row));
    const std::uint64_t end = source.lengths.begin_of_row(row + 1);
    for (std::uint64_t entry = source.lengths.begin_of_row(row); entry < end; ++entry) {
      residual -= static_cast<double>(value_of_system(source, entry)) *
                  float_at(solution, source.type, column_of_system(source, entry));
    }
    const double share = residual * residual / most * static_cast<double>(whole);
    if (!(share <= static_cast<double>(whole))) return {1, 0};  // NaN, too
    return {0, static_cast<std::uint64_t>(::floor(share + 0.5))};
  }
};

}  // namespace sheaf::jobs
