#include "core/scratch_offsets.hpp"
#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/split/passes.hpp"
#include "plan/choose.hpp"

// The variant cuda.by_index, for records that no single word holds: cuda.stable splits their numbers, then each record
// moves once, by a gather or a scatter (Patidar and Narayanan 2009, section 3.3).
namespace sheaf::cuda {

extern const primitives::split_variant split_stable;

namespace {

using namespace primitives;

/// Records move by a scatter where some may have bad categories, because a gather would read these into the output.
bool moves_by_scatter(const split_problem& p) { return p.checks_category(); }

split_problem index_problem(const split_problem& problem) {
  split_problem index = problem;
  index.product = moves_by_scatter(problem) ? split_product::scatter_index : split_product::gather_index;
  index.stable = true;
  index.index = problem.count < ~std::uint32_t{0} ? index_type::u32 : index_type::u64;
  index.record_bytes = index.in_stride_bytes = index.out_stride_bytes = bytes(index.index);
  index.word_bytes = static_cast<std::uint32_t>(index.record_bytes);
  if (problem.key_from == split_key::kind::record_bits) index.key_from = split_key::kind::key_bits;
  return index;
}

movement movement_of(const split_problem& problem, index_type type) {
  movement result;
  result.backend = problem.backend;
  result.count = result.indexed_count = problem.count;
  result.record_bytes = problem.record_bytes;
  result.sequential_stride_bytes = moves_by_scatter(problem) ? problem.in_stride_bytes : problem.out_stride_bytes;
  result.indexed_stride_bytes = moves_by_scatter(problem) ? problem.out_stride_bytes : problem.in_stride_bytes;
  result.word_bytes = problem.word_bytes;
  result.index = type;
  // The records of a category lie about `categories` records apart, and each category sweeps over the whole list. Two
  // narrow records of a category then share no memory fetch, as in a random pattern.
  constexpr std::uint64_t fetch_bytes = 64;
  constexpr std::uint64_t few_categories = 16;
  result.pattern = problem.record_bytes < fetch_bytes && problem.categories > few_categories
                       ? access_pattern::random()
                       : access_pattern::strided(problem.categories);
  return result;
}

/// Bytes of the index list in the scratch, before the scratch of its split.
std::uint64_t list_bytes_of(const split_problem& p, const split_problem& index) {
  return core::scratch_aligned(p.count * index.record_bytes);
}

plan::planned plan_by_index(const split_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.product != split_product::records) return plan::rejected("moves records");
  const split_problem index = index_problem(problem);
  const std::uint64_t list_bytes = list_bytes_of(problem, index);
  const plan::planned split = split_stable.plan(index, plan::inner_scope(scope, list_bytes));
  if (!split.applicable()) return split;
  const movement moving = movement_of(problem, index.index);
  const plan::planned move =
      to_plan(moves_by_scatter(problem) ? scatter_cost(moving, machine) : gather_cost(moving, machine), machine,
              moves_by_scatter(problem));
  plan::planned plan;
  plan.add("index", split.seconds);
  plan.add("records", move.seconds);
  plan.scratch_bytes = list_bytes + split.scratch_bytes;
  plan.inner_calls = std::make_shared<plan::planned>(split);
  return plan;
}

void run_by_index(const context& ctx, const split_problem& problem, const plan::planned& plan,
                  const split_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const split_problem index = index_problem(problem);
  const index_output list(scratch, problem.count, index.index);
  if (moves_by_scatter(problem)) {  // entries that the split leaves as they are must name no record
    require(cudaMemsetAsync(list.data, 0xff, problem.count * index.record_bytes, ctx.stream()), ctx);
  }
  split_stable.run(ctx, index, plan.inner<plan::planned>(), {{}, buffers.keys, {}, list, buffers.offsets},
                   scratch + list_bytes_of(problem, index));
  if (problem.count == 0) return;
  const movement moving = movement_of(problem, index.index);
  if (moves_by_scatter(problem)) {
    launch_collective<direction::scatter>(ctx, moving,
                                          arguments_of(moving, buffers.in.data, buffers.out.data, list, index_guard{}));
  } else {
    launch_collective<direction::gather>(ctx, moving,
                                         arguments_of(moving, buffers.in.data, buffers.out.data, list, index_guard{}));
  }
}

}  // namespace

extern constinit const split_variant split_by_index{"cuda.by_index", backend_kind::cuda, plan_by_index, run_by_index};

}  // namespace sheaf::cuda
