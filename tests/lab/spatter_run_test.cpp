#include "lab/spatter/run.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::lab_spatter_run_test {
namespace {

using bench::spatter_config;
using bench::spatter_settings;
using testing::HasSubstr;

using words = std::vector<std::uint64_t>;
using places = std::map<std::uint64_t, std::uint64_t>;

// Every kernel, with repeats, wraps that do and do not divide a chunk, delta lists and places that go backwards.
constexpr const char* small_file = R"([
  {"pattern": "UNIFORM:8:3:NR", "count": 100},
  {"pattern": [5, 0, 5, 2], "delta": 1, "count": 301, "wrap": 7},
  {"pattern": [9, 4, 1], "deltas": [2, 0, 5, 1], "count": 203, "wrap": 2},
  {"pattern": [1, 0], "deltas": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], "count": 90},
  {"kernel": "Scatter", "pattern": "UNIFORM:8:3:NR", "count": 100, "wrap": 3},
  {"kernel": "Scatter", "pattern": [4, 0, 4, 1], "delta": 1, "count": 150, "wrap": 64},
  {"kernel": "Scatter", "pattern": [9, 4, 1], "deltas": [12, 0, 15, 11], "count": 77, "wrap": 5},
  {"kernel": "Scatter", "pattern": [0, 7], "delta": 0, "count": 40},
  {"kernel": "GS", "pattern-gather": [3, 3, 0], "pattern-scatter": [0, 8, 4], "delta-gather": 2, "delta-scatter": 9,
   "count": 120, "wrap": 9},
  {"kernel": "MultiGather", "pattern": "MS1:8:4:32", "pattern-gather": [2, 0, 1, 1], "pattern-size": 3, "count": 55},
  {"kernel": "MultiGather", "pattern": "MS1:8:4:32", "pattern-gather": [7, 0, 7, 3], "count": 55},
  {"kernel": "MultiScatter", "pattern": "LAPLACIAN:2:1:10", "pattern-scatter": [4, 0, 2], "count": 55, "wrap": 4}
])";

std::vector<spatter_config> small_configs() { return bench::parse_spatter(small_file, "small"); }

spatter_settings settings_of(std::uint64_t chunk_indices) {
  return {.runs = 1, .most_seconds = 1, .chunk_indices = chunk_indices, .verify = true, .variant = {}, .calls = {}};
}

std::vector<std::uint64_t> index_values(index_span index) {
  std::vector<std::uint64_t> values;
  for (std::uint64_t i = 0; i < index.count; ++i) {
    values.push_back(index.type == index_type::u32 ? static_cast<const std::uint32_t*>(index.data)[i]
                                                   : static_cast<const std::uint64_t*>(index.data)[i]);
  }
  return values;
}

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// What Spatter's loop reads, step by step.
words expected_gather(const spatter_config& c) {
  words dense;
  for (std::uint64_t i = 0; i < c.count; ++i) {
    for (const std::uint64_t place : c.gather.places) {
      dense.push_back(inputs::record_word(bench::gather_seed, place + c.gather.offset(i), 0));
    }
  }
  return dense;
}

// What each place may hold after Spatter's loop.
std::map<std::uint64_t, std::vector<std::uint64_t>> expected_scatter(const spatter_config& c) {
  std::map<std::uint64_t, std::vector<std::uint64_t>> sparse;
  for (std::uint64_t i = 0; i < c.count; ++i) {
    for (std::uint64_t j = 0; j < c.length(); ++j) {
      const std::uint64_t value =
          c.gathers() ? inputs::record_word(bench::gather_seed, c.gather.places[j] + c.gather.offset(i), 0)
                      : bench::dense_value(i % c.wrap, j, c.length());
      sparse[c.scatter.places[j] + c.scatter.offset(i)].push_back(value);
    }
  }
  return sparse;
}

class EverySpatterChunkLength : public testing::TestWithParam<std::uint64_t> {};

