// Matrices to judge variants by and not to tune them to: small ones have the structure of the large ones.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/harness/sparse/matrices.hpp"

namespace sheaf::tests::lab_unseen_matrices_test {
namespace {

using matrix = io::csr_matrix<double>;

std::span<const std::uint32_t> columns_of(const matrix& m, std::uint64_t row) {
  return std::span(std::get<std::vector<std::uint32_t>>(m.column_indices))
      .subspan(m.row_offsets[row], m.row_offsets[row + 1] - m.row_offsets[row]);
}

/// The small matrix of the kind whose name begins so.
matrix small_matrix(std::string_view name) {
  for (const bench::matrix_kind& kind : bench::unseen_matrix_kinds()) {
    if (kind.name.starts_with(name)) return kind.make(true);
  }
  ADD_FAILURE() << "no kind's name begins with " << name;
  return {};
}

TEST(UnseenMatrices, AreSmallWhereAskedAndInOrder) {
  std::set<std::string> names;
  for (const bench::matrix_kind& kind : bench::unseen_matrix_kinds()) {
    SCOPED_TRACE(kind.name);
    EXPECT_TRUE(names.insert(kind.name).second);
    const matrix m = kind.make(true);
    ASSERT_EQ(m.row_offsets.size(), m.rows + 1);
    EXPECT_EQ(m.row_offsets.back(), m.entries());
    EXPECT_EQ(m.columns_of_entries().count, m.entries());
    EXPECT_GE(m.rows, 100U);
    EXPECT_LE(m.entries(), 250'000U);
    for (std::uint64_t row = 0; row < m.rows; ++row) {
      const auto columns = columns_of(m, row);
      ASSERT_FALSE(columns.empty()) << row;
      ASSERT_LT(columns.back(), m.columns) << row;
      ASSERT_EQ(std::ranges::adjacent_find(columns, std::ranges::greater_equal()), columns.end()) << row;
    }
    for (const double value : m.values) ASSERT_LE(std::abs(value), 0.5);
  }
}

TEST(UnseenMatrices, HaveTheSameBitsInEveryRun) {
  for (const bench::matrix_kind& kind : bench::unseen_matrix_kinds()) {
    SCOPED_TRACE(kind.name);
    const matrix first = kind.make(true);
    const matrix again = kind.make(true);
    EXPECT_EQ(first.row_offsets, again.row_offsets);
    EXPECT_EQ(first.column_indices, again.column_indices);
    EXPECT_EQ(first.values, again.values);
  }
}

// Rows of a node have the same columns, all of each node that it is joined with: of a cube's 8 corners, and inside.
TEST(UnseenMatrices, HaveDenseBlocksOfUnknowns) {
  for (const std::uint64_t unknowns : {2U, 3U, 4U, 5U, 6U, 8U}) {
    SCOPED_TRACE(unknowns);
    const bool has_7_points = unknowns == 4 || unknowns == 8;
    const matrix m = small_matrix(fmt::format("{} unknowns a node, {}-point", unknowns, has_7_points ? 7 : 27));
    const std::uint64_t nodes = m.rows / unknowns;
    ASSERT_EQ(m.rows, nodes * unknowns);
    std::map<std::uint64_t, std::uint64_t> nodes_of_so_many;
    for (std::uint64_t node = 0; node < nodes; ++node) {
      const auto columns = columns_of(m, node * unknowns);
      ASSERT_EQ(columns.size() % unknowns, 0U);
      ++nodes_of_so_many[columns.size() / unknowns];
      for (std::size_t i = 0; i < columns.size(); ++i) {
        ASSERT_EQ(columns[i] % unknowns, i % unknowns);
        ASSERT_EQ(columns[i] - columns[i / unknowns * unknowns], i % unknowns);
      }
      for (std::uint64_t u = 1; u < unknowns; ++u) {
        ASSERT_TRUE(std::ranges::equal(columns, columns_of(m, node * unknowns + u)));
      }
    }
    const auto side = static_cast<std::uint64_t>(std::round(std::cbrt(static_cast<double>(nodes))));
    const std::uint64_t inside = (side - 2) * (side - 2) * (side - 2);
    EXPECT_EQ(nodes_of_so_many.begin()->first, has_7_points ? 4U : 8U);
    EXPECT_EQ(nodes_of_so_many.begin()->second, 8U);
    EXPECT_EQ(nodes_of_so_many.rbegin()->first, has_7_points ? 7U : 27U);
    EXPECT_EQ(nodes_of_so_many.rbegin()->second, inside);
  }
}

TEST(UnseenMatrices, HaveRowsOfOneLengthNearTheDiagonal) {
  for (const std::uint64_t length : {2U, 20U, 40U, 64U, 100U, 150U, 400U, 2000U}) {
    SCOPED_TRACE(length);
    const matrix m = small_matrix(fmt::format("all rows of {}", length));
    std::uint64_t farthest = 0;
    for (std::uint64_t row = 0; row < m.rows; ++row) {
      const auto columns = columns_of(m, row);
      ASSERT_EQ(columns.size(), length) << row;
      farthest = std::max(farthest, row - std::min<std::uint64_t>(row, columns.front()));
      farthest = std::max(farthest, columns.back() - std::min<std::uint64_t>(row, columns.back()));
    }
    EXPECT_LE(farthest, 2000U);
    EXPECT_GE(farthest, 1900U);
  }
}

// The logarithm's mean is that of the median, and its deviation that of the quartiles. Long rows draw columns twice.
TEST(UnseenMatrices, HaveLognormalRowsOfPages) {
  struct expected_web {
    std::string name;
    double mean;
    double deviation;
    double near;  ///< share of the columns within 1000 of the diagonal
  };
  const expected_web all[] = {{"web, lognormal rows (1.6, 1.2)", 1.6, 1.2, 0.6},
                              {"web, lognormal rows (2.5, 0.8)", 2.5, 0.8, 0.6},
                              {"web, lognormal rows (0.5, 1.8)", 0.5, 1.8, 0}};
  for (const expected_web& web : all) {
    SCOPED_TRACE(web.name);
    const matrix m = small_matrix(web.name);
    std::vector<std::uint64_t> lengths;
    std::vector<std::uint64_t> times(m.columns);
    std::uint64_t entries_near = 0;
    for (std::uint64_t row = 0; row < m.rows; ++row) {
      lengths.push_back(columns_of(m, row).size());
      for (const std::uint32_t column : columns_of(m, row)) {
        ++times[column];
        if (column + 1000U >= row && column <= row + 1000U) ++entries_near;
      }
    }
    std::ranges::sort(lengths);
    const auto expect_about = [&](double z, std::uint64_t found) {
      const double expected = std::max(1.0, std::exp(web.mean + z * web.deviation));
      EXPECT_NEAR(static_cast<double>(found), expected, 0.5 + 0.1 * expected) << z;
    };
    expect_about(-0.674, lengths[m.rows / 4]);
    expect_about(0, lengths[m.rows / 2]);
    expect_about(0.674, lengths[m.rows / 4 * 3]);
    // Columns that lie anywhere are near the diagonal, too, seven in ten at most where a matrix is so small.
    const double share_near = static_cast<double>(entries_near) / static_cast<double>(m.entries());
    EXPECT_GE(share_near, 0.9 * web.near);
    EXPECT_LE(share_near, web.near + (1 - web.near) * 0.7);
    std::ranges::sort(times, std::ranges::greater());
    EXPECT_GT(times[0], 20 * times[m.columns / 2]);
  }
}

TEST(UnseenMatrices, HaveHashedFeaturesOfWhichFewComeOften) {
  struct expected_features {
    std::string name;
    std::uint64_t least;
    std::uint64_t most;
    bool is_uniform;
  };
  for (const auto& [name, least, most, is_uniform] : {expected_features{"hashed features by Zipf, 20", 20, 59, false},
                                                      {"hashed features by Zipf, 60", 60, 140, false},
                                                      {"hashed features, uniform", 5, 25, true}}) {
    SCOPED_TRACE(name);
    const matrix m = small_matrix(name);
    EXPECT_TRUE(std::has_single_bit(m.columns));
    std::set<std::uint64_t> lengths;
    std::vector<std::uint64_t> times(m.columns);
    for (std::uint64_t row = 0; row < m.rows; ++row) {
      lengths.insert(columns_of(m, row).size());
      for (const std::uint32_t column : columns_of(m, row)) ++times[column];
    }
    EXPECT_EQ(*lengths.begin(), least);
    EXPECT_EQ(*lengths.rbegin(), most);
    EXPECT_EQ(lengths.size(), most - least + 1);
    std::ranges::sort(times, std::ranges::greater());
    if (is_uniform) {
      EXPECT_LT(times[0], 4 * m.entries() / m.columns);
    } else {
      EXPECT_GT(times[0], m.rows / 2);
      EXPECT_LT(times[100], m.rows / 4);
    }
  }
}

// Each edge has both directions, and few lie beside the diagonal. Numbers of the 7-point grid stay in blocks of 512.
TEST(UnseenMatrices, HaveGridsNumberedAtRandom) {
  for (const auto& [name, side, axes] :
       {std::tuple{"5-point grid", std::uint64_t{50}, 2U}, {"7-point grid", std::uint64_t{12}, 3U}}) {
    SCOPED_TRACE(name);
    const matrix m = small_matrix(name);
    const std::uint64_t nodes = axes == 2 ? side * side : side * side * side;
    ASSERT_EQ(m.rows, nodes);
    EXPECT_EQ(m.entries(), nodes + 2 * axes * (nodes - nodes / side));
    std::uint64_t beside_the_diagonal = 0;
    std::uint64_t farthest = 0;
    for (std::uint64_t row = 0; row < m.rows; ++row) {
      const auto columns = columns_of(m, row);
      ASSERT_TRUE(std::ranges::binary_search(columns, row));
      for (const std::uint32_t column : columns) {
        ASSERT_TRUE(std::ranges::binary_search(columns_of(m, column), row)) << row << ' ' << column;
        const std::uint64_t distance = std::max<std::uint64_t>(row, column) - std::min<std::uint64_t>(row, column);
        if (distance == 1) ++beside_the_diagonal;
        farthest = std::max(farthest, distance);
      }
    }
    EXPECT_LT(beside_the_diagonal, nodes / 20);
    EXPECT_GT(farthest, axes == 2 ? nodes * 9 / 10 : 512U);
    EXPECT_LT(farthest, axes == 2 ? nodes : 2 * 512U);
  }
}

}  // namespace
}  // namespace sheaf::tests::lab_unseen_matrices_test
