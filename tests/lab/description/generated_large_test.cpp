#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/description/arrays.hpp"
#include "lab/description/job.hpp"
#include "lab/description/row_name.hpp"
#include "support/contexts.hpp"
#include "support/large.hpp"

// Problems past 2^31 items and 4 GiB, most of which only a GPU's memory holds, generated and checked there. Only where
// SHEAF_LARGE=1.
namespace sheaf::tests::lab_description_generated_large_test {
namespace {

class GeneratedJobLarge : public testing::TestWithParam<const char*> {};

/// 2^32 matches and more, of one key and of many.
constexpr const char* of_many_matches[] = {"hash_search/identity:s1048576:x1048576:h100/r4/k64/n=4200",
                                           "hash_search/identity:s16777216:x1048576:h50/r4/k32/n=8400"};

INSTANTIATE_TEST_SUITE_P(MatchesOn, GeneratedJobLarge, testing::ValuesIn(of_many_matches),
                         [](const auto& tested) { return fmt::format("case_{}", tested.index); });

INSTANTIATE_TEST_SUITE_P(HashOn, GeneratedJobLarge,
                         testing::Values(
                             // more records than 31 bits number
                             "build_hash_index/x1000/r4/k32/n=1200000000",
                             "hash_find/identity:s2200000000:x1000:h50/r4/k64/n=1000003",
                             "hash_count/identity:s2200000000:x1000:h50/r8/k64/n=1000003",
                             // tables of more than 4 GiB
                             "hash_find/identity:s500000000:x1:h50/r4/k64/n=100000007",
                             "hash_search/identity:s700000000:x1:h50/r4/k32/n=100000007"),
                         [](const auto& tested) { return fmt::format("case_{}", tested.index); });

INSTANTIATE_TEST_SUITE_P(ListsOn, GeneratedJobLarge,
                         testing::Values(
                             // node numbers past 2^30, 2^31 and all that numbers of 4 bytes tell apart on the device
                             "list_rank/permutation/r4/i32/n=1073741824", "list_rank/permutation/r4/u32/n=2200000000",
                             "list_rank/strided:1001/r8/u32/n=4294967279", "list_rank/identity/r4/u64/n=2147483649",
                             "list_scan/permutation/r4/u32+u32+packed/n=1073741824",
                             "list_scan/permutation/r8/u32+u64/n=1073741824",
                             "list_scan/strided:1073741823/r8/u32+f64+max+exclusive/n=1073741824",
                             // the most nodes of many lists
                             "list_rank/permutation/r4/u32+many/n=3758096384",
                             "list_scan/permutation/r4/u32+u32+many/n=1200000000"),
                         [](const auto& tested) { return fmt::format("case_{}", tested.index); });

INSTANTIATE_TEST_SUITE_P(SparseOn, GeneratedJobLarge,
                         testing::Values(
                             // entries, rows and columns past 2^32
                             "spmv/uniform:x16/r4/u32+u64+f32/n=4400000000",
                             "spmv/uniform:x16/r4/u32+u64+f32+transposed/n=4400000000",
                             "spmv/banded:s4400000000:c1000/r4/u32+f32/n=100000007",
                             "spmv/uniform:c4400000000:x16/r4/u64+u32+f32/n=100000007"),
                         [](const auto& tested) { return fmt::format("case_{}", tested.index); });

INSTANTIATE_TEST_SUITE_P(RowsOn, GeneratedJobLarge,
                         testing::Values(
                             // values, entries and slots past 2^31 and 2^32
                             "scatter_reduce_rows/uniform:s70000/r64/u32+u8/n=45000000",
                             "scatter_reduce_rows/uniform:s100000/r1/u32+u8_to_u32/n=4400000000",
                             "scatter_reduce_rows/uniform:s4400000000/r1/u64+u8_to_u32/n=100000007",
                             "gather_reduce/uniform:s100000:x1000/r4/u64+f32/n=4400000000",
                             "spmm/uniform:x16/r8/u32+u64+f32/n=4400000000",
                             // the last entry that offsets of 32 bits reach
                             "spmm/uniform:x16/r8/u32+f32/n=4294967295",
                             // arrays of more than 4 GiB: rows that are read, rows that are written, tables
                             "scatter_reduce_rows/permutation:s20000000/r256/u32+f32+identity/n=20000000",
                             "scatter_reduce_rows/zipf:s1000/r256/u32+f32+unordered/n=20000000",
                             "scatter_reduce_rows/uniform:s20000000/r256/u32+f32+max/n=3000000",
                             "gather_reduce/uniform:s20000000:x10/r256/u32+f32/n=20000000",
                             "gather_reduce/uniform:s1000:x2/r64/u32+i8_to_i32/n=100000000",
                             "spmm/uniform:x16/r256/u32+f32/n=320000000",
                             "spmm/uniform:x16/r256/u32+f32+transposed/n=320000000"),
                         [](const auto& tested) { return fmt::format("case_{}", tested.index); });

/// The last offset of a search: how many matches it has found.
std::uint64_t matches_of(const context& ctx, const jobs::problem_spec& p, const jobs::problem_arrays& arrays) {
  std::uint64_t matches = 0;
  const records offsets = arrays.at(0, jobs::places::offsets);
  copy_bytes(ctx, &matches, offsets.data + p.count * sizeof matches, sizeof matches);
  return matches;
}

/// Runs every variant that can, and checks its answers. Says what memory did not suffice for.
std::string run_every_variant(const context& ctx, const char* name) {
  const jobs::problem_spec p = primitives::parse_problem(name);
  const jobs::job& j = jobs::job_of(p);
  jobs::problem_arrays arrays(ctx);
  const bool has_many_matches = std::any_of(std::begin(of_many_matches), std::end(of_many_matches),
                                            [&](const char* one) { return std::string_view(one) == name; });
  // A build's other output is what a search for each record finds; without it three numbers are compared.
  const bool with_side_outputs = p.primitive == "build_hash_index";
  std::string without_memory;
  int tried = 0;
  const auto if_there_is_memory = [&](std::string_view what, const auto& work) {
    try {
      work();
      return true;
    } catch (const error& e) {
      if (e.code() != error_code::out_of_memory) throw;
      without_memory += fmt::format("\n{}: {}", what, e.what());
      return false;
    }
  };
  if (if_there_is_memory("arrays", [&] { arrays.fill(p, 1); })) {
    for (const variant_estimate& v : primitives::entry_of(p).explain(ctx, p, {}).variants) {
      if (!v.applicable || v.variant.starts_with("reference.")) continue;
      ++tried;
      SCOPED_TRACE(v.variant);
      if_there_is_memory(v.variant, [&] {
        arrays.reset_outputs();
        j.run(ctx, p, arrays.of_copy(0), {v.variant, with_side_outputs});
        ctx.wait();
        EXPECT_EQ(arrays.count_mistakes(with_side_outputs), 0U);
        if (has_many_matches) {
          EXPECT_GT(matches_of(ctx, p, arrays), std::uint64_t{1} << 32);
        }
      });
    }
  }
  EXPECT_TRUE(tried > 0 || !without_memory.empty()) << name << ": no variant takes it";
  return without_memory;
}

TEST_P(GeneratedJobLarge, IsAnsweredRightByEveryVariant) {
  if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1, taking much memory";
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const std::string without_memory = run_every_variant(*ctx, GetParam());
  // What did run was checked: a mistake fails the test all the same.
  if (!without_memory.empty()) GTEST_SKIP() << "without memory for" << without_memory;
}

/// Rows on the CPU: a problem, and the memory that it takes.
struct host_case {
  const char* name;
  std::uint64_t gigabytes;
};
class GeneratedJobLargeOnCpu : public testing::TestWithParam<host_case> {};

INSTANTIATE_TEST_SUITE_P(
    RowsOn, GeneratedJobLargeOnCpu,
    testing::Values(host_case{"scatter_reduce_rows/uniform:s1000/r1/u32+u8_to_u32/n=2200000000", 13},
                    host_case{"scatter_reduce_rows/uniform:s1000000/r256/u32+f32/n=20000000", 7},
                    host_case{"scatter_reduce_rows/uniform:s20000000/r256/u32+f32+identity/n=1000003", 7},
                    host_case{"gather_reduce/uniform:s20000000:x10/r256/u32+f32/n=3000000", 7},
                    host_case{"spmm/uniform:x4/r256/u32+f32/n=72000000", 11}),
    [](const auto& tested) { return fmt::format("case_{}", tested.index); });

TEST_P(GeneratedJobLargeOnCpu, IsAnsweredRightByEveryVariant) {
  if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1, taking much memory";
  const host_case& c = GetParam();
  if (available_host_bytes() < c.gigabytes << 30) GTEST_SKIP() << "takes " << c.gigabytes << " GB of memory";
  const std::string without_memory = run_every_variant(context::cpu(), c.name);
  if (!without_memory.empty()) GTEST_SKIP() << "without memory for" << without_memory;
}

}  // namespace
}  // namespace sheaf::tests::lab_description_generated_large_test
