#include "bench/sparse/matrices.hpp"

#include <algorithm>

#include "inputs/pattern_function.hpp"

namespace sheaf::bench {
namespace {

/// Adds rows whose columns columns_of(row, list) appends; they are sorted, and those that repeat are dropped.
template <class ColumnsOf>
io::csr_matrix<double> made(std::uint64_t rows, ColumnsOf columns_of) {
  io::csr_matrix<double> m;
  m.rows = m.columns = rows;
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> row_columns;
  for (std::uint64_t row = 0; row < rows; ++row) {
    row_columns.clear();
    columns_of(row, row_columns);
    std::sort(row_columns.begin(), row_columns.end());
    row_columns.erase(std::unique(row_columns.begin(), row_columns.end()), row_columns.end());
    all.insert(all.end(), row_columns.begin(), row_columns.end());
    m.row_offsets.push_back(all.size());
  }
  m.values.resize(all.size());
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    m.values[i] = static_cast<double>(inputs::mix(i) >> 40) / (1 << 24) - 0.5;
  }
  m.column_indices = std::move(all);
  return m;
}

io::csr_matrix<double> banded(bool quick) {
  const std::uint64_t n = quick ? 2000 : 1'000'000;
  constexpr std::uint64_t half = 7;
  return made(n, [n](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    for (std::uint64_t c = row < half ? 0 : row - half; c <= std::min(n - 1, row + half); ++c) {
      columns.push_back(static_cast<std::uint32_t>(c));
    }
  });
}

io::csr_matrix<double> grid(bool quick) {
  const std::uint64_t side = quick ? 12 : 100;
  const std::uint64_t n = side * side * side;
  return made(n, [n, side](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    columns.push_back(static_cast<std::uint32_t>(row));
    for (const std::uint64_t step : {std::uint64_t{1}, side, side * side}) {
      if (row >= step) columns.push_back(static_cast<std::uint32_t>(row - step));
      if (row + step < n) columns.push_back(static_cast<std::uint32_t>(row + step));
    }
  });
}

io::csr_matrix<double> at_random(std::uint64_t n, std::uint64_t per_row) {
  return made(n, [n, per_row](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    for (std::uint64_t i = 0; i < per_row; ++i) {
      columns.push_back(static_cast<std::uint32_t>(inputs::mix(row * per_row + i) % n));
    }
  });
}

/// The r-th longest row has 1/r of the entries of the longest; rows lie in any order.
io::csr_matrix<double> power_law(bool quick) {
  const std::uint64_t n = quick ? 2000 : 1'000'000;
  const std::uint64_t longest = n / 3;
  return made(n, [n, longest](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const std::uint64_t rank = 1 + inputs::mix(row) % n;
    for (std::uint64_t i = 0; i < 4 + longest / rank; ++i) {
      columns.push_back(static_cast<std::uint32_t>(inputs::mix((row << 24) + i) % n));
    }
  });
}

}  // namespace

const std::vector<matrix_kind>& matrix_kinds() {
  static const std::vector<matrix_kind> kinds{
      {"banded, 15 a row", banded},
      {"7-point grid", grid},
      {"uniform, 16 a row", [](bool quick) { return at_random(quick ? 2000 : 1'000'000, 16); }},
      {"uniform, 8 a row, x past the caches", [](bool quick) { return at_random(quick ? 4000 : 8'000'000, 8); }},
      {"power-law rows", power_law},
  };
  return kinds;
}

}  // namespace sheaf::bench
