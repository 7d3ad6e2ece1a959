#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/machine.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>

#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"
#include "support/split_runs.hpp"

// Splits by more than 32 bits, which have no offsets.
namespace sheaf::tests::primitives_split_wide_test {
namespace {

const std::vector<split_trial>& trials() {
  static const std::vector<split_trial> all = [] {
    std::vector<split_trial> made;
    for (const split_case& c : wide_split_cases()) made.emplace_back(c);
    return made;
  }();
  return all;
}

class EveryWideSplit : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  void expect_product(product what) {
    const auto contexts = every_context();
    std::size_t runs = 0;
    std::size_t problems = 0;
    for (const split_trial& t : trials()) {
      const bool is_index = what == product::gather_index || what == product::scatter_index;
      if (t.c.count == 0 || (is_index && !t.c.has_separate_key())) continue;
      SCOPED_TRACE(t.c.description());
      ++problems;
      for (const named_context& where : contexts) {
        SCOPED_TRACE(where.name);
        split_result got;
        if (!run_variant(where.ctx, t, what, GetParam(), got)) continue;
        ++runs;
        EXPECT_NO_THROW(where.ctx.wait());
        expect_result(std::move(got), t, what);
      }
      if (HasFailure()) break;
    }
    const bool takes_all = GetParam().empty() || GetParam() == "reference.serial" || GetParam().ends_with(".by_sort");
    expect_runs(GetParam(), runs, takes_all ? problems : 0);
    for (const char* counts : {"cpu.buffered", "cuda.stable", "cuda.unordered", "cuda.cub", "cuda.by_index"}) {
      EXPECT_TRUE(GetParam() != counts || runs == 0) << counts << " counts categories of up to 32 bits";
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Split, EveryWideSplit, testing::ValuesIn(split_variant_names()), test_name_of);

TEST_P(EveryWideSplit, SortsRecordsStably) { expect_product(product::stable); }
TEST_P(EveryWideSplit, HasTheSameRecordsInEachCategoryWhereOrderIsFree) { expect_product(product::unstable); }
TEST_P(EveryWideSplit, SaysWhereRecordsComeFrom) { expect_product(product::gather_index); }
TEST_P(EveryWideSplit, SaysWhereRecordsGo) { expect_product(product::scatter_index); }

// Long enough for several threads and tiles.
const std::vector<split_trial>& long_trials() {
  static const std::vector<split_trial> all = [] {
    std::vector<split_trial> made;
    for (const std::uint64_t key_bytes : {0, 16}) {
      split_case c;
      c.categories_are = spread::zipf;
      c.count = 70'007;
      c.record_bytes = 16;
      c.bits = {5, 77, key_bytes == 0 ? bit_order::from_left : bit_order::little_endian};
      c.wants_offsets = false;
      if (key_bytes != 0) c.from = split_key::kind::key_bits;
      c.key_bytes = key_bytes;
      made.emplace_back(c);
    }
    return made;
  }();
  return all;
}

TEST_P(EveryWideSplit, OfALongListIsInOrder) {
  for (const split_trial& t : long_trials()) {
    for (const named_context& where : every_context()) {
      for (const product what : products) {
        const bool is_index = what == product::gather_index || what == product::scatter_index;
        if (is_index && !t.c.has_separate_key()) continue;
        SCOPED_TRACE(fmt::format("{} product {} on {}", t.c.description(), static_cast<int>(what), where.name));
        split_result got;
        if (!run_variant(where.ctx, t, what, GetParam(), got)) continue;
        EXPECT_NO_THROW(where.ctx.wait());
        expect_result(std::move(got), t, what);
      }
      if (HasFailure()) return;
    }
  }
}

TEST(WideSplit, OfNothingWritesNothing) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const records none(nullptr, 0, 12);
    split(where.ctx, none, split_key::of_record({0, 96}), none);
    split_unstable(where.ctx, none, split_key::of(none, {0, 96}), none);
    split_gather_index(where.ctx, split_key::of(none, {0, 96}), {nullptr, 0, index_type::u32});
    split_scatter_index(where.ctx, split_key::of(none, {0, 96}), {nullptr, 0, index_type::u32});
    EXPECT_NO_THROW(where.ctx.wait());
  }
}

// The two orders of a field's bits, in numbers that one reads.
TEST(WideSplit, ReadsBitsInBothOrders) {
  const std::vector<std::array<std::uint8_t, 6>> in{{0xa1, 0, 0, 0, 2, 0},
                                                    {0xb0, 0, 0, 0, 3, 9},
                                                    {0xc0, 9, 0, 0, 2, 1},
                                                    {0xd1, 0, 0, 0, 1, 0},
                                                    {0xe1, 0, 0, 0, 2, 7}};
  const auto firsts = [](const std::vector<std::array<std::uint8_t, 6>>& records) {
    std::vector<int> found;
    std::ranges::transform(records, std::back_inserter(found), [](const auto& r) { return int{r[0]}; });
    return found;
  };
  for (const named_context& where : every_context()) {
    if (where.ctx.backend() != backend_kind::cpu) continue;
    for (const char* variant : {"reference.serial", "cpu.by_sort", ""}) {
      SCOPED_TRACE(fmt::format("{} on {}", variant, where.name));
      std::vector<std::array<std::uint8_t, 6>> out(in.size());
      // Bytes 1 to 4 and the bits 0 to 3 of byte 0 as a little-endian number: byte 4 is the highest.
      split(where.ctx, in, split_key::of_record({0, 40}), out, {}, {variant});
      EXPECT_EQ(firsts(out), (std::vector<int>{0xd1, 0xa1, 0xe1, 0xc0, 0xb0}));
      // From the low nibble of byte 0 on, from the left: the nibble is the highest.
      split(where.ctx, in, split_key::of_record({4, 36, bit_order::from_left}), out, {}, {variant});
      EXPECT_EQ(firsts(out), (std::vector<int>{0xb0, 0xc0, 0xd1, 0xa1, 0xe1}));
    }
  }
}

TEST(WideSplit, IsASortWhosePriceIsInTheSplits) {
  context ctx = context::cpu(2);
  machine m = ctx.profile();
  m.corrections.clear();  // splits and sorts have their own
  ctx.use(m);
  const const_records in(nullptr, 1 << 20, 8);
  const explanation by_sort = explain_split(ctx, in, split_key::of_record({0, 64}));
  ASSERT_NE(by_sort.choice(), nullptr);
  EXPECT_EQ(by_sort.choice()->variant, "cpu.by_sort");
  const explanation sort = explain_sort_records(ctx, in, key_field{.bytes = 8});
  EXPECT_EQ(by_sort.choice()->seconds, sort.choice()->seconds);
  EXPECT_EQ(by_sort.choice()->scratch_bytes, sort.choice()->scratch_bytes);
  for (const variant_estimate& v : by_sort.variants) {
    if (v.variant == "cpu.buffered") {
      EXPECT_EQ(v.reason, "splits by up to 32 bits");
    }
  }
  const explanation narrow = explain_split(ctx, in, split_key::of_record({0, 32}));
  for (const variant_estimate& v : narrow.variants) {
    if (v.variant == "cpu.by_sort") {
      EXPECT_EQ(v.reason, "splits by more than 32 bits");
    }
  }
  // A scatter index inverts the order, which costs more.
  const const_records keys(nullptr, 1 << 20, 8);
  const auto gathers = explain_split_gather_index(ctx, split_key::of(keys, {0, 64}), index_type::u32);
  const auto scatters = explain_split_scatter_index(ctx, split_key::of(keys, {0, 64}), index_type::u32);
  EXPECT_GT(scatters.choice()->seconds, gathers.choice()->seconds);
  EXPECT_GT(scatters.choice()->scratch_bytes, gathers.choice()->scratch_bytes);
}

TEST(WideSplit, GoesByTheSortThatIsForced) {
  const std::vector<std::uint64_t> in{3, std::uint64_t{1} << 40, 2};
  std::vector<std::uint64_t> out(3);
  {
    const scoped_environment forced("SHEAF_VARIANT", "sort_records:cpu.lsd");
    split(context::cpu(1), in, split_key::of_record({0, 64}), out);
    EXPECT_EQ(out, (std::vector<std::uint64_t>{2, 3, std::uint64_t{1} << 40}));
  }
  const scoped_environment forced("SHEAF_VARIANT", "sort_records:cpu.counting");
  const context ctx = context::cpu(1);
  expect_error(error_code::no_variant,
               "split: no variant can run this: cpu.by_sort (no sort brings its records into order)", [&] {
                 split(ctx, in, split_key::of_record({0, 64}), out, {}, {"cpu.by_sort"});
               });
}

}  // namespace
}  // namespace sheaf::tests::primitives_split_wide_test
