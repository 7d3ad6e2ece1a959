#include <numbers>

#include "lab/harness/sparse/made_matrix.hpp"
#include "lab/harness/sparse/matrices.hpp"
#include "lab/inputs/variate.hpp"

namespace sheaf::bench {
namespace {

/// The i-th random word of a row.
std::uint64_t drawn(std::uint64_t row, std::uint64_t i) { return inputs::mix(inputs::mix(row) + i); }

/// This and the next stand for an i that no entry of a row has.
constexpr std::uint64_t of_its_length = std::uint64_t{1} << 32;

/// From 0 to below 1, of the word's high bits.
double unit_number(std::uint64_t word) { return std::ldexp(static_cast<double>(word >> 11), -53); }

/// Of mean 0 and deviation 1, by the transformation of Box and Muller (1958): longest rows are as long as its tail
/// says, which a sum of uniform numbers cuts.
double normal_variate(std::uint64_t row) {
  const double radius = std::sqrt(-2 * std::log(1 - unit_number(drawn(row, of_its_length))));
  return radius * std::cos(2 * std::numbers::pi * unit_number(drawn(row, of_its_length + 1)));
}

std::uint32_t as_column(std::uint64_t place) { return static_cast<std::uint32_t>(place); }

/// Calls work(number) for a node of a grid of side^axes nodes and for those beside it along each axis: 2 * axes + 1 of
/// them, and fewer at the sides.
template <class Work>
void for_each_beside(std::uint64_t node, std::uint64_t side, unsigned axes, Work work) {
  work(node);
  std::uint64_t step = 1;
  for (unsigned axis = 0; axis < axes; ++axis, step *= side) {
    const std::uint64_t at = node / step % side;
    if (at > 0) work(node - step);
    if (at + 1 < side) work(node + step);
  }
}

/// What a node of finite elements is joined with.
enum class stencil : std::uint8_t { points_7, points_27 };

/// A matrix of finite elements with so many unknowns in each of side^3 nodes: a dense block for each two nodes that are
/// joined.
io::csr_matrix<double> blocks_of_nodes(std::uint64_t side, std::uint64_t unknowns, stencil joined) {
  return made(side * side * side * unknowns, [=](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const auto add_block = [&](std::uint64_t node) {
      for (std::uint64_t u = 0; u < unknowns; ++u) columns.push_back(as_column(node * unknowns + u));
    };
    if (joined == stencil::points_7) {
      for_each_beside(row / unknowns, side, 3, add_block);
    } else {
      for_each_touching(row / unknowns, side, add_block);
    }
  });
}

/// The columns that lie at most so far from a row's diagonal.
struct columns_near {
  std::uint64_t first;
  std::uint64_t count;

