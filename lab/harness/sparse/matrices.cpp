#include "lab/harness/sparse/matrices.hpp"

#include <numeric>
#include <utility>

#include "apps/sheaf/nas.hpp"
#include "lab/harness/sparse/made_matrix.hpp"

namespace sheaf::bench {
namespace {

io::csr_matrix<double> banded(std::uint64_t n, std::uint64_t half) {
  return made(n, [n, half](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    for (std::uint64_t c = row < half ? 0 : row - half; c <= std::min(n - 1, row + half); ++c) {
      columns.push_back(static_cast<std::uint32_t>(c));
    }
  });
}

io::csr_matrix<double> grid(std::uint64_t side) {
  const std::uint64_t n = side * side * side;
  return made(n, [n, side](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    columns.push_back(static_cast<std::uint32_t>(row));
    for (const std::uint64_t step : {std::uint64_t{1}, side, side * side}) {
      if (row >= step) columns.push_back(static_cast<std::uint32_t>(row - step));
      if (row + step < n) columns.push_back(static_cast<std::uint32_t>(row + step));
    }
  });
}

io::csr_matrix<double> grid_27(std::uint64_t side) {
  return made(side * side * side, [side](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    for_each_touching(row, side, [&](std::uint64_t node) { columns.push_back(static_cast<std::uint32_t>(node)); });
  });
}

io::csr_matrix<double> at_random(std::uint64_t rows, std::uint64_t per_row, std::uint64_t all_columns) {
  return made(rows, all_columns, [=](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    for (std::uint64_t i = 0; i < per_row; ++i) {
      columns.push_back(static_cast<std::uint32_t>(inputs::mix(row * per_row + i) % all_columns));
    }
  });
}

io::csr_matrix<double> at_random(std::uint64_t n, std::uint64_t per_row) { return at_random(n, per_row, n); }

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
io::csr_matrix<double> r_mat(std::uint32_t bits, std::uint64_t edges_each) {
  const std::uint64_t n = std::uint64_t{1} << bits;
  const auto edge = [bits](std::uint64_t e) {
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    for (std::uint32_t b = 0; b < bits; ++b) {
      const std::uint64_t percent = inputs::mix(e * 64 + b) % 100;
      row = 2 * row + (percent >= 76 ? 1 : 0);
      column = 2 * column + ((percent >= 57 && percent < 76) || percent >= 95 ? 1 : 0);
    }
    return std::pair{row, static_cast<std::uint32_t>(column)};
  };
  // The edges of each row side by side, in any order: `made` sorts them.
  std::vector<std::uint64_t> ends(n + 1);
  const auto for_each_edge = [&](auto work) {
    for_each_range(n * edges_each, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t e = begin; e < end; ++e) {
        const auto [row, column] = edge(e);
        work(std::atomic_ref(ends[row]).fetch_add(1, std::memory_order_relaxed), column);
      }
    });
  };
  for_each_edge([](std::uint64_t, std::uint32_t) {});
  std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::uint64_t{0});
  std::vector<std::uint32_t> columns_of_edges(n * edges_each);
  for_each_edge([&](std::uint64_t place, std::uint32_t column) { columns_of_edges[place] = column; });
  const std::uint32_t* const all = columns_of_edges.data();
  return made(n, [&ends, all](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    columns.assign(all + (row == 0 ? 0 : ends[row - 1]), all + ends[row]);
  });
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

/// Makes a matrix of a symmetric pattern symmetric and diagonally dominant, so that it is positive definite.
io::csr_matrix<double> made_definite(io::csr_matrix<double> matrix) {
  const auto& columns = std::get<std::vector<std::uint32_t>>(matrix.column_indices);
  for (std::uint64_t row = 0; row < matrix.rows; ++row) {
    const std::uint64_t begin = matrix.row_offsets[row];
    const std::uint64_t end = matrix.row_offsets[row + 1];
    for (std::uint64_t i = begin; i < end; ++i) {
      const std::uint64_t pair =
          std::min<std::uint64_t>(row, columns[i]) * matrix.rows + std::max<std::uint64_t>(row, columns[i]);
      matrix.values[i] = columns[i] == row ? static_cast<double>(end - begin)
                                           : static_cast<double>(inputs::mix(pair) >> 40) / (1 << 24) - 0.5;
    }
  }
  return matrix;
}

