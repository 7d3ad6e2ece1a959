#include <sheaf/scatter.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/movement/scatter.hpp"
#include "support/cases/movement.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::primitives_movement_scatter_test {
namespace {

// Input and output of a scatter before the call, and the output that the reference makes.
struct scatter_trial {
  index_type type;
  image in;
  image index;
  image out;
  image expected;
};

scatter_trial prepare(const movement_case& c) {
  scatter_trial t{c.index,
                  filled(c.count, c.record_bytes, c.record_bytes + c.sequential_padding, c.sequential_misalignment, 7),
                  index_list(c.pattern, c.indexed_count, c.count, c.index),
                  poisoned(c.indexed_count, c.record_bytes, c.record_bytes + c.indexed_padding, c.indexed_misalignment),
                  {}};
  t.expected = t.out;
  scatter(context::cpu(1), std::as_const(t.in).view(), index_view(t.index, t.type), t.expected.view(),
          {.variant = "reference.serial"});
  return t;
}

enum class outcome { refused, ran };

// Runs the variant and leaves its output in `got`. It refuses a problem only with no_variant.
outcome run_variant(const context& ctx, const scatter_trial& t, const scatter_options& options,
                    std::vector<std::byte>& got) {
  const placed in(ctx, t.in);
  const placed index(ctx, t.index);
  const placed out(ctx, t.out);
  const auto call = [&] { scatter(ctx, in.view(), index.index(t.type), out.view(), options); };
  const explanation why = explain_scatter(ctx, in.view(), index.index(t.type), out.view(), options);
  if (why.choice() == nullptr && t.in.count > 0) {
    message_of(error_code::no_variant, call);
    return outcome::refused;
  }
  call();
  ctx.wait();
  got = out.download();
  expect_bytes(in.download(), t.in, "in");
  expect_bytes(index.download(), t.index, "index");
  return outcome::ran;
}

bool try_variant(const context& ctx, const scatter_trial& t, const scatter_options& options) {
  std::vector<std::byte> got;
  if (run_variant(ctx, t, options, got) == outcome::refused) return false;
  expect_bytes(got, t.expected, "out");
  return true;
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::scatter_variants()) names.emplace_back(v.name);
  return names;
}

class EveryScatterVariant : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Scatter, EveryScatterVariant, testing::ValuesIn(variant_names()), test_name_of);

TEST_P(EveryScatterVariant, MatchesReferenceBitForBit) {
  if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  const auto contexts = contexts_to_try(GetParam());
  std::size_t runs = 0;
  bool hinted = false;
  const std::vector<movement_case> cases = movement_cases(true);
  for (const movement_case& c : cases) {
    SCOPED_TRACE(c.description());
    const scatter_trial trial = prepare(c);
    hinted = !hinted;
    for (const named_context& where : contexts) {
      SCOPED_TRACE(where.name);
      const access_pattern pattern = hinted ? hint(c.pattern) : access_pattern::unknown();
      if (try_variant(where.ctx, trial, {.pattern = pattern, .variant = GetParam()})) ++runs;
    }
    if (HasFailure()) break;
  }
  expect_runs(GetParam(), runs, cases.size(),
              {{"cpu.bucketed", 242},
               {"cuda.direct", 153},
               {"cuda.adaptive", 121},
               {"cuda.bucketed", 153},
               {"cuda.bucketed_last", 0},
               {"opengl.points", 127}});
}

TEST_P(EveryScatterVariant, TrustsGoodIndices) {
  if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  std::size_t runs = 0;
  for (const std::uint64_t width : {1, 4, 16, 24, 100}) {
    for (const index_type type : index_types) {
      const movement_case c{inputs::parse_pattern("permutation"), type, 9001, 12345, width};
      SCOPED_TRACE(c.description());
      const scatter_trial trial = prepare(c);
      for (const named_context& where : contexts_to_try(GetParam())) {
        SCOPED_TRACE(where.name);
        if (try_variant(where.ctx, trial, {.bounds = bounds::trust, .variant = GetParam()})) ++runs;
      }
    }
  }
  expect_runs(GetParam(), runs, 5 * std::size(index_types),
              {{"cpu.bucketed", 16},
               {"cuda.direct", 12},
               {"cuda.adaptive", 8},
               {"cuda.bucketed", 12},
               {"cuda.bucketed_last", 0},
               {"opengl.points", 8}});
}