TEST_P(EverySpatterChunkLength, VerifiesOnEveryContext) {
  for (const named_context& named : every_context()) {
    bench::spatter_session session(named.ctx, settings_of(GetParam()));
    for (const spatter_config& c : small_configs()) {
      SCOPED_TRACE(named.name + ", configuration " + std::to_string(c.number));
      const bench::spatter_result result = session.run(c);
      ASSERT_TRUE(result.faults.has_value());
      EXPECT_EQ(result.faults->count, 0U) << result.faults->first;
      EXPECT_EQ(result.runs, 1U);
      EXPECT_GT(result.best_seconds, 0);
      EXPECT_FALSE(result.variant.empty());
    }
  }
}

TEST_P(EverySpatterChunkLength, GathersWhatSpattersLoopReads) {
  const context ctx = context::cpu(1);
  for (const spatter_config& c : small_configs()) {
    if (!c.gathers() || c.scatters()) continue;
    SCOPED_TRACE(c.number);
    words dense;
    spatter_settings settings = settings_of(GetParam());
    settings.calls.gather = [&](const context& on, const_records table, index_span index, records out,
                                const gather_options& options) {
      gather(on, table, index, out, options);
      for (std::uint64_t i = 0; i < out.count; ++i) dense.push_back(word_at(out.data + i * out.stride_bytes));
    };
    bench::spatter_session(ctx, settings).run(c);
    const words once = expected_gather(c);
    ASSERT_EQ(dense.size(), 2 * once.size()) << "the checked pass and the timed one";
    EXPECT_EQ(words(dense.begin(), dense.begin() + static_cast<std::ptrdiff_t>(once.size())), once);
    EXPECT_EQ(words(dense.begin() + static_cast<std::ptrdiff_t>(once.size()), dense.end()), once);
  }
}

