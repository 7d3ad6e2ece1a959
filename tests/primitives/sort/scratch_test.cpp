// The scratch that sort.hpp promises, for the variant that the planner chooses for long lists.
#include <gtest/gtest.h>

#include <fstream>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/machine.hpp>
#include <sheaf/sort.hpp>

#include "lab/description/entry.hpp"
#include "lab/description/sort/problem.hpp"

namespace sheaf::tests::primitives_sort_scratch_test {
namespace {

using primitives::problem_spec;
using primitives::sort_part;

constexpr std::uint64_t count = std::uint64_t{1} << 28;
constexpr std::uint64_t tables = std::uint64_t{64} << 20;

machine recorded_machine(const std::string& file) {
  std::ifstream stream(std::string(SHEAF_BENCH_RESULTS) + "/" + file);
  return parse_machine(nlohmann::json::parse(stream).at("profile").dump(), file);
}

std::uint64_t scratch_of(const problem_spec& p, const machine& m) {
  const auto estimates = entry_of(p).estimates(p, m.backend, m);
  const variant_estimate* const cheapest = primitives::cheapest(estimates);
  if (cheapest == nullptr) ADD_FAILURE() << name(p) << ": no variant";
  return cheapest == nullptr ? 0 : cheapest->scratch_bytes;
}

void expect_promised_scratch(const std::string& file) {
  const machine m = recorded_machine(file);
  const auto named = [&](const char* name) { return primitives::parse_problem(fmt::format("{}/n={}", name, count)); };
  for (const char* name : {"sort_keys/uniform/r4/u32", "sort_keys/uniform/r4/f32", "sort_keys/uniform/r8/u64",
                           "sort_keys/uniform/r8/f64", "sort_keys/uniform/r16/u128", "sort_pairs/uniform/r4/u32",
                           "sort_pairs/uniform/r8/u32", "sort_pairs/uniform/r4/u64", "sort_pairs/uniform/r8/u64"}) {
    const problem_spec p = named(name);
    const std::uint64_t row = p.record_bytes + (p.primitive == "sort_pairs" ? p.key_bytes : 0);
    EXPECT_LE(scratch_of(p, m), count * row / 10 * 11 + tables) << name;
  }
  for (const char* name :
       {"sort_keys/uniform/r2/u16", "sort_keys/uniform/r12/u96", "sort_pairs/uniform/r16/u32",
        "sort_pairs/uniform/r16/u64", "sort_records/uniform/r16/u64", "sort_records/uniform/r100/bytes10",
        "sort_gather_index/uniform/r4/u32", "sort_gather_index/uniform/r4/u64", "sort_pairs/uniform:b8-15/r4/u64"}) {
    EXPECT_LE(scratch_of(named(name), m), count * 45 + tables) << name;
  }
  // Keys so wide that no word holds them and a row number.
  problem_spec wide = named("sort_records/uniform/r100/bytes10");
  wide.part<sort_part>().key_fields = {{0, 32, key_type::bytes}};
  EXPECT_LE(scratch_of(wide, m), count * 45 + tables);
}

// One thread leaves keys that crowd to a sort in vectors, whose words are wider; keys that are not written are sorted
// in scratch alone.
TEST(SortScratch, IsAsPromisedForPairsByOneThread) {
  const context ctx = context::cpu(1);
  for (const std::uint64_t rows : {std::uint64_t{20'000}, std::uint64_t{8'000'000}, std::uint64_t{30'000'000}, count}) {
    for (const std::uint64_t value_bytes : {4, 8}) {
      const sort_column column{const_records(nullptr, rows, value_bytes), records(nullptr, rows, value_bytes)};
      for (const bool writes_keys : {true, false}) {
        SCOPED_TRACE(fmt::format("{} rows, values of {}, writes keys: {}", rows, value_bytes, writes_keys));
        const explanation why = explain_sort_pairs(ctx, const_records(nullptr, rows, 8), sort_key::of<std::uint64_t>(),
                                                   writes_keys, std::span(&column, 1), {.variant = "cpu.msd"});
        ASSERT_NE(why.choice(), nullptr);
        const std::uint64_t promised = writes_keys ? rows * (8 + value_bytes) / 10 * 11 : rows * 45;
        EXPECT_LE(why.choice()->scratch_bytes, promised + tables);
      }
    }
  }
}

TEST(SortScratch, IsAsPromisedOnTheCpu) { expect_promised_scratch("xeon-2-threads/sort-model.json"); }

TEST(SortScratch, IsAsPromisedOnCuda) {
#if SHEAF_HAS_CUDA
  expect_promised_scratch("h200/sort-model.json");
#else
  GTEST_SKIP() << "built without CUDA, so its variants are not in the lists";
#endif
}

}  // namespace
}  // namespace sheaf::tests::primitives_sort_scratch_test
