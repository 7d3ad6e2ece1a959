#include "support/problem_names.hpp"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/contexts.hpp"

namespace sheaf::tests {
namespace {

using primitives::sort_problem;
using primitives::sort_product;
using primitives::sorted_array;

sort_problem sort_of(const std::string& name) { return sort_named(problem_name(name), backend_kind::cuda); }

TEST(ProblemNames, SayWhatKeysAreSorted) {
  const sort_problem p = sort_of("sort_keys/uniform/r4/f32/n=4096");
  EXPECT_EQ(p.backend, backend_kind::cuda);
  EXPECT_EQ(p.product, sort_product::records);
  EXPECT_EQ(p.count, 4096U);
  EXPECT_EQ(p.key.field_count, 1U);
  EXPECT_EQ(p.key.bits, 32U);
  EXPECT_EQ(p.key.fields[0], (key_field{0, 4, key_type::floating, false, 0, 32}));
  EXPECT_EQ(p.rows, (sorted_array{4, 4, 4, 4}));
  EXPECT_TRUE(p.writes_rows);
  EXPECT_EQ(p.column_count, 0U);
  EXPECT_EQ(sort_of("sort_keys/zipf/r16/u128/n=65536").rows, (sorted_array{16, 16, 16, 16}));
  EXPECT_EQ(sort_of("sort_keys/nested/r12/u96/n=65536").rows, (sorted_array{12, 12, 12, 4}));
  EXPECT_EQ(sort_of("sort_keys/nested/r4/i32/n=65536").key.fields[0].type, key_type::signed_integer);
}

TEST(ProblemNames, SayWhichBitsDecide) {
  const sort_problem p = sort_of("sort_keys/nested:b8-15/r8/u64/n=268435456");
  EXPECT_EQ(p.count, 268435456U);
  EXPECT_EQ(p.key.bits, 8U);
  EXPECT_EQ(p.key.fields[0], (key_field{0, 8, key_type::unsigned_integer, false, 8, 8}));
}

TEST(ProblemNames, SayWhatValuesGoAlongWithKeys) {
  const sort_problem p = sort_of("sort_pairs/zipf/r16/u64/n=1048576");
  EXPECT_EQ(p.product, sort_product::records);
  EXPECT_EQ(p.key.bits, 64U);
  EXPECT_EQ(p.rows, (sorted_array{8, 8, 8, 8}));
  EXPECT_TRUE(p.writes_rows);
  EXPECT_EQ(p.column_count, 1U);
  EXPECT_EQ(p.columns[0], (sorted_array{16, 16, 16, 16}));
}

TEST(ProblemNames, SayWhatRecordsAreSorted) {
  const sort_problem p = sort_of("sort_records/uniform/r100/bytes10/n=16777216");
  EXPECT_EQ(p.key.bits, 80U);
  EXPECT_EQ(p.key.fields[0], (key_field{0, 10, key_type::bytes, false, 0, 80}));
  EXPECT_EQ(p.rows, (sorted_array{100, 100, 100, 4}));
  EXPECT_EQ(p.column_count, 0U);
}

TEST(ProblemNames, SayWhatIndexIsWritten) {
  const sort_problem p = sort_of("sort_gather_index/uniform/r4/u64/n=65536");
  EXPECT_EQ(p.product, sort_product::gather_index);
  EXPECT_EQ(p.index, index_type::u32);
  EXPECT_EQ(p.rows, (sorted_array{8, 8, 0, 8}));
  EXPECT_FALSE(p.writes_rows);
  EXPECT_EQ(p.column_count, 0U);
  EXPECT_EQ(sort_of("sort_gather_index/uniform/r8/u32/n=65536").index, index_type::u64);
}

// The call that a name stands for is planned from the same problem: every variant has the same price.
TEST(ProblemNames, OfSortsArePlannedAsTheirCalls) {
  const context ctx = context::cpu(2);
  constexpr std::uint64_t n = 1 << 20;
  const auto rows = [](std::uint64_t width) { return records(nullptr, n, width); };
  const auto pairs = [&](std::uint64_t key_bytes, const key_field& key, std::uint64_t value_bytes) {
    const sort_column values{rows(value_bytes), rows(value_bytes)};
    return explain_sort_pairs(ctx, rows(key_bytes), key, true, std::span(&values, 1));
  };
  const std::pair<std::string, explanation> calls[] = {
      {"sort_keys/uniform/r4/u32/n=1048576", explain_sort(ctx, rows(4), sort_key::of<std::uint32_t>())},
      {"sort_keys/zipf/r8/f64/n=1048576", explain_sort(ctx, rows(8), sort_key::of<double>())},
      {"sort_keys/uniform/r12/u96/n=1048576", explain_sort(ctx, rows(12), key_field{0, 12})},
      {"sort_keys/uniform:b8-15/r4/u32/n=1048576",
       explain_sort(ctx, rows(4), key_field{0, 4, key_type::unsigned_integer, false, 8, 8})},
      {"sort_pairs/uniform/r4/u32/n=1048576", pairs(4, {0, 4}, 4)},
      {"sort_pairs/nested/r16/u64/n=1048576", pairs(8, {0, 8}, 16)},
      {"sort_records/uniform/r100/bytes10/n=1048576", explain_sort(ctx, rows(100), key_field{0, 10, key_type::bytes})},
      {"sort_gather_index/uniform/r4/u64/n=1048576",
       explain_sort_gather_index(ctx, rows(8), sort_key::of<std::uint64_t>(), index_type::u32)},
  };
  for (const auto& [name, why] : calls) {
    const sort_problem p = sort_named(problem_name(name), backend_kind::cpu);
    const auto variants = primitives::sort_variants();
    ASSERT_EQ(why.variants.size(), variants.size());
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const plan::planned plan = variants[i].plan(p, ctx.profile());
      EXPECT_EQ(plan.applicable(), why.variants[i].applicable) << name << ": " << variants[i].name;
      EXPECT_EQ(plan.seconds, why.variants[i].seconds) << name << ": " << variants[i].name;
      EXPECT_EQ(plan.scratch_bytes, why.variants[i].scratch_bytes) << name << ": " << variants[i].name;
    }
  }
}

TEST(ProblemNames, OfARecordedSweepAreUnderstood) {
  std::ifstream stream(SHEAF_BENCH_RESULTS "/h200-sort.json");
  const nlohmann::json document = nlohmann::json::parse(stream);
  EXPECT_GT(document.at("rows").size(), 300U);
  for (const nlohmann::json& row : document.at("rows")) {
    const std::string name = row.at("problem");
    const sort_problem p = sort_of(name);
    EXPECT_EQ(p.count, row.at("count")) << name;
    const std::uint64_t written = p.product == sort_product::gather_index ? bytes(p.index)
                                  : p.column_count > 0                    ? p.columns[0].record_bytes
                                                                          : p.rows.record_bytes;
    EXPECT_EQ(written, row.at("record_bytes")) << name;
    const bool by_all_bits = row.at("pattern").get<std::string>().find(":b") == std::string::npos;
    EXPECT_EQ(p.key.bits, by_all_bits ? 8 * p.key.fields[0].bytes : 8) << name;
  }
}

TEST(ProblemNames, ThatSayNothingAreRefused) {
  for (const char* name : {"", "sort_keys", "sort_keys/uniform/4/u32/n=1", "sort_keys/uniform/r4/u32/1",
                           "sort_keys/uniform/r4/x32/n=1", "sort_keys/uniform/r4/u/n=1", "sort_rows/uniform/r4/u32/n=1",
                           "sort_keys/uniform:bx/r4/u32/n=1", "sort_keys/uniform/r4/u32/n="}) {
    EXPECT_THROW(sort_of(name), std::logic_error) << name;
  }
}

}  // namespace
}  // namespace sheaf::tests
