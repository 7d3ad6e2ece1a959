// Sorts of keys whose digits nest unevenly at many levels, long enough that codes may take three passes, leave words in
// mixed ones, or give way to digits. Answers are checked by the functions of position that made the keys.
#include <string>

#include <gtest/gtest.h>

#include "lab/description/arrays.hpp"
#include "lab/description/job.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::cuda_clustered_sort_test {
namespace {

class ClusteredSorts : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Rows, ClusteredSorts,
                         testing::Values("sort_keys/sphere/r8/u64/n=20000000", "sort_pairs/sphere/r4/u64/n=20000000",
                                         "sort_gather_index/cities/r4/u64/n=6000000",
                                         "sort_keys/geohash/r8/i64/n=6000000", "sort_pairs/geohash/r8/u64/n=6000000",
                                         "sort_keys/quadtree/r8/u64/n=3000000", "sort_pairs/octree/r4/u64/n=3000000",
                                         "sort_gather_index/urls/r4/u64/n=12000000", "sort_keys/urls/r12/u96/n=3000000",
                                         "sort_pairs/versions/r4/u64/n=6000000",
                                         "sort_keys/versions/r16/u128/n=3000000", "sort_keys/counters/r8/f64/n=6000000",
                                         "sort_keys/pareto/r8/u64/n=6000000", "sort_pairs/nested/r4/u64/n=6000000"));

TEST_P(ClusteredSorts, AreInOrder) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device";
  const primitives::problem_spec problem = primitives::parse_problem(GetParam());
  const jobs::job& job = jobs::job_of(problem);
  jobs::problem_arrays arrays(*ctx);
  arrays.fill(problem, 1);
  arrays.reset_outputs();
  job.run(*ctx, problem, arrays.of_copy(0), {"cuda.sample", false});
  ctx->wait();
  EXPECT_EQ(arrays.count_mistakes(false), 0U);
}

}  // namespace
}  // namespace sheaf::tests::cuda_clustered_sort_test
