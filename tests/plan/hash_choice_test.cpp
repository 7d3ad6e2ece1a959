// The planner's choice among the searches of an index, on the machines whose profiles come with the library: by how
// many keys the table has, how many it is searched for, and how many records share a key.
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/machine.hpp>

#include "plan/choose.hpp"
#include "primitives/hash/search.hpp"

namespace sheaf::tests::plan_hash_choice_test {
namespace {

struct search_choice {
  std::uint64_t records;
  std::uint64_t probes;
  std::uint64_t repeats;  ///< records of a key
  primitives::hash_output output;
  std::string_view variant;
};

constexpr auto first = primitives::hash_output::first;
constexpr auto matches = primitives::hash_output::matches;

void expect_choices(backend_kind backend, std::string_view built_by, std::string_view profile,
                    std::span<const search_choice> choices) {
  const machine m = nearest_machine(backend, "");
  ASSERT_EQ(m.name, profile);
  for (const search_choice& c : choices) {
    primitives::hash_search_problem p;
    p.output = c.output;
    p.probes = c.probes;
    p.out_bytes = c.output == matches ? 8 : 4;
    p.index.backend = backend;
    p.index.built_by = built_by;
    p.index.records = c.records;
    p.index.distinct = c.records / c.repeats;
    p.index.longest_chain = c.repeats;
    const auto chosen = plan::cheapest(primitives::hash_search_variants(), p, backend, plan::scope(m), "");
    ASSERT_NE(chosen.variant, nullptr);
    EXPECT_EQ(chosen.variant->name, c.variant)
        << fmt::format("{} records, {} of a key, {} probes, {}", c.records, c.repeats, c.probes,
                       c.output == matches ? "all matches" : "first records");
  }
}

TEST(HashChoice, ChoosesByTableProbesAndRepeatsOnTheCpu) {
  constexpr search_choice choices[] = {
      {1000, 1000, 1, first, "cpu.direct"},
      {1000, 1'000'000'000, 1, first, "cpu.direct"},
      {1'000'000, 1'000'000'000, 1, first, "cpu.direct"},
      {100'000'000, 1000, 1, first, "cpu.direct"},
      {100'000'000, 10'000'000, 1, first, "cpu.direct"},
      {100'000'000, 100'000'000, 1, first, "cpu.partitioned"},
      {100'000'000, 1'000'000'000, 1, first, "cpu.partitioned"},
      {1'000'000'000, 1'000'000'000, 1, first, "cpu.partitioned"},
      {100'000'000, 1'000'000'000, 16, first, "cpu.partitioned"},
      {100'000'000, 100'000'000, 16, matches, "cpu.direct"},
      {1'000'000'000, 1'000'000'000, 16, matches, "cpu.partitioned"},
      {1'000'000, 1'000'000, 16, matches, "cpu.direct"},
      {100'000'000, 1000, 1'000'000, matches, "cpu.direct"},
  };
  expect_choices(backend_kind::cpu, "cpu.partitioned", "generic CPU", choices);
}

#if SHEAF_HAS_CUDA
TEST(HashChoice, ChoosesByTableProbesAndRepeatsOnCuda) {
  constexpr search_choice choices[] = {
      {1000, 1000, 1, first, "cuda.direct"},
      {1000, 1'000'000'000, 1, first, "cuda.direct"},
      {1'000'000, 1'000'000'000, 1, first, "cuda.direct"},
      {100'000'000, 1000, 1, first, "cuda.direct"},
      {100'000'000, 1'000'000, 1, first, "cuda.direct"},
      {100'000'000, 100'000'000, 1, first, "cuda.partitioned"},
      {100'000'000, 1'000'000'000, 1, first, "cuda.partitioned"},
      {1'000'000'000, 1'000'000'000, 1, first, "cuda.partitioned"},
      {100'000'000, 1'000'000'000, 16, first, "cuda.partitioned"},
      {100'000'000, 100'000'000, 16, matches, "cuda.partitioned"},
      {1'000'000, 1'000'000, 16, matches, "cuda.direct"},
      {100'000'000, 1000, 1'000'000, matches, "cuda.direct"},
  };
  expect_choices(backend_kind::cuda, "cuda.sorted", "NVIDIA H200", choices);
}
#endif

}  // namespace
}  // namespace sheaf::tests::plan_hash_choice_test
