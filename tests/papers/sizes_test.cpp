#include "papers/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::tests::papers_sizes_test {
namespace {

using namespace bench::papers;
using testing::ElementsAre;
using testing::IsEmpty;

const fits_function unasked = [](std::uint64_t) {
  ADD_FAILURE() << "memory is asked for at the size of the device alone";
  return true;
};

/// What memory of so many records holds.
fits_function up_to(std::uint64_t most) {
  return [most](std::uint64_t count) { return count <= most; };
}

TEST(SizesOfPapers, HaveNamesAndMeanings) {
  for (const auto& [text, size] : run_sizes) {
    EXPECT_EQ(primitives::value_of(text, run_sizes, "a size"), size);
    EXPECT_FALSE(meaning_of(size).empty()) << text;
  }
  EXPECT_NE(meaning_of(run_size::tiny).find("the times mean nothing"), std::string_view::npos);
}

TEST(SizesOfPapers, TinyCountsAreTheSameForAllFigures) {
  EXPECT_THAT(counts_at(run_size::tiny, in_millions({1, 64}), 4, unasked), ElementsAre(1 << 12, 1 << 14));
  EXPECT_THAT(counts_at(run_size::tiny, {}, 0, unasked), ElementsAre(1 << 12, 1 << 14));
  EXPECT_EQ(count_at(run_size::tiny, 64 * million, unasked), 1 << 14);
}

TEST(SizesOfPapers, SmallCountsAreTwoAtLeastAndEndWithAMillion) {
  EXPECT_THAT(counts_at(run_size::small, in_millions({1, 2, 64}), 4, unasked), ElementsAre(1 << 18, 1 << 20));
  EXPECT_THAT(counts_at(run_size::small, in_millions({8, 16}), 4, unasked), ElementsAre(1 << 18, 1 << 20));
  EXPECT_THAT(counts_at(run_size::small, {1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21}, 8, unasked),
              ElementsAre(1 << 17, 1 << 18, 1 << 19, 1 << 20));
  EXPECT_EQ(count_at(run_size::small, 64 * million, unasked), million);
  EXPECT_EQ(count_at(run_size::small, 1000, unasked), 1000);
}

TEST(SizesOfPapers, SmallRecordsHaveAtMost64Megabytes) {
  EXPECT_THAT(counts_at(run_size::small, in_millions({4, 8}), 64, unasked), ElementsAre(1 << 18, 1 << 20));
  EXPECT_THAT(counts_at(run_size::small, in_millions({4, 8}), 65, unasked), ElementsAre(1 << 18));
  EXPECT_THAT(counts_at(run_size::small, in_millions({4, 8}), 256, unasked), ElementsAre(1 << 18));
  EXPECT_THAT(counts_at(run_size::small, in_millions({4, 8}), 257, unasked), IsEmpty());
  EXPECT_THAT(counts_at(run_size::small, in_millions({4, 8}), 0, unasked), ElementsAre(1 << 18, 1 << 20));
}

TEST(SizesOfPapers, MediumCountsEndWith16MillionAnd512Megabytes) {
  const std::vector<std::uint64_t> of_paper = in_millions({8, 16, 32, 64});
  EXPECT_THAT(counts_at(run_size::medium, of_paper, 32, unasked), ElementsAre(8 * million, 16 * million));
  EXPECT_THAT(counts_at(run_size::medium, of_paper, 64, unasked), ElementsAre(8 * million));
  EXPECT_THAT(counts_at(run_size::medium, of_paper, 128, unasked), IsEmpty());
  EXPECT_EQ(count_at(run_size::medium, 32 * million, unasked), 16 * million);
  EXPECT_EQ(count_at(run_size::medium, 4 * million, unasked), 4 * million);
}

TEST(SizesOfPapers, CountsOfThePaperAreItsOwn) {
  const std::vector<std::uint64_t> of_paper = in_millions({8, 48, 1024});
  EXPECT_THAT(counts_at(run_size::paper, of_paper, 256, unasked),
              ElementsAre(8 * million, 48 * million, 1024 * million));
  EXPECT_EQ(count_at(run_size::paper, 64 * million, unasked), 64 * million);
}

TEST(SizesOfPapers, CountsOfTheDeviceDoubleWhileMemoryHoldsThem) {
  const std::vector<std::uint64_t> of_paper = in_millions({8, 48});
  EXPECT_THAT(counts_at(run_size::device, of_paper, 256, up_to(200 * million)),
              ElementsAre(8 * million, 48 * million, 96 * million, 192 * million));
  EXPECT_THAT(counts_at(run_size::device, of_paper, 256, up_to(192 * million - 1)),
              ElementsAre(8 * million, 48 * million, 96 * million));
  // Those of the paper that memory does not hold are skipped where they are measured, which says why.
  EXPECT_THAT(counts_at(run_size::device, of_paper, 256, up_to(10)), ElementsAre(8 * million, 48 * million));
  EXPECT_THAT(counts_at(run_size::device, {}, 256, up_to(million)), IsEmpty());
  EXPECT_EQ(count_at(run_size::device, 64 * million, up_to(1000 * million)), 512 * million);
  EXPECT_EQ(count_at(run_size::device, 64 * million, up_to(0)), 64 * million);
}

TEST(SizesOfPapers, DoublingEndsThoughMemoryHasNoEnd) {
  const fits_function always = [](std::uint64_t) { return true; };
  EXPECT_EQ(doubled_while(0, always), 0);
  EXPECT_EQ(doubled_while(1, always), std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace sheaf::tests::papers_sizes_test