/// A matrix of finite elements with three unknowns in each node: blocks of 3 x 3 within a band of 2 * half_band + 1
/// blocks, of which a share is there, in percent, and all on the diagonal.
io::csr_matrix<double> elements(std::uint64_t rows, std::uint64_t half_band, std::uint64_t percent) {
  const std::uint64_t blocks = rows / 3;
  return made_definite(made(blocks * 3, [=](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const std::uint64_t block = row / 3;
    for (std::uint64_t b = block - std::min(block, half_band); b <= std::min(blocks - 1, block + half_band); ++b) {
      const std::uint64_t pair = std::min(b, block) * blocks + std::max(b, block);
      if (b != block && inputs::mix(pair) % 100 >= percent) continue;
      for (std::uint64_t c = 3 * b; c < 3 * b + 3; ++c) columns.push_back(static_cast<std::uint32_t>(c));
    }
  }));
}

/// A graph of pages that link to each other: most links lead to few pages, near the page or anywhere.
io::csr_matrix<double> web(std::uint64_t pages, std::uint64_t links_each) {
  std::vector<std::vector<std::uint32_t>> links(pages);
  for (std::uint64_t from = 0; from < pages; ++from) {
    links[from].push_back(static_cast<std::uint32_t>(from));
    for (std::uint64_t i = 0; i < links_each; ++i) {
      const std::uint64_t draw = inputs::mix(from * links_each + i);
      const double share = static_cast<double>(draw >> 11) / 9007199254740992.0;
      const std::uint64_t near = (from + 1 + draw % 100) % pages;
      const auto famous = static_cast<std::uint64_t>(share * share * share * static_cast<double>(pages));
      const std::uint64_t to = i % 2 == 0 ? near : inputs::permute(famous, pages, 3);
      links[from].push_back(static_cast<std::uint32_t>(to));
      links[to].push_back(static_cast<std::uint32_t>(from));
    }
  }
  return made_definite(
      made(pages, [&links](std::uint64_t row, std::vector<std::uint32_t>& columns) { columns = links[row]; }));
}

/// The number that gives 1 modulo 2^64 times this odd one, by Newton's iteration.
std::uint64_t inverse_of(std::uint64_t odd) {
  std::uint64_t inverse = odd;  // three bits are right, and each step doubles them
  for (int step = 0; step < 5; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}

/// A matching of [0, 2^bits) that is drawn by the seed: a row and its partner are permuted to numbers that differ by a
/// mask. The permutation multiplies by odd numbers, with the high half added to the low one in between.
class drawn_matching {
 public:
  drawn_matching(unsigned bits, std::uint64_t seed)
      : all_((std::uint64_t{1} << bits) - 1),
        high_((bits + 1) / 2),
        mask_((inputs::mix(3 * seed) | 1) & all_),
        first_(inputs::mix(3 * seed + 1) | 1),
        second_(inputs::mix(3 * seed + 2) | 1),
        first_inverse_(inverse_of(first_)),
        second_inverse_(inverse_of(second_)) {}

  std::uint64_t partner_of(std::uint64_t row) const {
    const std::uint64_t permuted = (halves_added(row * first_ & all_) * second_ & all_) ^ mask_;
    return halves_added(permuted * second_inverse_ & all_) * first_inverse_ & all_;
  }

 private:
  /// Its own inverse.
  std::uint64_t halves_added(std::uint64_t number) const { return number ^ number >> high_; }

  std::uint64_t all_;
  unsigned high_;
  std::uint64_t mask_;
  std::uint64_t first_;
  std::uint64_t second_;
  std::uint64_t first_inverse_;
  std::uint64_t second_inverse_;
};

}  // namespace

