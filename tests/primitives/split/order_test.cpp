#include <sheaf/split.hpp>

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "support/contexts.hpp"
#include "support/split_runs.hpp"

namespace sheaf::tests::primitives_split_order_test {
namespace {

const std::vector<split_trial>& trials() {
  static const std::vector<split_trial> all = [] {
    std::vector<split_trial> made;
    for (const split_case& c : split_cases()) made.emplace_back(c);
    return made;
  }();
  return all;
}

class EverySplitVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  // Runs every case on every context. The planner finds a variant for each.
  void expect_products(product what, std::size_t partial_split_variant::*taken) {
    const auto contexts = every_context();
    std::size_t runs = 0;
    std::size_t problems = 0;
    for (const split_trial& t : trials()) {
      if (what != product::stable && what != product::unstable && !t.c.has_separate_key()) continue;
      SCOPED_TRACE(t.c.description());
      ++problems;
      for (const named_context& where : contexts) {
        SCOPED_TRACE(where.name);
        split_result got;
        const bool ran = run_variant(where.ctx, t, what, GetParam(), got);
        EXPECT_TRUE(ran || !GetParam().empty()) << "no variant runs this";
        if (!ran) continue;
        ++runs;
        EXPECT_NO_THROW(where.ctx.wait());
        expect_result(std::move(got), t, what);
      }
      if (HasFailure()) break;
    }
    if (const auto* const partial = partial_split_variant_of(GetParam()))
      problems = std::min(problems, partial->*taken);
    expect_runs(GetParam(), runs, problems);
  }
};

INSTANTIATE_TEST_SUITE_P(Split, EverySplitVariant, testing::ValuesIn(split_variant_names()), test_name_of);

TEST_P(EverySplitVariant, SortsRecordsByCategoryStably) {
  expect_products(product::stable, &partial_split_variant::stable);
}
TEST_P(EverySplitVariant, HasTheSameRecordsInEachCategoryWhereOrderIsFree) {
  expect_products(product::unstable, &partial_split_variant::unstable);
}
TEST_P(EverySplitVariant, SaysWhereRecordsComeFrom) {
  expect_products(product::gather_index, &partial_split_variant::gather_index);
}
TEST_P(EverySplitVariant, SaysWhereRecordsGo) {
  expect_products(product::scatter_index, &partial_split_variant::scatter_index);
}

// The lists of two calls on one context are each other's inverse.
TEST_P(EverySplitVariant, GatherAndScatterIndexAreInverse) {
  for (const named_context& where : every_context()) {
    for (const index_type type : index_types) {
      split_case c;
      c.count = 12345;
      c.from = split_key::kind::key_bits;
      c.bits = {3, 9};
      c.index = type;
      c.wants_offsets = false;
      SCOPED_TRACE(where.name + " " + name(type));
      const split_trial t(c);
      split_result from, to;
      if (!run_variant(where.ctx, t, product::gather_index, GetParam(), from)) continue;
      if (!run_variant(where.ctx, t, product::scatter_index, GetParam(), to)) continue;
      const auto entry = [&](const std::vector<std::byte>& list, std::uint64_t i) {
        std::uint64_t value = 0;
        std::memcpy(&value, list.data() + t.gather_before.first + i * bytes(type), bytes(type));
        return value;
      };
      for (std::uint64_t i = 0; i < c.count; ++i) {
        ASSERT_LT(entry(from.written, i), c.count);
        ASSERT_EQ(entry(to.written, entry(from.written, i)), i);
      }
    }
  }
}

TEST(Split, EveryVariantTakesSomething) {
  for (const auto& v : primitives::split_variants()) {
    if (!can_run_here(std::string(v.name))) continue;
    std::size_t runs = 0;
    for (const named_context& where : every_context()) {
      for (const product what : products) {
        for (const auto from : {split_key::kind::key_bits, split_key::kind::record_bits}) {
          const bool is_index = what == product::gather_index || what == product::scatter_index;
          if (is_index && from == split_key::kind::record_bits) continue;
          split_case c;
          c.from = from;
          c.record_bytes = c.key_bytes = 8;
          c.count = 1000;
          // Variants that sort are for more bits than the others take.
          if (v.name.ends_with(".by_sort")) c.bits.count = 40;
          c.wants_offsets = c.bits.count <= bit_field::most_counted_bits;
          const split_trial t(c);
          split_result got;
          if (run_variant(where.ctx, t, what, v.name, got)) ++runs;
        }
      }
    }
    expect_runs(v.name, runs, 6,
                {{"cpu.second_sort", 1},
                 {"cuda.unordered", 2},
                 {"cuda.by_index", 4},
                 {"cuda.second_sort", 1},
                 {"cpu.iterated_split", 5},
                 {"cuda.iterated_split", 5},
                 {"cpu.one_step", 2},
                 {"cpu.two_step", 2},
                 {"cuda.one_step", 2},
                 {"cuda.two_step", 2},
                 {"cuda.hardware_atomics", 1},
                 {"cuda.global_atomics", 1},
                 {"cuda.thread_histograms", 0},
                 {"cuda.one_bit", 2}});
  }
}

TEST(Split, TakesTypedRangesAndPaperNumbering) {
  const context ctx = context::cpu(2);
  // The paper's bit 0 is the highest of byte 0: bits 4 to 7 from the left are the low nibble.
  const std::vector<std::uint8_t> in{0x13, 0x21, 0x32, 0x41, 0x53};
  std::vector<std::uint8_t> out(5);
  std::vector<std::uint64_t> offsets(17);
  split(ctx, in, split_key::of_record({4, 4, bit_order::from_left}), out, offsets, {"reference.serial"});
  EXPECT_EQ(out, (std::vector<std::uint8_t>{0x21, 0x41, 0x32, 0x13, 0x53}));
  EXPECT_EQ(offsets[2], 2U);
  split(ctx, in, split_key::of_record({4, 4}), out, {}, {"reference.serial"});
  EXPECT_EQ(out, (std::vector<std::uint8_t>{0x13, 0x21, 0x32, 0x41, 0x53}));
  std::vector<std::int64_t> gather_index(5);
  split_gather_index(ctx, split_key::of(in, {0, 4}), gather_index, {}, {"reference.serial"});
  EXPECT_EQ(gather_index, (std::vector<std::int64_t>{1, 3, 2, 0, 4}));
  ctx.wait();
}

TEST(Split, OfNothingHasEmptyCategories) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const image kept = poisoned(257, 8, 8);
    const placed offsets(where.ctx, kept);
    const records none(nullptr, 0, 4);
    split(where.ctx, none, split_key::of_record({0, 8}), none);
    split_gather_index(where.ctx, split_key::of(none, {0, 8}), {nullptr, 0, index_type::u32});
    where.ctx.wait();
    split(where.ctx, none, split_key::of_record({0, 8}), none,
          {reinterpret_cast<std::uint64_t*>(offsets.view().data), 257});
    where.ctx.wait();
    image zeros = kept;
    for (std::uint64_t i = 0; i < 257; ++i) set_entry(zeros, i, 0);
    expect_bytes(offsets.download(), zeros, "offsets");
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_split_order_test
