#include "papers/wei2010/analysis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "papers/sizes.hpp"

namespace sheaf::tests::papers_wei2010_analysis_test {
namespace {

using namespace papers::wei2010;

constexpr std::uint64_t million = bench::papers::million;

// The lemma of section 3.3 in numbers.
TEST(LemmaOfWalkers, AllowsFewerThanTheRootOfNodesOverTheirLogarithm) {
  EXPECT_NEAR(most_balanced_walkers(million), 275.0, 0.1);
  EXPECT_NEAR(most_balanced_walkers(64 * million), 1929.7, 0.1);
  EXPECT_NEAR(most_balanced_walkers(256 * million), 3719.0, 0.1);
  EXPECT_EQ(most_balanced_walkers(0), 1);
  EXPECT_EQ(most_balanced_walkers(1), 1);
  // 1920 walkers want 34,600 sublists at 64 M nodes, and 37,263 at 256 M; the paper has 61,440.
  EXPECT_NEAR(least_balanced_sublists(64 * million, 1920), 34601, 1);
  EXPECT_NEAR(least_balanced_sublists(256 * million, 1920), 37263, 1);
  EXPECT_EQ(least_balanced_sublists(1, 1920), 0);
}

TEST(LemmaOfWalkers, HoldsForThePapersShapeFrom64MillionNodesOn) {
  constexpr walk_shape paper{30, 64, 32};
  EXPECT_EQ(paper.walkers(), 1920U);
  EXPECT_EQ(paper.sublists(64 * million), 61440U);
  EXPECT_EQ(paper.sublists(1000), 1000U) << "no more than nodes";
  EXPECT_FALSE(is_balanced(paper, 32 * million)) << "section 3.3 says that it does";
  EXPECT_TRUE(is_balanced(paper, 64 * million));
  EXPECT_TRUE(is_balanced(paper, 256 * million));
  EXPECT_FALSE(is_balanced({30, 64, 16}, 64 * million)) << "too few sublists";
  EXPECT_FALSE(is_balanced({60, 64, 32}, 256 * million)) << "too many walkers";
}

TEST(ShapeByLemma, IsThePapersOnItsDeviceWhereTheLemmaAllowsABlockForEachMultiprocessor) {
  for (const std::uint64_t millions : {64, 128, 256}) {
    EXPECT_EQ(shape_by_lemma(millions * million, tesla_c1060), (walk_shape{30, 64, 32})) << millions;
  }
  // 1391 walkers and 275: fewer blocks of 64 threads.
  EXPECT_EQ(shape_by_lemma(32 * million, tesla_c1060), (walk_shape{21, 64, 32}));
  EXPECT_EQ(shape_by_lemma(million, tesla_c1060), (walk_shape{4, 64, 16}));
}

TEST(ShapeByLemma, IsWithinTheLemmaOnAnyMachine) {
  for (const walking_machine machine : {tesla_c1060, walking_machine{132, 64}, walking_machine{2, 1},
                                        walking_machine{96, 1}, walking_machine{1, 1}, walking_machine{1, 64}}) {
    for (std::uint64_t nodes = 1 << 12; nodes <= std::uint64_t{1} << 30; nodes = nodes * 3 / 2) {
      const walk_shape shape = shape_by_lemma(nodes, machine);
      SCOPED_TRACE(testing::Message() << nodes << " nodes, " << machine.multiprocessors << " multiprocessors");
      EXPECT_TRUE(is_balanced(shape, nodes));
      EXPECT_LE(shape.threads, most_block_threads);
      // Half as many again would be too many, but where that is no multiple.
      const auto least = static_cast<double>(machine.multiprocessors * machine.least_threads);
      if (most_balanced_walkers(nodes) > 2 * least) {
        EXPECT_EQ(shape.blocks % machine.multiprocessors, 0U);
        EXPECT_EQ(shape.threads % machine.least_threads, 0U);
        EXPECT_GT(2 * static_cast<double>(shape.walkers()), most_balanced_walkers(nodes));
      }
    }
  }
  EXPECT_EQ(shape_by_lemma(256 * million, {132, 64}), (walk_shape{58, 64, 32})) << "an H200";
}

TEST(ShapeByLemma, OfHardlyAnyNodesHasAWalker) {
  for (const std::uint64_t nodes : {0, 1, 2, 3, 10}) {
    const walk_shape shape = shape_by_lemma(nodes, tesla_c1060);
    EXPECT_EQ(shape.blocks, 1U) << nodes;
    EXPECT_GE(shape.threads, 1U) << nodes;
    EXPECT_GE(shape.sublists_each, 1U) << nodes;
  }
}

TEST(ShapeOfTable2, IsThePapers) {
  const std::uint64_t each[] = {2, 4, 8, 16, 32, 32, 32, 32, 32};
  for (int row = 0; row < 9; ++row) {
    EXPECT_EQ(shape_of_table_2(million << row, tesla_c1060), (walk_shape{30, 64, each[row]})) << row;
  }
  EXPECT_EQ(shape_of_table_2(4096, {132, 64}), (walk_shape{132, 64, 1}));
}

// What the figures of 1 M to 256 M nodes have at each size.
TEST(LengthsOfLists, GoTo256MillionAtThePapersSizeAndOnFromThereOnADevice) {
  using bench::papers::counts_at;
  using bench::papers::run_size;
  const auto any = [](std::uint64_t) { return true; };
  const auto none = [](std::uint64_t) { return false; };
  const std::vector<std::uint64_t> lengths = lengths_of_lists();
  EXPECT_THAT(bench::papers::in_millions({1, 2, 4, 8, 16, 32, 64, 128, 256}), testing::IsSubsetOf(lengths));
  EXPECT_EQ(counts_at(run_size::paper, lengths, 4, none), lengths);
  EXPECT_EQ(counts_at(run_size::device, lengths, 4, none), lengths);
  EXPECT_GT(counts_at(run_size::device, lengths, 4, any).size(), lengths.size());
  EXPECT_EQ(counts_at(run_size::medium, lengths, 4, any).back(), 16 * million);
}

}  // namespace
}  // namespace sheaf::tests::papers_wei2010_analysis_test