io::csr_matrix<double> scattered_matrix(const matrix_shape& shape) {
  if (shape.rows != shape.columns) return at_random(shape.rows, shape.row_length, shape.columns);
  const std::uint64_t n = shape.rows;
  const auto bits = static_cast<unsigned>(std::bit_width(std::max<std::uint64_t>(n, 1) - 1));
  std::vector<drawn_matching> matchings;
  for (std::uint64_t seed = 1; seed < shape.row_length; ++seed) matchings.emplace_back(bits, seed);
  return made_definite(made(n, [n, &matchings](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    columns.push_back(static_cast<std::uint32_t>(row));
    for (const drawn_matching& matching : matchings) {
      const std::uint64_t partner = matching.partner_of(row);
      if (partner < n) columns.push_back(static_cast<std::uint32_t>(partner));
    }
  }));
}

const std::vector<matrix_kind>& stand_ins() {
  static const std::vector<matrix_kind> kinds{
      {"like Stanford_Berkeley", [](bool quick) { return web(quick ? 2000 : 683'446, 5); }, 7'500'000},
      {"like pkustk14", [](bool quick) { return elements(quick ? 1500 : 151'926, 48, 33); }, 14'900'000},
      {"like pkustk08", [](bool quick) { return elements(quick ? 1500 : 22'209, 72, 33); }, 3'200'000},
      {"like nd24k", [](bool quick) { return elements(quick ? 1500 : 72'000, 135, 49); }, 28'700'000},
  };
  return kinds;
}

const std::vector<matrix_kind>& matrix_kinds() {
  static const std::vector<matrix_kind> kinds{
      {"banded, 15 a row", [](bool quick) { return banded(quick ? 2000 : 1'000'000, 7); }},
      {"7-point grid", [](bool quick) { return grid(quick ? 12 : 100); }},
      {"27-point grid", [](bool quick) { return grid_27(quick ? 12 : 100); }},
      {"uniform, 16 a row", [](bool quick) { return at_random(quick ? 2000 : 1'000'000, 16); }},
      {"uniform, 8 a row, x past the caches", [](bool quick) { return at_random(quick ? 4000 : 8'000'000, 8); }},
      {"power-law rows", power_law},
      {"R-MAT, 16 a row", [](bool quick) { return r_mat(quick ? 11 : 20, 16); }},
      {"one dense row", one_dense_row},
      {"NAS CG, class A",
       [](bool quick) { return jobs::nas_matrix(jobs::nas_class_named(quick ? "S" : "A"), context::cpu().threads()); }},
  };
  return kinds;
}

const std::vector<matrix_kind>& large_matrix_kinds() {
  static const std::vector<matrix_kind> kinds{
      {"banded, 31 a row, 2^22 rows", [](bool quick) { return banded(quick ? 4000 : 1 << 22, 15); }},
      {"7-point grid of 256^3", [](bool quick) { return grid(quick ? 16 : 256); }},
      {"27-point grid of 160^3", [](bool quick) { return grid_27(quick ? 16 : 160); }},
      {"uniform, 32 a row, 2^22 rows", [](bool quick) { return at_random(quick ? 4000 : 1 << 22, 32); }},
      {"uniform, 16 a row, 2^24 rows", [](bool quick) { return at_random(quick ? 4000 : 1 << 24, 16); }},
      {"uniform, 4 a row, 2^26 rows", [](bool quick) { return at_random(quick ? 4000 : 1 << 26, 4); }},
      {"R-MAT, 16 a row, 2^24 rows", [](bool quick) { return r_mat(quick ? 12 : 24, 16); }},
  };
  return kinds;
}

}  // namespace sheaf::bench