TEST_P(EverySpatterChunkLength, ScattersWhatSpattersLoopWrites) {
  const context ctx = context::cpu(1);
  for (const spatter_config& c : small_configs()) {
    if (!c.scatters()) continue;
    SCOPED_TRACE(c.number);
    const std::byte* sparse = nullptr;
    places written;
    spatter_settings settings = settings_of(GetParam());
    settings.calls.scatter = [&](const context& on, const_records in, index_span index, records out,
                                 const scatter_options& options) {
      scatter(on, in, index, out, options);
      if (sparse == nullptr) sparse = out.data;
      const auto base = static_cast<std::uint64_t>(out.data - sparse) / 8;
      for (const std::uint64_t place : index_values(index)) written[base + place] = word_at(out.data + place * 8);
    };
    bench::spatter_session(ctx, settings).run(c);
    const auto expected = expected_scatter(c);
    ASSERT_EQ(written.size(), expected.size());
    for (const auto& [place, value] : written) {
      ASSERT_TRUE(expected.contains(place)) << place;
      EXPECT_THAT(expected.at(place), testing::Contains(value)) << place;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spatter, EverySpatterChunkLength, testing::Values(1, 7, 64, 100, std::uint64_t{1} << 26));

TEST(SpatterLayout, OneListServesEveryFullChunk) {
  const auto lay_out = [](const char* text, std::uint64_t chunk) {
    return bench::lay_out(bench::parse_spatter(text, "f").at(0), chunk);
  };
  const auto plain = lay_out(R"([{"pattern": "UNIFORM:4:1", "count": 100}])", 40);
  EXPECT_EQ(plain.rows, 10U);
  EXPECT_EQ(plain.dense_rows, 10U);
  const auto wrapped = lay_out(R"([{"pattern": "UNIFORM:4:1", "count": 100, "wrap": 3}])", 40);
  EXPECT_EQ(wrapped.rows, 9U);
  const auto listed = lay_out(R"([{"pattern": "UNIFORM:4:1", "count": 100, "wrap": 2, "deltas": [1, 2, 3]}])", 40);
  EXPECT_EQ(listed.rows, 6U);
  const auto long_wrap = lay_out(R"([{"pattern": "UNIFORM:4:1", "count": 100, "wrap": 64}])", 40);
  EXPECT_EQ(long_wrap.rows, 10U);
  EXPECT_EQ(long_wrap.dense_rows, 64U);
  const auto whole = lay_out(R"([{"pattern": "UNIFORM:4:1", "count": 10, "wrap": 64}])", 40);
  EXPECT_EQ(whole.rows, 10U);
  EXPECT_EQ(whole.dense_rows, 10U);
  const auto long_step = lay_out(R"([{"pattern": "UNIFORM:64:1", "count": 10}])", 40);
  EXPECT_EQ(long_step.rows, 1U);
}

TEST(SpatterLayout, ListsAreAsNarrowAsTheyCanBe) {
  const auto type_of = [](const char* text) {
    const spatter_config c = bench::parse_spatter(text, "f").at(0);
    return bench::list_type(c.gather, bench::lay_out(c, 1 << 20));
  };
  EXPECT_EQ(type_of(R"([{"pattern": [4294967295], "count": 1}])"), index_type::u32);
  EXPECT_EQ(type_of(R"([{"pattern": [4294967296], "count": 1}])"), index_type::u64);
  EXPECT_EQ(type_of(R"([{"pattern": [0], "delta": 4294967295, "count": 2}])"), index_type::u32);
  EXPECT_EQ(type_of(R"([{"pattern": [1], "delta": 4294967295, "count": 2}])"), index_type::u64);
}

TEST(SpatterRun, BandwidthCountsEightBytesForEveryEntryAndSparseArray) {
  bench::spatter_session session(context::cpu(1), settings_of(64));
  const auto configs = small_configs();
  EXPECT_EQ(session.run(configs[0]).bytes, 8U * 8 * 100);
  EXPECT_EQ(session.run(configs[8]).bytes, 2U * 8 * 3 * 120);
}

TEST(SpatterRun, RunsAsOftenAsItIsTold) {
  const auto configs = bench::parse_spatter(R"([{"pattern": [0]}, {"pattern": [0], "nruns": 3}])", "f");
  spatter_settings settings{
      .runs = 0, .most_seconds = 60, .chunk_indices = 1 << 20, .verify = false, .variant = {}, .calls = {}};
  bench::spatter_session says_nothing(context::cpu(1), settings);
  EXPECT_EQ(says_nothing.run(configs[0]).runs, 10U);
  EXPECT_EQ(says_nothing.run(configs[1]).runs, 3U);
  settings.runs = 5;
  EXPECT_EQ(bench::spatter_session(context::cpu(1), settings).run(configs[1]).runs, 5U);
  settings.most_seconds = 0;
  EXPECT_EQ(bench::spatter_session(context::cpu(1), settings).run(configs[1]).runs, 1U);
}

TEST(SpatterRun, ForcesAVariant) {
  spatter_settings settings = settings_of(64);
  settings.variant = "reference.serial";
  bench::spatter_session session(context::cpu(1), settings);
  EXPECT_EQ(session.run(small_configs()[8]).variant, "reference.serial + reference.serial");
}

TEST(SpatterRun, SaysHowMuchMemoryIsMissing) {
  const auto configs =
      bench::parse_spatter(R"([{"kernel": "Scatter", "pattern": [0], "count": 281474976710656, "delta": 8}])", "f");
  bench::spatter_session session(context::cpu(1), settings_of(1 << 20));
  EXPECT_THAT(message_of(error_code::out_of_memory, [&] { session.run(configs[0]); }),
              testing::MatchesRegex("needs 18014[0-9]+ bytes of host memory, but [0-9]+ are available"));
}

// What is wrong with the first pass if every call of the library is followed by `spoil`.
bench::spatter_faults faults_of(const char* text, const std::function<void(const_records, records)>& spoil) {
  spatter_settings settings = settings_of(24);
  settings.calls.gather = [&](const context& on, const_records table, index_span index, records out,
                              const gather_options& options) {
    gather(on, table, index, out, options);
    spoil(table, out);
  };
  settings.calls.scatter = [&](const context& on, const_records in, index_span index, records out,
                               const scatter_options& options) {
    scatter(on, in, index, out, options);
    spoil(in, out);
  };
  return *bench::spatter_session(context::cpu(2), settings).run(bench::parse_spatter(text, "f").at(0)).faults;
}

TEST(SpatterVerify, SeesAWrongGatherInAnyChunk) {
  int call = 0;
  const auto faults = faults_of(R"([{"pattern": "UNIFORM:4:1:NR", "count": 20}])", [&](const_records, records out) {
    if (++call == 2) out.data[9 * 8] ^= std::byte{1};
  });
  EXPECT_EQ(faults.count, 1U);
  EXPECT_EQ(faults.first, "step 8, entry 1 is not sparse[33]");
}

TEST(SpatterVerify, SeesACallThatDoesNothing) {
  spatter_settings settings = settings_of(24);
  settings.calls.gather = [](auto&&...) {};
  settings.calls.scatter = [](auto&&...) {};
  for (const spatter_config& c : small_configs()) {
    const auto faults = *bench::spatter_session(context::cpu(2), settings).run(c).faults;
    EXPECT_EQ(faults.count, c.scatters() ? expected_scatter(c).size() : c.count * c.length()) << c.number;
  }
}

TEST(SpatterVerify, SeesAScatterThatMissesAPlace) {
  const auto faults = faults_of(R"([{"kernel": "Scatter", "pattern": [0, 2], "delta": 4, "count": 12}])",
                                [](const_records, records out) { out.data[2 * 8] ^= std::byte{1}; });
  EXPECT_EQ(faults.count, 1U);
  EXPECT_EQ(faults.first, "sparse[2] does not hold what any of its writers wrote");
}

TEST(SpatterVerify, SeesAScatterThatWritesBesidesItsPlaces) {
  const auto faults = faults_of(R"([{"kernel": "Scatter", "pattern": [0, 2], "delta": 4, "count": 20}])",
                                [](const_records, records out) { out.data[3 * 8] ^= std::byte{1}; });
  EXPECT_EQ(faults.count, 2U) << "one in each of two chunks";
  EXPECT_EQ(faults.first, "sparse[3] changed, but nothing writes there");
}

TEST(SpatterVerify, SeesTheValueOfAnotherPlace) {
  const auto faults =
      faults_of(R"([{"kernel": "Scatter", "pattern": [0, 1], "delta": 2, "count": 5}])",
                [](const_records, records out) { std::swap_ranges(out.data, out.data + 8, out.data + 8); });
  EXPECT_EQ(faults.count, 2U);
}

TEST(SpatterVerify, ChecksWindowsApart) {
  const context ctx = context::cpu(2);
  const spatter_config c =
      bench::parse_spatter(R"([{"kernel": "Scatter", "pattern": [70, 0, 70, 3], "delta": 2, "count": 100, "wrap": 3}])",
                           "f")
          .at(0);
  const bench::spatter_layout layout = bench::lay_out(c, 1 << 20);
  words sparse(c.scatter.extent(c.count));
  for (std::uint64_t k = 0; k < sparse.size(); ++k) sparse[k] = inputs::record_word(bench::scatter_seed, k, 0);
  for (const auto& [place, values] : expected_scatter(c)) sparse[place] = values.front();
  for (const std::uint64_t window : {64, 128, 192, 256, 320}) {
    bench::spatter_faults right;
    bench::check_scattered(ctx, c, layout, sparse.data(), window, right);
    EXPECT_EQ(right.count, 0U) << right.first;
    words spoilt = sparse;
    spoilt.front() ^= 1;
    spoilt.back() ^= 1;
    spoilt[65] ^= 1;
    bench::spatter_faults wrong;
    bench::check_scattered(ctx, c, layout, spoilt.data(), window, wrong);
    EXPECT_EQ(wrong.count, 3U);
    EXPECT_THAT(wrong.first, HasSubstr("sparse[0] "));
  }
}

}  // namespace
}  // namespace sheaf::tests::lab_spatter_run_test
