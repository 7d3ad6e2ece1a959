#include <sheaf/scatter_reduce.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "primitives/reduce/contract.hpp"
#include "support/cases/bad_places.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/trials/scatter_reduce.hpp"

namespace sheaf::tests::primitives_reduce_values_test {
namespace {

// Every type with every operation and pattern; sizes around the edges of warps, blocks, tiles and thread shares.
std::vector<reduce_case> reduce_cases() {
  std::vector<reduce_case> cases;
  rotation<index_type> indices({std::begin(index_types), std::end(index_types)});
  rotation<int> shifts({0, 0, 1});
  struct shape {
    const char* pattern;
    std::uint64_t count;
    std::uint64_t slots;
  };
  constexpr shape shapes[] = {{"permutation", 9001, 9001}, {"permutation", 5000, 12345}, {"uniform", 9001, 5000},
                              {"same", 4097, 100},         {"zipf", 20011, 30011},       {"sorted", 9001, 1500},
                              {"sorted", 9001, 12345},     {"uniform", 20011, 7},        {"uniform", 5000, 1},
                              {"identity", 4096, 4096},    {"uniform", 3000, 50000},     {"uniform", 2049, 8192},
                              {"zipf", 4096, 8193}};
  for (const shape& s : shapes) {
    for (const value_type type : value_types) {
      for (const reduction op : reductions) {
        cases.push_back({s.pattern, s.count, s.slots, type, op, indices.next(), shifts.next() == 1});
      }
    }
    indices.next();
  }
  rotation<value_type> types({std::begin(value_types), std::end(value_types)});
  rotation<reduction> ops({reduction::add, reduction::max, reduction::subtract, reduction::min, reduction::add});
  rotation<const char*> patterns({"uniform", "sorted", "same", "zipf"});
  for (const std::uint64_t count : {0, 1, 2, 31, 33, 255, 257, 1023, 1025, 4095, 4096, 4097, 8191, 8193}) {
    for (int repeat = 0; repeat < 7; ++repeat) {
      cases.push_back({patterns.next(), count, count / 3 + 1, types.next(), ops.next(), indices.next(), false});
    }
  }
  constexpr std::uint64_t million = 1 << 20;
  cases.push_back({"permutation", million, million, value_type::f64, reduction::add, index_type::i64, false});
  cases.push_back({"uniform", million, 1000, value_type::f32, reduction::add, index_type::u32, true});
  cases.push_back({"uniform", million, million / 2, value_type::i32, reduction::min, index_type::i32, false});
  cases.push_back({"zipf", million, million / 8, value_type::f32, reduction::subtract, index_type::u32, false});
  cases.push_back({"uniform", 300'000, 5'000'000, value_type::f64, reduction::add, index_type::i64, false});
  cases.push_back({"permutation", million, million, value_type::u64, reduction::subtract, index_type::u64, false});
  return cases;
}

/// A case with its inputs and what is expected, made when it is first asked for.
class kept_trial {
 public:
  explicit kept_trial(reduce_case c) : case_(std::move(c)) {}
  const reduce_case& description() const { return case_; }
  const reduce_trial& made() {
    if (!made_) made_.emplace(case_);
    return *made_;
  }

 private:
  reduce_case case_;
  std::optional<reduce_trial> made_;
};

std::vector<kept_trial>& trials() {
  static std::vector<kept_trial> all = [] {
    std::vector<kept_trial> cases;
    for (const reduce_case& c : reduce_cases()) cases.emplace_back(c);
    return cases;
  }();
  return all;
}

/// Frame buffers blend values of 32-bit floats. Any variant leaves the slots as they are where there are no values.
bool takes(std::string_view variant, const reduce_case& c) {
  return !variant.starts_with("opengl.") || c.type == value_type::f32 || c.count == 0;
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::scatter_reduce_variants()) names.emplace_back(v.name);
  return names;
}

class EveryScatterReduceVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  }