// Index lists that repeat: onto one record, onto 100, seldom, and by a Zipf distribution.
std::vector<movement_case> repeat_cases(const std::vector<std::uint64_t>& widths) {
  std::vector<movement_case> cases;
  rotation<index_type> types({std::begin(index_types), std::end(index_types)});
  for (const std::uint64_t width : widths) {
    cases.push_back({inputs::parse_pattern("same"), types.next(), 9001, 3, width});
    cases.push_back({inputs::parse_pattern("uniform"), types.next(), 20011, 100, width});
    cases.push_back({inputs::parse_pattern("uniform"), types.next(), 9001, 10007, width});
    cases.push_back({inputs::parse_pattern("zipf"), types.next(), 20011, 30011, width});
    types.next();
  }
  return cases;
}

// Lists that repeat, with packed records and with misaligned, padded ones.
std::vector<movement_case> last_cases() {
  std::vector<movement_case> cases = repeat_cases({1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 32, 64, 100});
  for (movement_case c : repeat_cases({4, 16, 24})) {
    c.indexed_padding = 5;
    c.sequential_padding = 16;
    c.indexed_misalignment = 1;
    cases.push_back(c);
  }
  return cases;
}

TEST_P(EveryScatterVariant, LastWriterWinsWhereAsked) {
  if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  std::size_t runs = 0;
  const std::vector<movement_case> cases = last_cases();
  for (const movement_case& c : cases) {
    SCOPED_TRACE(c.description());
    const scatter_trial trial = prepare(c);
    for (const named_context& where : contexts_to_try(GetParam())) {
      SCOPED_TRACE(where.name);
      const scatter_options options{.duplicates = duplicates::last, .variant = GetParam()};
      if (try_variant(where.ctx, trial, options)) ++runs;
    }
  }
  // Most variants refuse duplicates::last, but the planner always finds one that does not.
  expect_runs(GetParam(), runs, cases.size(),
              {{"cpu.direct", 0},
               {"cpu.by_page", 0},
               {"cpu.bucketed", 0},
               {"cpu.multipass", 0},
               {"cuda.direct", 0},
               {"cuda.collective", 0},
               {"cuda.thread_per_record", 0},
               {"cuda.lane_rule", 0},
               {"cuda.multipass", 0},
               {"cuda.adaptive", 0},
               {"cuda.bucketed", 0},
               {"cuda.bucketed_last", 8},
               {"opengl.points", 24}});
}

TEST(Scatter, SomeVariantOfEachBackendLetsTheLastWriterWin) {
  const index_span index(nullptr, 1000, index_type::u32);
  for (const named_context& where : every_context()) {
    const auto why =
        explain_scatter(where.ctx, {nullptr, 1000, 8}, index, {nullptr, 9, 8}, {.duplicates = duplicates::last});
    std::size_t accepting = 0;
    for (const variant_estimate& v : why.variants) accepting += v.applicable ? 1 : 0;
    EXPECT_GE(accepting, 1U) << where.name;
    EXPECT_NE(why.choice(), nullptr) << where.name;
  }
}

// Every record that the index names is one writer's, whole. The other records keep their value.
void expect_one_writer_each(const std::vector<std::byte>& got, const scatter_trial& t, std::uint64_t width) {
  std::multimap<std::uint64_t, std::uint64_t> writers;
  for (std::uint64_t i = 0; i < t.index.count; ++i) {
    std::uint64_t to = 0;
    std::memcpy(&to, t.index.record(i), t.index.record_bytes);
    writers.emplace(to, i);
  }
  image checked = t.out;
  for (std::uint64_t r = 0; r < t.out.count; ++r) {
    const std::byte* record = got.data() + (t.out.record(r) - t.out.bytes.data());
    const auto [first, last] = writers.equal_range(r);
    if (first == last) continue;
    const bool known =
        std::any_of(first, last, [&](const auto& w) { return std::memcmp(record, t.in.record(w.second), width) == 0; });
    ASSERT_TRUE(known) << "record " << r << " is no writer's";
    std::memcpy(checked.record(r), record, width);
  }
  expect_bytes(got, checked, "what no index names");
}

