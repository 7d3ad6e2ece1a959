#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/sparse/sums/sum_rows.hpp"
#include "primitives/sparse/two_step.hpp"

// The variant cuda.two_step (He et al. 2007, section 4.3): a gather brings x of each entry's column beside the entry,
// by the cheapest of the gather's variants; then products are summed row by row, without a random access. Columns are
// copied first, with those that are bad replaced by 0: places that belong to no row may hold anything, and a gather
// would report them.
namespace sheaf::cuda {
namespace {

using primitives::gather_problem;
using primitives::two_step_calls;

struct two_step_decision {
  rows_decision rows;
  std::uint64_t columns_at = 0;   ///< in scratch: the columns that are gathered by
  std::uint64_t gathered_at = 0;  ///< in scratch: x of each place

  void tell(plan::told& to) const { to.add("rows_of_warp", rows.rows_of_warp); }
};

gather_problem gather_of(const spmv_problem& p) {
  gather_problem g{gather_of_columns(p)};
  g.index = index_type::u32;
  g.bounds = bounds::trust;
  return g;
}

plan::planned plan_two_step(const spmv_problem& problem, const plan::scope& scope) {
  if (problem.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  if (problem.columns >> 32 != 0) return plan::rejected("columns exceed 32 bits");
  const machine& machine = scope.machine;
  two_step_decision decision;
  core::scratch_offsets place;
  decision.rows = decide_rows(problem, place);
  decision.columns_at = place.take(problem.entries * sizeof(std::uint32_t));
  decision.gathered_at = place.take(problem.entries * problem.value_bytes());
  const auto calls = std::make_shared<two_step_calls>();
  calls->gather = gather_of(problem);
  calls->gather_scratch = place.bytes();
  calls->choice =
      plan::cheapest(primitives::gather_variants(), calls->gather, problem.backend,
                     plan::inner_scope(scope, place.bytes()), plan::forced_name("gather", {}, scope.context));
  if (calls->choice.variant == nullptr) return plan::rejected("no gather can run within the context's limits");
  plan::planned plan;
  plan.scratch_bytes = place.bytes() + calls->choice.plan.scratch_bytes;
  plan.by_name_only = problem.pattern.shape == access_pattern::kind::unknown;
  const std::uint64_t copied = problem.entries * (bytes(problem.column) + sizeof(std::uint32_t));
  plan.add("columns", machine.step_seconds + machine.streamed(copied, copied));
  plan.add("gather", calls->choice.plan.seconds);
  constexpr double spread = 1.1;
  price_rows(problem, machine, true, spread, plan);
  plan.decided.set(decision);
  plan.inner_calls = calls;
  return plan;
}

template <class Column>
__global__ void __launch_bounds__(block_threads)
    copy_columns(const Column* columns, std::uint64_t count, std::uint64_t limit, std::uint32_t* to) {
  constexpr int places_each = 4;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * (block_threads * places_each) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < places_each; ++k) {
    const std::uint64_t i = first + k * block_threads;
    if (i >= count) continue;
    const Column column = __ldcs(columns + i);
    to[i] = column < limit ? static_cast<std::uint32_t>(column) : 0;
  }
}

void run_two_step(const context& ctx, const spmv_problem& problem, const plan::planned& plan,
                  const spmv_buffers& buffers, std::byte* scratch) {
  constexpr std::uint64_t places_of_a_block = 4 * block_threads;
  const device_scope scope(ctx.device());
  const auto decision = plan.decided.get<two_step_decision>();
  const auto& calls = plan.inner<two_step_calls>();
  const csr_guard guard = guard_of(ctx, problem, problem.call);
  const bool gathers = problem.entries > 0 && problem.columns > 0;
  std::byte* const gathered = scratch + decision.gathered_at;
  if (gathers) {
    auto* const columns = reinterpret_cast<std::uint32_t*>(scratch + decision.columns_at);
    const std::uint64_t limit = primitives::reachable_records(gather_of_columns(problem));
    const std::uint64_t blocks = ceil_div(problem.entries, places_of_a_block);
    with_column_type(problem, [&]<class Column>(Column) {
      launch(ctx, copy_columns<Column>, blocks, static_cast<const Column*>(buffers.a.column_indices.data),
             problem.entries, limit, columns);
    });
    const std::uint64_t width = problem.value_bytes();
    const primitives::gather_buffers of_gather{{buffers.x, problem.columns, width},
                                               {columns, problem.entries, index_type::u32},
                                               {gathered, problem.entries, width}};
    calls.choice.variant->run(ctx, calls.gather, calls.choice.plan, of_gather, scratch + calls.gather_scratch);
  }
  multiply_rows(ctx, problem, decision.rows, buffers, guard, {.gathered = gathers ? gathered : nullptr}, scratch);
}

}  // namespace

extern constinit const primitives::spmv_variant spmv_two_step{"cuda.two_step", backend_kind::cuda, plan_two_step,
                                                              run_two_step};

}  // namespace sheaf::cuda