  // Runs every case on every context, `repeats` times. The planner finds a variant for each. Where the order is
  // deterministic, all repeats give equal bits.
  void expect_slots_of_all(reduction_order order, int repeats, std::initializer_list<taken_problems> fewer) {
    const auto contexts = contexts_to_try(GetParam());
    bool hinted = false;
    std::size_t runs = 0;
    std::size_t problems = 0;
    for (kept_trial& kept : trials()) {
      const reduce_case& c = kept.description();
      if ((order == reduction_order::unordered || repeats > 1) && !c.rounds()) continue;
      SCOPED_TRACE(c.description());
      problems += static_cast<std::size_t>(repeats);
      hinted = !hinted && c.pattern != "sorted";
      if (!takes(GetParam(), c)) continue;
      const reduce_trial& t = kept.made();
      const access_pattern pattern = hinted ? hint(inputs::parse_pattern(c.pattern)) : access_pattern::unknown();
      for (const named_context& where : contexts) {
        SCOPED_TRACE(where.name);
        std::vector<std::byte> first, got;
        for (int repeat = 0; repeat < repeats; ++repeat) {
          const bool ran = run_variant(where.ctx, t, {.pattern = pattern, .order = order, .variant = GetParam()}, got);
          EXPECT_TRUE(ran || !GetParam().empty()) << "no variant runs this";
          if (!ran) break;
          ++runs;
          EXPECT_NO_THROW(where.ctx.wait());
          expect_slots(got, t);
          if (repeat == 0) first = got;
          EXPECT_TRUE(first == got) << "run " << repeat << " gives other bits than run 0";
        }
      }
      if (HasFailure()) break;
    }
    expect_runs(GetParam(), runs, problems, fewer);
  }
};

INSTANTIATE_TEST_SUITE_P(ScatterReduce, EveryScatterReduceVariant, testing::ValuesIn(variant_names()), test_name_of);

TEST_P(EveryScatterReduceVariant, CombinesValuesOfEqualIndices) {
  expect_slots_of_all(reduction_order::deterministic, 1,
                      {{"cpu.private", 246},
                       {"cuda.atomic", 302},
                       {"cuda.bucketed", 170},
                       {"cuda.sorted", 198},
                       {"cuda.tiled", 220},
                       {"opengl.blended", 68}});
}
TEST_P(EveryScatterReduceVariant, GivesTheSameSumsInEveryRun) {
  expect_slots_of_all(reduction_order::deterministic, 3,
                      {{"cpu.private", 6}, {"cuda.atomic", 6}, {"cuda.bucketed", 24}, {"opengl.blended", 105}});
}
TEST_P(EveryScatterReduceVariant, RoundsAsItLikesWhereTheOrderIsFree) {
  expect_slots_of_all(reduction_order::unordered, 1, {{"opengl.blended", 35}});
}

TEST_P(EveryScatterReduceVariant, TrustsGoodIndices) {
  std::size_t runs = 0;
  for (const value_type type : value_types) {
    for (const reduction op : reductions) {
      const reduce_trial t({"uniform", 9001, 3000, type, op, index_type::i32, false});
      SCOPED_TRACE(t.c.description());
      for (const named_context& where : contexts_to_try(GetParam())) {
        SCOPED_TRACE(where.name);
        std::vector<std::byte> got;
        if (!run_variant(where.ctx, t, {.bounds = bounds::trust, .variant = GetParam()}, got)) continue;
        ++runs;
        expect_slots(got, t);
      }
    }
  }
  expect_runs(GetParam(), runs, std::size(value_types) * std::size(reductions),
              {{"cpu.private", 16},
               {"cuda.atomic", 20},
               {"cuda.bucketed", 8},
               {"cuda.sorted", 12},
               {"cuda.tiled", 12},
               {"opengl.blended", 4}});
}

TEST_P(EveryScatterReduceVariant, SkipsBadIndicesAndReportsTheFirst) {
  struct bad_entry {
    index_type type;
    std::uint64_t bits;
    const char* complaint;
  };
  constexpr bad_entry entries[] = {{index_type::u32, 3000, "3000, past"},
                                   {index_type::u32, 0xffffffff, "4294967295, past"},
                                   {index_type::i32, ~std::uint64_t{0}, "-1, outside"},
                                   {index_type::i32, std::uint64_t{1} << 31, "-2147483648, outside"},
                                   {index_type::u64, std::uint64_t{1} << 32, "4294967296, past"},
                                   {index_type::u64, ~std::uint64_t{0}, "18446744073709551615, past"},
                                   {index_type::i64, ~std::uint64_t{0}, "-1, outside"},
                                   {index_type::i64, std::uint64_t{1} << 32, "4294967296, past"}};
  rotation<value_type> types({std::begin(value_types), std::end(value_types)});
  rotation<reduction> ops({reduction::subtract, reduction::add, reduction::min, reduction::max, reduction::add});
  const auto contexts = contexts_to_try(GetParam());
  std::size_t runs = 0;
  std::size_t problems = 0;
  for (const bad_entry& entry : entries) {
    for (const std::uint64_t position : {0, 4500, 9000}) {
      const reduce_case c{"uniform", 9001, 3000, types.next(), ops.next(), entry.type, false};
      // Behind the first bad entry there are others.
      std::vector<std::pair<std::uint64_t, std::uint64_t>> bad{{position, entry.bits}};
      if (position < 9000) bad.emplace_back(9000, 3001);
      const reduce_trial t(c, bad);
      SCOPED_TRACE(fmt::format("{}: {} at {}", c.description(), entry.complaint, position));
      problems += 2;
      for (const named_context& where : contexts) {
        for (const auto order : {reduction_order::deterministic, reduction_order::unordered}) {
          SCOPED_TRACE(where.name);
          std::vector<std::byte> got;
          if (!run_variant(where.ctx, t, {.order = order, .variant = GetParam()}, got)) continue;
          ++runs;
          expect_slots(got, t);
          EXPECT_EQ(where.ctx.status(), work_status::failed);
          expect_error(
              error_code::bad_index,
              fmt::format("scatter_reduce: index[{}] is {} the output's 3000 slots", position, entry.complaint),
              [&] { where.ctx.wait(); });
          EXPECT_NO_THROW(where.ctx.wait());
        }
      }
    }
    ops.next();
  }
  expect_runs(GetParam(), runs, problems,
              {{"cpu.private", 38},
               {"cuda.atomic", 42},
               {"cuda.bucketed", 26},
               {"cuda.sorted", 32},
               {"cuda.tiled", 32},
               {"opengl.blended", 8}});
}

// The slots take all numbers of their bits, so that none is left for what is bad. The first and the last slot get
// values before and behind it.
TEST_P(EveryScatterReduceVariant, SkipsBadIndicesAmongSlotsOfAPowerOfTwo) {
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> forced{
      {10, 0}, {20, 4095}, {70, 4096}, {71, 8191}, {4500, 4096}, {8000, 0}, {8100, 4095}, {9000, 0x7fffffff}};
  for (const index_type index : {index_type::u32, index_type::i32, index_type::u64, index_type::i64}) {
    for (const value_type type : {value_type::f32, value_type::f64, value_type::i64}) {
      const reduce_trial t({"uniform", 9001, 4096, type, reduction::add, index, false}, forced);
      SCOPED_TRACE(t.c.description());
      for (const named_context& where : contexts_to_try(GetParam())) {
        SCOPED_TRACE(where.name);
        std::vector<std::byte> got;
        if (!run_variant(where.ctx, t, {.variant = GetParam()}, got)) continue;
        expect_slots(got, t);
        expect_error(error_code::bad_index, "scatter_reduce: index[70] is 4096, past the output's 4096 slots",
                     [&] { where.ctx.wait(); });
      }
    }
  }
}

TEST_P(EveryScatterReduceVariant, ReportsTheFirstOfManyBadIndices) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    for (const std::uint64_t slots : {40, 100000}) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> bad;
      for (const std::uint64_t place : bad_places(9001, seed)) bad.emplace_back(place, 1000000 + place);
      const value_type type = seed % 2 == 0 ? value_type::f32 : value_type::i64;
      const reduce_trial t({"uniform", 9001, slots, type, reduction::add, index_type::u64, false}, bad);
      for (const named_context& where : contexts_to_try(GetParam())) {
        SCOPED_TRACE(fmt::format("{}, seed {}, {}", where.name, seed, t.c.description()));
        std::vector<std::byte> got;
        if (!run_variant(where.ctx, t, {.variant = GetParam()}, got)) continue;
        expect_slots(got, t);
        expect_error(error_code::bad_index,
                     fmt::format("scatter_reduce: index[{}] is {}, past the output's {} slots", bad[0].first,
                                 bad[0].second, slots),
                     [&] { where.ctx.wait(); });
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(EveryScatterReduceVariant, SurvivesNothingButBadIndices) {
  reduce_case c{"same", 9001, 40, value_type::f32, reduction::add, index_type::i32, false};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> bad;
  for (std::uint64_t i = 0; i < c.count; ++i) bad.emplace_back(i, ~i);
  const reduce_trial t(c, bad);
  for (const named_context& where : contexts_to_try(GetParam())) {
    SCOPED_TRACE(where.name);
    std::vector<std::byte> got;
    if (!run_variant(where.ctx, t, {.variant = GetParam()}, got)) continue;
    expect_bytes(got, t.before, "out");
    expect_error(error_code::bad_index, "scatter_reduce: index[0] is -1, outside the output's 40 slots",
                 [&] { where.ctx.wait(); });
  }
}

TEST(ScatterReduce, EveryVariantTakesSomething) {
  const reduce_trial integers({"uniform", 1000, 100, value_type::i32, reduction::add, index_type::u32, false});
  const reduce_trial floats({"uniform", 1000, 100, value_type::f32, reduction::add, index_type::u32, false});
  for (const auto& v : primitives::scatter_reduce_variants()) {
    if (!can_run_here(v.name)) continue;
    std::size_t runs = 0;
    for (const named_context& where : contexts_to_try(v.name)) {
      std::vector<std::byte> got;
      if (run_variant(where.ctx, integers, {.variant = v.name}, got)) ++runs;
      if (run_variant(where.ctx, floats, {.variant = v.name}, got)) ++runs;
    }
    expect_runs(v.name, runs, 2, {{"cpu.private", 1}, {"cuda.atomic", 1}, {"cuda.bucketed", 1}, {"opengl.blended", 1}});
  }
}

TEST(ScatterReduce, TakesTypedRanges) {
  const context ctx = context::cpu(2);
  const std::vector<float> in{1, 2, 3, 4};
  const std::vector<std::int64_t> index{2, 0, 2, 2};
  std::vector<float> out{10, 20, 30};
  scatter_reduce(ctx, in, index, out, reduction::add, {.variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{12, 20, 38}));
  scatter_reduce(ctx, in, index, std::span(out), reduction::min, {.variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{2, 20, 1}));
  scatter_reduce(ctx, in, index, std::span(out), reduction::subtract, {.variant = "reference.serial"});
  EXPECT_EQ(out, (std::vector<float>{0, 20, -7}));
  ctx.wait();
}

/// Adds the values, or subtracts their negatives.
void expect_sums_of_infinities(reduction op) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> in{infinity, 1, infinity, -infinity, std::nan(""), 1, -0.0};
  if (op == reduction::subtract) {
    for (double& value : in) value = -value;
  }
  const std::vector<std::uint32_t> index{0, 0, 1, 1, 2, 3, 4};
  const std::vector<double> before{5, 5, 5, infinity, -0.0};
  for (const auto& v : primitives::scatter_reduce_variants()) {
    if (!can_run_here(v.name)) continue;
    for (const named_context& where : every_context()) {
      SCOPED_TRACE(fmt::format("{} on {}, {}", v.name, where.name, name(op)));
      const buffer memory(where.ctx, 1024);
      std::byte* const at = memory.data();
      copy_bytes(where.ctx, at, in.data(), 8 * in.size());
      copy_bytes(where.ctx, at + 256, index.data(), 4 * index.size());
      copy_bytes(where.ctx, at + 512, before.data(), 8 * before.size());
      try {
        scatter_reduce(where.ctx, const_values(at, in.size(), value_type::f64),
                       index_span(at + 256, index.size(), index_type::u32),
                       values(at + 512, before.size(), value_type::f64), op, {.variant = v.name});
      } catch (const error& e) {
        EXPECT_EQ(e.code(), error_code::no_variant);
        continue;
      }
      where.ctx.wait();
      std::vector<double> out(before.size());
      copy_bytes(where.ctx, out.data(), at + 512, 8 * out.size());
      EXPECT_EQ(out[0], infinity);
      EXPECT_TRUE(std::isnan(out[1]));
      EXPECT_TRUE(std::isnan(out[2]));
      EXPECT_EQ(out[3], infinity);
      EXPECT_EQ(out[4], 0.0);
    }
  }
}

TEST(ScatterReduce, AddsInfinitiesAndNotANumbers) { expect_sums_of_infinities(reduction::add); }
TEST(ScatterReduce, SubtractsInfinitiesAndNotANumbers) { expect_sums_of_infinities(reduction::subtract); }

// Also in the order of sums, where that is deterministic, and in the sign of zeros.
TEST_P(EveryScatterReduceVariant, SubtractsAsItAddsNegatives) {
  std::size_t runs = 0;
  for (const value_type type : value_types) {
    reduce_trial t({"zipf", 9001, 3000, type, reduction::subtract, index_type::u32, false});
    for (std::uint64_t i = 0; i < t.c.count; i += 5) std::memset(t.in.record(i), 0, t.in.record_bytes);
    for (std::uint64_t s = 0; s < t.c.slots; s += 3) std::memset(t.before.record(s), 0, t.before.record_bytes);
    reduce_trial of_negatives = t;
    of_negatives.c.op = reduction::add;
    primitives::with_value(type, [&](auto zero) {
      using T = decltype(zero);
      for (std::uint64_t i = 0; i < t.c.count; ++i) {
        T value;
        std::memcpy(&value, t.in.record(i), sizeof value);
        if constexpr (std::is_floating_point_v<T>) {
          value = -value;
        } else {
          value = static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(value));
        }
        std::memcpy(of_negatives.in.record(i), &value, sizeof value);
      }
    });
    SCOPED_TRACE(t.c.description());
    for (const named_context& where : contexts_to_try(GetParam())) {
      SCOPED_TRACE(where.name);
      std::vector<std::byte> difference, sum;
      if (!run_variant(where.ctx, t, {.variant = GetParam()}, difference)) continue;
      ++runs;
      ASSERT_TRUE(run_variant(where.ctx, of_negatives, {.variant = GetParam()}, sum));
      EXPECT_TRUE(difference == sum);
    }
  }
  expect_runs(GetParam(), runs, std::size(value_types),
              {{"cpu.private", 4}, {"cuda.atomic", 4}, {"cuda.bucketed", 4}, {"opengl.blended", 1}});
}

TEST(ScatterReduce, DoesNothingForNoIndices) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const image kept = poisoned(100, 8, 8);
    const placed out(where.ctx, kept);
    scatter_reduce(where.ctx, const_values(nullptr, 0, value_type::f64), index_span(nullptr, 0, index_type::i32),
                   values(out.view().data, 100, value_type::f64), reduction::add);
    where.ctx.wait();
    expect_bytes(out.download(), kept, "out");
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_reduce_values_test
