#include <sheaf/gather_reduce.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "primitives/reduce/gather.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/trials/rows.hpp"

namespace sheaf::tests::primitives_reduce_gather_test {
namespace {

struct gather_case {
  std::uint64_t table = 100;
  std::uint64_t segments = 50;
  std::uint64_t longest = 8;  ///< entries of a segment, but for one that has ten times as many
  std::uint64_t width = 4;
  value_type in = value_type::f32;
  value_type out = value_type::f32;
  reduction op = reduction::add;
  reduction_start start = reduction_start::identity;
  index_type index = index_type::u32;
  index_type offset = index_type::u64;
  std::uint64_t gap = 0;
  bool has_weights = false;
  bool wide_weights = false;  ///< f32 with f16 and bf16

  value_type weight() const { return wide_weights && bytes(in) == 2 ? value_type::f32 : in; }
  std::string description() const {
    return fmt::format("{} {}>{} x{}+{} table={} segments={} longest={} through {} {} start={}{}", primitives::name(op),
                       primitives::name(in), primitives::name(out), width, gap, table, segments, longest,
                       primitives::name(index), primitives::name(offset), static_cast<int>(start),
                       has_weights ? " weights" : "");
  }
};

/// Memory of a case. Entries in front of the first segment and behind the last are left out of all.
struct gather_trial {
  gather_case c;
  image table, index, offsets, weights, before, after;
  std::vector<double> slack;
  std::vector<std::uint64_t> begins;

  explicit gather_trial(const gather_case& from, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad = {},
                        const std::vector<std::pair<std::uint64_t, std::uint64_t>>& bad_offsets = {})
      : c(from) {
    std::uint64_t place = 3;
    for (std::uint64_t s = 0; s <= c.segments; ++s) {
      begins.push_back(place);
      if (s == c.segments) break;
      const std::uint64_t bits = inputs::mix(s * 977 + c.width);
      place += s == c.segments / 2 ? 10 * c.longest : bits % 3 == 0 ? 0 : bits % (c.longest + 1);
    }
    const std::uint64_t entries = place + 2;
    index = poisoned(entries, bytes(c.index), bytes(c.index), 0, false);
    for (std::uint64_t j = 0; j < entries; ++j) set_entry(index, j, inputs::mix(j + 5) % c.table);
    for (const auto& [position, value] : bad) set_entry(index, position, value);
    for (const auto& [position, value] : bad_offsets) begins[position] = value;
    offsets = poisoned(c.segments + 1, bytes(c.offset), bytes(c.offset), 0, false);
    for (std::uint64_t s = 0; s <= c.segments; ++s) set_entry(offsets, s, begins[s]);
    table = rows_of(c.table, c.in, 1000, c.width, c.gap);
    weights = rows_of(c.has_weights ? entries : 0, c.weight(), 77, 1, 0);
    before = after = rows_of(c.segments, c.out, 1U << 30, c.width, c.gap);
    slack.assign(c.segments * c.width, 0);
    for (std::uint64_t s = 0; s < c.segments; ++s) {
      for (std::uint64_t k = 0; k < c.width; ++k) end_value(s, k);
    }
  }

  std::uint64_t entry(std::uint64_t j) const {
    std::uint64_t row = 0;
    std::memcpy(&row, index.record(j), index.record_bytes);
    return row;
  }

 private:
  image rows_of(std::uint64_t count, value_type type, std::uint64_t seed, std::uint64_t width,
                std::uint64_t gap) const {
    image made = poisoned(count, width * bytes(type), (width + gap) * bytes(type));
    for (std::uint64_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < width; ++k) {
        put_number(type, made.record(i) + k * bytes(type), row_number(type, (seed + i) * 70001 + k, c.op));
      }
    }
    return made;
  }