  columns_near(std::uint64_t row, std::uint64_t reach, std::uint64_t columns)
      : first(row - std::min(row, reach)), count(std::min(columns, row + reach + 1) - first) {}
};

/// Pages and their links, as `web_links` says.
struct web_shape {
  std::uint64_t pages;
  double mean;       ///< of the logarithm of a page's number of links
  double deviation;  ///< of this logarithm
  unsigned near_of_10;
};

/// Rows of lognormal lengths, at least 1, less what a row draws twice. So many of 10 columns lie within 1000 of the
/// diagonal, the others anywhere, few of them often: the n-th of all with a density of n^(-2/3).
io::csr_matrix<double> web_links(const web_shape& shape) {
  return made(shape.pages, [shape](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const double logarithm = shape.mean + shape.deviation * normal_variate(row);
    const auto length = static_cast<std::uint64_t>(std::round(std::exp(logarithm)));
    const columns_near near(row, 1000, shape.pages);
    for (std::uint64_t i = 0; i < std::max<std::uint64_t>(1, length); ++i) {
      const std::uint64_t draw = drawn(row, i);
      if (draw % 10 < shape.near_of_10) {
        columns.push_back(as_column(near.first + draw / 10 % near.count));
        continue;
      }
      const double share = unit_number(draw);
      const auto rank = static_cast<std::uint64_t>(share * share * share * static_cast<double>(shape.pages));
      columns.push_back(as_column(inputs::permute(rank, shape.pages, 3)));
    }
  });
}

enum class popularity : std::uint8_t { uniform, zipf };

/// Samples and their features, as `hashed_features` says.
struct samples_shape {
  std::uint64_t samples;
  unsigned column_bits;
  std::uint64_t least;  ///< features of a sample
  std::uint64_t most;
  popularity of_features;
};

/// Rows of any length from `least` to `most`, whose columns are hashes of four times as many features as there are
/// columns. By Zipf's law the n-th feature comes 1/n times as often as the first.
io::csr_matrix<double> hashed_features(const samples_shape& shape) {
  const std::uint64_t all_columns = std::uint64_t{1} << shape.column_bits;
  return made(shape.samples, all_columns, [=](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const std::uint64_t length = shape.least + drawn(row, of_its_length) % (shape.most - shape.least + 1);
    for (std::uint64_t i = 0; columns.size() < length; ++i) {
      const std::uint64_t draw = drawn(row, i);
      const std::uint64_t feature_bits = shape.column_bits + 2;
      // 2 to the power of a uniform number below feature_bits
      const std::uint64_t feature =
          shape.of_features == popularity::uniform
              ? draw
              : inputs::power_of_two(draw * feature_bits) >> (62 - inputs::high_product(draw, feature_bits));
      const std::uint32_t column = as_column(inputs::mix(feature) % all_columns);
      if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
    }
  });
}

/// A permutation within each block of so many numbers, the last of which may have fewer.
class renumbering {
 public:
  renumbering(std::uint64_t count, std::uint64_t block) : count_(count), block_(block) {}

  std::uint64_t new_of(std::uint64_t old) const {
    const std::uint64_t first = first_of_its_block(old);
    return first + inputs::permute(old - first, size_at(first), first);
  }
  std::uint64_t old_of(std::uint64_t renumbered) const {
    const std::uint64_t first = first_of_its_block(renumbered);
    return first + inputs::inverse_permute(renumbered - first, size_at(first), first);
  }

 private:
  std::uint64_t first_of_its_block(std::uint64_t number) const { return number / block_ * block_; }
  std::uint64_t size_at(std::uint64_t first) const { return std::min(block_, count_ - first); }

