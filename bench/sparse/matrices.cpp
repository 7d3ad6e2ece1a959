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

io::csr_matrix<double> grid_27(bool quick) {
  const std::int64_t side = quick ? 12 : 100;
  return made(static_cast<std::uint64_t>(side * side * side),
              [side](std::uint64_t row, std::vector<std::uint32_t>& columns) {
                const auto r = static_cast<std::int64_t>(row);
                const std::int64_t x = r % side;
                const std::int64_t y = r / side % side;
                const std::int64_t z = r / side / side;
                const auto is_in = [side](std::int64_t c) { return c >= 0 && c < side; };
                for (std::int64_t k = z - 1; k <= z + 1; ++k) {
                  for (std::int64_t j = y - 1; j <= y + 1; ++j) {
                    for (std::int64_t i = x - 1; i <= x + 1; ++i) {
                      if (is_in(i) && is_in(j) && is_in(k))
                        columns.push_back(static_cast<std::uint32_t>((k * side + j) * side + i));
                    }
                  }
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

/// Edges of a graph whose adjacency matrix is cut in quarters again and again, each taken with its share (Chakrabarti
/// et al. 2004; the shares of Graph500).
io::csr_matrix<double> r_mat(bool quick) {
  const std::uint32_t bits = quick ? 11 : 20;
  constexpr std::uint64_t edges_each = 16;
  const std::uint64_t n = std::uint64_t{1} << bits;
  std::vector<std::vector<std::uint32_t>> edges(n);
  for (std::uint64_t e = 0; e < n * edges_each; ++e) {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    for (std::uint32_t b = 0; b < bits; ++b) {
      const std::uint64_t percent = inputs::mix(e * 64 + b) % 100;
      row = 2 * row + (percent >= 76 ? 1 : 0);
      column = 2 * column + ((percent >= 57 && percent < 76) || percent >= 95 ? 1 : 0);
    }
    edges[row].push_back(static_cast<std::uint32_t>(column));
  }
  return made(n, [&edges](std::uint64_t row, std::vector<std::uint32_t>& columns) { columns = edges[row]; });
}

io::csr_matrix<double> one_dense_row(bool quick) {
  const std::uint64_t n = quick ? 2000 : 1'000'000;
  return made(n, [n](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const bool is_dense = row == n / 2;
    for (std::uint64_t i = 0; i < (is_dense ? n : 8); ++i) {
      columns.push_back(static_cast<std::uint32_t>(is_dense ? i : inputs::mix(row * 8 + i) % n));
    }
  });
}

}  // namespace

const std::vector<matrix_kind>& matrix_kinds() {
  static const std::vector<matrix_kind> kinds{
      {"banded, 15 a row", banded},
      {"7-point grid", grid},
      {"27-point grid", grid_27},
      {"uniform, 16 a row", [](bool quick) { return at_random(quick ? 2000 : 1'000'000, 16); }},
      {"uniform, 8 a row, x past the caches", [](bool quick) { return at_random(quick ? 4000 : 8'000'000, 8); }},
      {"uniform, 16 a row, 4 million rows", [](bool quick) { return at_random(quick ? 4000 : 1 << 22, 16); }, true},
      {"power-law rows", power_law},
      {"R-MAT, 16 a row", r_mat},
      {"one dense row", one_dense_row},
  };
  return kinds;
}

}  // namespace sheaf::bench