  void end_value(std::uint64_t s, std::uint64_t k) {
    std::vector<number> numbers;
    const bool is_segment = begins[s] <= begins[s + 1] && begins[s + 1] <= index.count;
    for (std::uint64_t j = begins[s]; is_segment && j < begins[s + 1]; ++j) {
      if (entry(j) >= c.table) continue;
      number n = number_at(c.in, table.record(entry(j)) + k * bytes(c.in));
      if (c.has_weights) n.real *= number_at(c.weight(), weights.record(j)).real;
      numbers.push_back(n);
    }
    slack[s * c.width + k] = end_of_value(c.out, c.op, c.start, after.record(s) + k * bytes(c.out), numbers);
  }
};

bool run(const context& ctx, const gather_trial& t, std::string_view variant, std::vector<std::byte>& got) {
  const placed table(ctx, t.table);
  const placed index(ctx, t.index);
  const placed offsets(ctx, t.offsets);
  const placed weights(ctx, t.weights);
  const placed out(ctx, t.before);
  try {
    gather_reduce(
        ctx, const_value_rows(table.view().data, t.c.table, t.c.width, t.c.in, t.table.stride_bytes),
        index.index(t.c.index), offsets.index(t.c.offset),
        value_rows(out.view().data, t.c.segments, t.c.width, t.c.out, t.before.stride_bytes), t.c.op,
        {.start = t.c.start,
         .weights = t.c.has_weights ? const_values(weights.view().data, t.weights.count, t.c.weight()) : const_values{},
         .variant = variant});
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  got = out.download();
  expect_bytes(table.download(), t.table, "table");
  expect_bytes(index.download(), t.index, "index");
  expect_bytes(offsets.download(), t.offsets, "offsets");
  return true;
}

void expect_out(const std::vector<std::byte>& got, const gather_trial& t) {
  image expected = t.after;
  image found = expected;
  found.bytes = got;
  const std::uint64_t width = bytes(t.c.out);
  for (std::uint64_t v = 0; v < t.slack.size() && got.size() == expected.bytes.size(); ++v) {
    std::byte* const is = found.record(v / t.c.width) + v % t.c.width * width;
    std::byte* const should = expected.record(v / t.c.width) + v % t.c.width * width;
    const double far = std::fabs(number_at(t.c.out, is).real - number_at(t.c.out, should).real);
    if (t.slack[v] > 0 && far <= t.slack[v]) std::memcpy(should, is, width);
  }
  expect_bytes(got, expected, "out");
}

std::vector<gather_case> gather_cases() {
  constexpr index_type indices[] = {index_type::u32, index_type::i64, index_type::i32, index_type::u64};
  constexpr std::uint64_t widths[] = {1, 3, 4, 7, 16, 17, 64, 2};
  std::vector<gather_case> cases;
  std::uint64_t turn = 0;
  for (const auto& [in, out] : combined_types()) {
    for (const auto& op : primitives::reductions) {
      if (op.value == reduction::subtract) continue;
      for (const reduction_start start : {reduction_start::identity, reduction_start::out}) {
        const bool may_weigh = primitives::is_float(in) && (op.value == reduction::add || op.value == reduction::mean);
        cases.push_back({90, 40 + turn % 7, turn % 5 == 0 ? 300U : 9U, widths[turn % 8], in, out, op.value, start,
                         indices[turn % 4], indices[turn / 4 % 4], turn % 3, may_weigh && turn % 3 != 0,
                         turn % 2 == 0});
        ++turn;
      }
    }
  }
  for (const bool weights : {false, true}) {
    for (const std::uint64_t width : widths) {
      cases.push_back({5000, 3000, 20, width, value_type::f32, value_type::f32, reduction::add,
                       reduction_start::identity, index_type::u32, index_type::u32, 0, weights});
      cases.push_back({700, 1, 500, width, value_type::f64, value_type::f64, reduction::mean, reduction_start::out,
                       index_type::u32, index_type::u32, 1, weights});
    }
  }
  cases.push_back({1, 0, 0, 1});
  cases.push_back({3, 5, 0, 6});
  return cases;
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::gather_reduce_variants()) names.emplace_back(v.name);
  return names;
}

class EveryGatherReduceVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  }
};

TEST_P(EveryGatherReduceVariant, CombinesTheRowsOfEverySegment) {
  std::size_t runs = 0;
  const std::vector<gather_case> cases = gather_cases();
  for (const gather_case& c : cases) {
    const gather_trial t(c);
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      SCOPED_TRACE(fmt::format("{} on {}", c.description(), name));
      std::vector<std::byte> got;
      if (!run(ctx, t, GetParam(), got)) continue;
      ++runs;
      ctx.wait();
      expect_out(got, t);
      if (testing::Test::HasFailure()) return;
    }
  }
  expect_runs(GetParam(), runs, cases.size() - 1);
}

TEST_P(EveryGatherReduceVariant, HasTheSameBitsForEveryNumberOfThreads) {
  const gather_trial t({900, 30, 2000, 12, value_type::f32, value_type::f32, reduction::add, reduction_start::identity,
                        index_type::u32, index_type::u32, 0, true});
  std::vector<std::byte> first;
  for (const int threads : {1, 2, 3, 5, 8}) {
    std::vector<std::byte> got;
    if (!run(context::cpu(threads), t, GetParam(), got)) return;
    if (first.empty()) first = got;
    EXPECT_EQ(got, first) << threads << " threads";
  }
}

