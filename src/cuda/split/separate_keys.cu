#include "core/scratch_offsets.hpp"
#include "cuda/device/launch.cuh"
#include "cuda/split/cost.hpp"
#include "cuda/split/steps.hpp"
#include "plan/choose.hpp"

// Splits by more than 256 categories whose keys lie outside the records: LSD radix passes over keys and values, where
// values are the records or their numbers. A scatter index is the inverse of the order of the numbers.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct scratch_layout {
  pair_passes pairs;            ///< the passes, without their arrays; their scratch begins at 0
  std::uint64_t order = 0;      ///< where the sorted record numbers begin, if they are to be inverted
  std::uint64_t inversion = 0;  ///< where the scratch of the inversion begins; without one, the size of the whole

  explicit scratch_layout(const split_problem& problem, bool with_offsets, bool stable) {
    const bool inverts = problem.product == split_product::scatter_index;
    pairs.key_bits = sorted_bits(problem);
    pairs.value_bytes = problem.word_bytes;
    pairs.count = problem.count;
    pairs.drops_bad_keys = problem.checks_category();
    pairs.writes_keys = with_offsets;
    pairs.stable = stable;
    order = core::scratch_aligned(pair_scratch_bytes(pairs));
    inversion = order + (inverts ? core::scratch_aligned(problem.count * problem.word_bytes) : 0);
  }
};

}  // namespace

plan::planned plan_separate_keys(const split_problem& problem, const plan::scope& scope, bool stable) {
  plan::planned plan = pair_passes_cost(problem, scope.machine, sorted_bits(problem), pass_count(problem), stable);
  // A problem does not say whether the call will ask for offsets: the scratch allows for them.
  plan.scratch_bytes = scratch_layout(problem, /*with_offsets=*/true, stable).inversion;
  if (problem.product == split_product::scatter_index) {
    plan::planned inversion = plan_inversion(problem, plan::inner_scope(scope, plan.scratch_bytes));
    plan.add("inversion", inversion.seconds);
    plan.scratch_bytes += inversion.scratch_bytes;
    plan.inner_calls = std::make_shared<plan::planned>(std::move(inversion));
  }
  return plan;
}

void run_separate_keys(const context& ctx, const split_problem& problem, const plan::planned& plan,
                       const split_pass& pass, bool stable, std::byte* scratch) {
  scratch_layout layout(problem, pass.offsets != nullptr, stable);
  const bool inverts = problem.product == split_product::scatter_index;
  pair_passes& pairs = layout.pairs;
  pairs.keys = pass.keys;
  pairs.values = pass.in;
  pairs.out = inverts ? scratch + layout.order : pass.out;
  if (inverts && pairs.drops_bad_keys) {  // entries that no pass writes must not be record numbers
    require(cudaMemsetAsync(pairs.out, 0xff, problem.count * problem.word_bytes, ctx.stream()), ctx);
  }
  const std::uint32_t* const keys = run_pair_passes(ctx, pairs, scratch);
  find_offsets(ctx, keys, sizeof(std::uint32_t), problem.count, {0, pairs.key_bits}, problem.categories, pass.offsets);
  if (!inverts) return;
  invert_order(ctx, problem, plan.inner<plan::planned>(), pairs.out, pass.scatter_index, scratch + layout.inversion);
}

}  // namespace sheaf::cuda
