// The scratch that sort.hpp promises, for the variant that the planner chooses for long lists.
#include <gtest/gtest.h>

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "primitives/sort.hpp"
#include "sheaf/machine.hpp"
#include "support/problem_names.hpp"

namespace sheaf::tests {
namespace {

using primitives::sort_problem;

constexpr std::uint64_t count = std::uint64_t{1} << 28;
constexpr std::uint64_t tables = std::uint64_t{64} << 20;

machine recorded_machine(const std::string& file) {
  std::ifstream stream(std::string(SHEAF_BENCH_RESULTS) + "/" + file);
  return parse_machine(nlohmann::json::parse(stream).at("profile").dump(), file);
}

std::uint64_t scratch_of(const sort_problem& p, const machine& m) {
  double least = 1e300;
  std::uint64_t scratch = 0;
  for (const auto& v : primitives::sort_variants()) {
    const plan::planned plan = v.plan(p, m);
    if (!plan.applicable() || plan.by_name_only || plan.seconds >= least) continue;
    least = plan.seconds;
    scratch = plan.scratch_bytes;
  }
  EXPECT_LT(least, 1e300) << "no variant";
  return scratch;
}

void expect_promised_scratch(const std::string& file, backend_kind backend) {
  const machine m = recorded_machine(file);
  const auto named = [&](const char* name) {
    return sort_named(problem_name(fmt::format("{}/n={}", name, count)), backend);
  };
  for (const char* name : {"sort_keys/uniform/r4/u32", "sort_keys/uniform/r4/f32", "sort_keys/uniform/r8/u64",
                           "sort_keys/uniform/r8/f64", "sort_keys/uniform/r16/u128", "sort_pairs/uniform/r4/u32",
                           "sort_pairs/uniform/r8/u32", "sort_pairs/uniform/r4/u64", "sort_pairs/uniform/r8/u64"}) {
    const sort_problem p = named(name);
    std::uint64_t row = p.rows.record_bytes;
    for (std::uint32_t c = 0; c < p.column_count; ++c) row += p.columns[c].record_bytes;
    EXPECT_LE(scratch_of(p, m), count * row / 10 * 11 + tables) << name;
  }
  for (const char* name :
       {"sort_keys/uniform/r2/u16", "sort_keys/uniform/r12/u96", "sort_pairs/uniform/r16/u32",
        "sort_pairs/uniform/r16/u64", "sort_records/uniform/r16/u64", "sort_records/uniform/r100/bytes10",
        "sort_gather_index/uniform/r4/u32", "sort_gather_index/uniform/r4/u64", "sort_pairs/uniform:b8-15/r4/u64"}) {
    EXPECT_LE(scratch_of(named(name), m), count * 45 + tables) << name;
  }
  // Keys so wide that no word holds them and a row number.
  sort_problem wide = named("sort_records/uniform/r100/bytes10");
  wide.key.fields[0].bytes = 32;
  wide.key.bits = 256;
  EXPECT_LE(scratch_of(wide, m), count * 45 + tables);
}

TEST(SortScratch, IsAsPromisedOnTheCpu) { expect_promised_scratch("cpu-2-threads-sort-model.json", backend_kind::cpu); }

TEST(SortScratch, IsAsPromisedOnCuda) {
#if SHEAF_HAS_CUDA
  expect_promised_scratch("h200-sort-model.json", backend_kind::cuda);
#else
  GTEST_SKIP() << "built without CUDA, so its variants are not in the lists";
#endif
}

}  // namespace
}  // namespace sheaf::tests