TEST_P(EveryGatherReduceVariant, LeavesBadEntriesOutAndNamesTheFirst) {
  for (const reduction op : {reduction::add, reduction::mean, reduction::count}) {
    // Entry 1 is in no segment.
    const gather_case c{90,
                        40,
                        300,
                        5,
                        value_type::f32,
                        value_type::f32,
                        op,
                        reduction_start::identity,
                        index_type::i32,
                        index_type::i64};
    const gather_trial t(c, {{700, 90}, {61, ~std::uint64_t{0}}, {1, 99}});
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      SCOPED_TRACE(name);
      std::vector<std::byte> got;
      if (!run(ctx, t, GetParam(), got)) continue;
      expect_error(error_code::bad_index, "gather_reduce: index[61] is -1, outside the table's 90 rows",
                   [&ctx = ctx] { ctx.wait(); });
      expect_out(got, t);
    }
  }
}

TEST_P(EveryGatherReduceVariant, TakesBadSegmentsForEmptyAndNamesTheFirst) {
  const gather_case c{90,
                      40,
                      9,
                      5,
                      value_type::f32,
                      value_type::f32,
                      reduction::add,
                      reduction_start::identity,
                      index_type::u32,
                      index_type::i64};
  const gather_trial good(c);
  const std::uint64_t entries = good.index.count;
  const struct {
    std::uint64_t at, value;
    std::string message;
  } faults[] = {
      {7, entries + 5, fmt::format("segment 6 ends at {}, past the index's {} entries", entries + 5, entries)},
      {0, ~std::uint64_t{0}, fmt::format("segment 0 begins at -1, outside the index's {} entries", entries)},
      {20, 0, fmt::format("segment 19 begins at {} and ends at 0, before it begins", good.begins[19])}};
  for (const auto& fault : faults) {
    const gather_trial t(c, {{61, 90}}, {{fault.at, fault.value}});
    for (const auto& [name, ctx] : contexts_to_try(GetParam())) {
      SCOPED_TRACE(name);
      std::vector<std::byte> got;
      if (!run(ctx, t, GetParam(), got)) continue;
      expect_error(error_code::bad_index, "gather_reduce: " + fault.message, [&ctx = ctx] { ctx.wait(); });
      expect_out(got, t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(GatherReduce, EveryGatherReduceVariant, testing::ValuesIn(variant_names()), test_name_of);

class GatherReduceArguments : public testing::Test {
 protected:
  void refuses(const std::string& message, const_value_rows table, index_span list, index_span bounds, value_rows to,
               reduction op = reduction::add, const gather_reduce_options& o = {}) {
    expect_error(error_code::bad_argument, "gather_reduce: " + message,
                 [&] { gather_reduce(ctx, table, list, bounds, to, op, o); });
  }
  const_value_rows in() const { return {numbers.data(), 4, 3, value_type::f32}; }
  value_rows out() { return {sums.data(), 2, 3, value_type::f32}; }

  context ctx = context::cpu(2);
  std::vector<float> numbers = std::vector<float>(64);
  std::vector<float> sums = std::vector<float>(64);
  std::vector<std::uint32_t> index{0, 1, 2, 3};
  std::vector<std::uint64_t> offsets{0, 1, 4};
};

TEST_F(GatherReduceArguments, MustFitTogether) {
  refuses("3 offsets for 3 rows of out, not one more", in(), index, offsets, {sums.data(), 3, 3, value_type::f32});
  refuses("table has rows of 2 values, but out has 3", {numbers.data(), 4, 2, value_type::f32}, index, offsets, out());
  refuses("table has values of type f32, but out has f64", in(), index, offsets, {sums.data(), 2, 3, value_type::f64});
  refuses("the reduction is subtract, which it does not have", in(), index, offsets, out(), reduction::subtract);
  refuses("weights go with add and mean, not with max", in(), index, offsets, out(), reduction::max,
          {.weights = numbers});
  refuses("weights has 64 values for 4 entries of index", in(), index, offsets, out(), reduction::add,
          {.weights = numbers});
  refuses("weights has values of type f64, but table has f32", in(), index, offsets, out(), reduction::add,
          {.weights = const_values(numbers.data(), 4, value_type::f64)});
  refuses("weights go with floats, but table has values of type i32", {numbers.data(), 4, 3, value_type::i32}, index,
          offsets, {sums.data(), 2, 3, value_type::i32}, reduction::add,
          {.weights = const_values(numbers.data(), 4, value_type::f32)});
  refuses("out overlaps table", in(), index, offsets, {numbers.data(), 2, 3, value_type::f32});
  refuses("out overlaps offsets", in(), index, offsets, {offsets.data(), 2, 3, value_type::f32});
}

}  // namespace
}  // namespace sheaf::tests::primitives_reduce_gather_test