  std::uint64_t count_;
  std::uint64_t block_;
};

/// Each node of a grid of so many, less than 2^32, with those beside it; rows and columns have the nodes' new numbers.
io::csr_matrix<double> renumbered_grid(std::uint64_t side, unsigned axes, const renumbering& numbers) {
  const std::uint64_t nodes = axes == 2 ? side * side : side * side * side;
  return made(nodes, [=](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    for_each_beside(numbers.old_of(row), side, axes,
                    [&](std::uint64_t node) { columns.push_back(as_column(numbers.new_of(node))); });
  });
}

io::csr_matrix<double> square_grid_at_random(std::uint64_t side) {
  return renumbered_grid(side, 2, {side * side, side * side});
}

io::csr_matrix<double> cubic_grid_in_blocks(std::uint64_t side, std::uint64_t block) {
  return renumbered_grid(side, 3, {side * side * side, block});
}

/// Rows of exactly this length, at most 2001: of the columns within 2000 of the diagonal one at random in each of so
/// many parts of a size.
io::csr_matrix<double> rows_of_length(std::uint64_t length, bool quick) {
  constexpr std::uint64_t reach = 2000;
  const std::uint64_t rows = quick ? std::max<std::uint64_t>(100, 10'000 / length) : 30'000'000 / length;
  const std::uint64_t all_columns = std::max(rows, 2 * reach + 1);
  return made(rows, all_columns, [=](std::uint64_t row, std::vector<std::uint32_t>& columns) {
    const columns_near near(row, reach, all_columns);
    for (std::uint64_t i = 0; i < length; ++i) {
      const std::uint64_t begin = i * near.count / length;
      const std::uint64_t end = (i + 1) * near.count / length;
      columns.push_back(as_column(near.first + begin + drawn(row, i) % (end - begin)));
    }
  });
}

}  // namespace

const std::vector<matrix_kind>& unseen_matrix_kinds() {
  using enum stencil;
  using enum popularity;
  static const std::vector<matrix_kind> kinds{
      {"3 unknowns a node, 27-point, 60^3 nodes",
       [](bool quick) { return blocks_of_nodes(quick ? 6 : 60, 3, points_27); }},
      {"2 unknowns a node, 27-point, 74^3 nodes",
       [](bool quick) { return blocks_of_nodes(quick ? 6 : 74, 2, points_27); }},
      {"4 unknowns a node, 7-point, 70^3 nodes",
       [](bool quick) { return blocks_of_nodes(quick ? 6 : 70, 4, points_7); }},
      {"5 unknowns a node, 27-point, 40^3 nodes",
       [](bool quick) { return blocks_of_nodes(quick ? 5 : 40, 5, points_27); }},
      {"6 unknowns a node, 27-point, 36^3 nodes",
       [](bool quick) { return blocks_of_nodes(quick ? 5 : 36, 6, points_27); }},
      {"8 unknowns a node, 7-point, 56^3 nodes",
       [](bool quick) { return blocks_of_nodes(quick ? 5 : 56, 8, points_7); }},
      {"web, lognormal rows (1.6, 1.2)",
       [](bool quick) {
         return web_links({quick ? 4000U : 3'000'000U, 1.6, 1.2, 6});
       }},
      {"web, lognormal rows (2.5, 0.8)",
       [](bool quick) {
         return web_links({quick ? 3000U : 2'000'000U, 2.5, 0.8, 6});
       }},
      {"web, lognormal rows (0.5, 1.8), none near",
       [](bool quick) {
         return web_links({quick ? 5000U : 4'000'000U, 0.5, 1.8, 0});
       }},
      {"hashed features by Zipf, 20 to 59 a row",
       [](bool quick) {
         return hashed_features({quick ? 1000U : 1'000'000U, quick ? 14U : 22U, 20, 59, zipf});
       }},
      {"hashed features by Zipf, 60 to 140 a row",
       [](bool quick) {
         return hashed_features({quick ? 500U : 500'000U, quick ? 16U : 24U, 60, 140, zipf});
       }},
      {"hashed features, uniform, 5 to 25 a row",
       [](bool quick) {
         return hashed_features({quick ? 2000U : 2'000'000U, quick ? 12U : 20U, 5, 25, uniform});
       }},
      {"5-point grid of 3000^2, numbered at random",
       [](bool quick) { return square_grid_at_random(quick ? 50 : 3000); }},
      {"7-point grid of 150^3, numbered at random in blocks of 4096",
       [](bool quick) { return cubic_grid_in_blocks(quick ? 12 : 150, quick ? 512 : 4096); }},
      {"all rows of 2", [](bool quick) { return rows_of_length(2, quick); }},
      {"all rows of 20", [](bool quick) { return rows_of_length(20, quick); }},
      {"all rows of 40", [](bool quick) { return rows_of_length(40, quick); }},
      {"all rows of 64", [](bool quick) { return rows_of_length(64, quick); }},
      {"all rows of 100", [](bool quick) { return rows_of_length(100, quick); }},
      {"all rows of 150", [](bool quick) { return rows_of_length(150, quick); }},
      {"all rows of 400", [](bool quick) { return rows_of_length(400, quick); }},
      {"all rows of 2000", [](bool quick) { return rows_of_length(2000, quick); }},
  };
  return kinds;
}

}  // namespace sheaf::bench