TEST_P(EveryScatterVariant, AnyWriterWinsWhole) {
  if (!can_run_here(GetParam())) GTEST_SKIP() << "no device here for " << GetParam();
  std::size_t runs = 0;
  const std::vector<movement_case> cases = repeat_cases({1, 2, 4, 8, 16});
  for (const movement_case& c : cases) {
    SCOPED_TRACE(c.description());
    const scatter_trial trial = prepare(c);
    for (const named_context& where : contexts_to_try(GetParam())) {
      // The contract lets threads race for a record, which the sanitizer rightly calls a race.
      if (under_thread_sanitizer && where.ctx.threads() > 1) continue;
      SCOPED_TRACE(where.name);
      std::vector<std::byte> got;
      if (run_variant(where.ctx, trial, {.variant = GetParam()}, got) == outcome::refused) continue;
      ASSERT_NO_FATAL_FAILURE(expect_one_writer_each(got, trial, c.record_bytes));
      ++runs;
    }
  }
  if (!under_thread_sanitizer)
    expect_runs(GetParam(), runs, cases.size(),
                {{"cuda.adaptive", 16}, {"cuda.bucketed_last", 0}, {"opengl.points", 12}});
}

// Records in rows that are wider, so that neither side is packed; all writers want one record of two.
TEST(Scatter, AnyWriterOfPaddedRecordsWinsWhole) {
  if (under_thread_sanitizer) GTEST_SKIP() << "the contract lets threads race for a record";
  const context ctx = context::cpu(2);
  constexpr std::uint64_t count = 1 << 17;
  constexpr std::uint64_t stride = 32;
  const std::vector<std::uint32_t> index(count, 1);
  for (const std::uint64_t width : {2, 4, 8, 16}) {
    SCOPED_TRACE(width);
    struct alignas(16) row {
      std::byte bytes[stride];
    };
    std::vector<row> in(count);
    for (std::uint64_t i = 0; i < count; ++i) std::memset(in[i].bytes, static_cast<int>(i / 512), stride);
    std::vector<row> out(2);
    for (int round = 0; round < 20; ++round) {
      scatter(ctx, const_records(in.data(), count, width, stride), index_span(index),
              records(out.data(), 2, width, stride), {.variant = "cpu.direct"});
      ctx.wait();
      for (std::uint64_t i = 1; i < width; ++i) ASSERT_EQ(out[1].bytes[i], out[1].bytes[0]) << "byte " << i;
      for (std::uint64_t i = width; i < stride; ++i) ASSERT_EQ(out[1].bytes[i], std::byte{0}) << "byte " << i;
    }
  }
}

TEST(Scatter, OfOneWideRecordHasNoIdleThreadLookAtTheList) {
  const context ctx = context::cpu(4);
  constexpr std::uint64_t stride = 65536;
  const std::vector<std::uint32_t> in(stride / sizeof(std::uint32_t), 7);
  const std::vector<std::uint32_t> index(1, 1);
  std::vector<std::uint32_t> out(2);
  scatter(ctx, const_records(in.data(), 1, sizeof(std::uint32_t), stride), index_span(index),
          records(out.data(), 2, sizeof(std::uint32_t)), {.variant = "cpu.direct"});
  ctx.wait();
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 7}));
}

TEST(Scatter, TakesTypedSpans) {
  const context ctx = context::cpu(2);
  const std::vector<float> in{1, 2, 3};
  const std::vector<std::int64_t> index{4, 0, 2};
  std::vector<float> out(5, 9);
  scatter(ctx, std::span(in), std::span(index), std::span(out));
  ctx.wait();
  EXPECT_EQ(out, (std::vector<float>{2, 9, 3, 9, 1}));
}

TEST(Scatter, DoesNothingForNoIndices) {
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const image kept = poisoned(100, 8, 8);
    const placed out(where.ctx, kept);
    scatter(where.ctx, const_records(nullptr, 0, 8), index_span(nullptr, 0, index_type::i32), out.view());
    where.ctx.wait();
    expect_bytes(out.download(), kept, "out");
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_movement_scatter_test
