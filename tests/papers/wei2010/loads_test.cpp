#include "papers/wei2010/loads.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"

namespace sheaf::tests::papers_wei2010_loads_test {
namespace {

namespace wei2010 = bench::papers::wei2010;

/// A node of each block of eight.
std::vector<std::uint64_t> splitters_of(std::uint64_t nodes) {
  std::vector<std::uint64_t> splitters;
  for (std::uint64_t first = 0; first < nodes; first += 8) {
    splitters.push_back(std::min(first + inputs::mix(first) % 8, nodes - 1));
  }
  return splitters;
}

// The list that the benchmark measures is made by inputs::pattern_entry().
TEST(LoadsOfWalkers, AreThoseOfAWalkAlongTheList) {
  for (const std::uint64_t nodes : {1U, 2U, 1000U, 1001U, 1002U, 4096U, 100'003U, 1U << 17}) {
    for (const std::uint64_t stride : {std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{1001}, nodes}) {
      SCOPED_TRACE(fmt::format("{} nodes, stride {}", nodes, stride));
      const inputs::pattern order{inputs::pattern_kind::strided, stride};
      const std::vector<std::uint64_t> splitters = splitters_of(nodes);
      std::vector<std::uint64_t> sublist_of(nodes, splitters.size());
      for (std::uint64_t s = 0; s < splitters.size(); ++s) sublist_of[splitters[s]] = s;
      std::vector<std::uint64_t> walked(splitters.size());
      std::uint64_t sublist = splitters.size();
      for (std::uint64_t rank = 0; rank < nodes; ++rank) {
        const std::uint64_t node = inputs::pattern_entry(order, rank, nodes);
        ASSERT_EQ(wei2010::strided_rank(node, nodes, stride), rank) << "node " << node;
        if (sublist_of[node] < splitters.size()) sublist = sublist_of[node];
        if (sublist < splitters.size()) ++walked[sublist];
      }
      EXPECT_EQ(wei2010::sublist_lengths(splitters, nodes, stride), walked);
    }
  }
}

TEST(LoadsOfWalkers, AreComparedByMultiprocessor) {
  const std::vector<std::uint64_t> lengths{10, 1, 1, 4};
  // Dealt to two threads: 11 and 5. Drawn: the second thread walks all but the first sublist.
  const wei2010::largest_load two = wei2010::load_of(lengths, 2, 2);
  EXPECT_DOUBLE_EQ(two.dealt, 11 / 8.0);
  EXPECT_DOUBLE_EQ(two.drawn, 10 / 8.0);
  // Two threads on each of two multiprocessors.
  const wei2010::largest_load four = wei2010::load_of(lengths, 4, 2);
  EXPECT_DOUBLE_EQ(four.dealt, 11 / 8.0);
  EXPECT_DOUBLE_EQ(four.drawn, 11 / 8.0);
}

}  // namespace
}  // namespace sheaf::tests::papers_wei2010_loads_test
