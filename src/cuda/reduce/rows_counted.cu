#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"

// The variant cuda.counted for rows, of a count: atomics count the entries of each slot, lanes of a warp that have one
// slot together. No row of `in` is read.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct counted_rows_arrays {
  std::uint64_t* rows;  ///< of each slot

  counted_rows_arrays(const scatter_reduce_rows_problem& p, core::scratch_arrays& place)
      : rows(place.take<std::uint64_t>(p.indexed_count)) {}
};

plan::planned plan_counted_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.reads_in()) return plan::rejected("only counts");
  plan::planned plan;
  movement counts = p;
  counts.record_bytes = counts.indexed_stride_bytes = sizeof(std::uint64_t);
  plan.add("latency", m.launch_seconds + 3 * m.step_seconds);
  if (p.count > 0) plan.add("counts", atomic_add_cost(counts, m).access);
  plan.add("index", m.streamed(p.index_bytes(), p.index_bytes()));
  plan.add("out", rows_written_seconds(p.indexed_count, p.out_row_bytes(), p.reads_out(), m));
  plan.scratch_bytes = core::bytes_of<counted_rows_arrays>(p);
  return plan;
}

__global__ void __launch_bounds__(block_threads)
    count_entries_of_slots(const __grid_constant__ move_arguments args, unsigned long long* rows) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t slot = i < args.count ? index_at(args, i) : ~std::uint64_t{0};
  const bool is_slot = i < args.count && check_index(args, i, slot);
  const unsigned lanes = __ballot_sync(~0U, is_slot);
  if (!is_slot) return;
  const unsigned peers = __match_any_sync(lanes, slot);
  if (static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(peers)) - 1) {
    atomicAdd(rows + slot, static_cast<unsigned long long>(__popc(peers)));
  }
}

void run_counted_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned&,
                      const scatter_reduce_rows_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto at = core::arrays_in<counted_rows_arrays>(scratch, p);
  const index_guard guard = state_of(ctx).guard(scatter_reduce_rows_wording, p.index, p.indexed_count);
  require(cudaMemsetAsync(at.rows, 0, p.indexed_count * sizeof *at.rows, ctx.stream()), ctx);
  if (p.count > 0) {
    launch(ctx, count_entries_of_slots, ceil_div(p.count, block_threads),
           arguments_of(p, nullptr, nullptr, b.index, guard), reinterpret_cast<unsigned long long*>(at.rows));
  }
  write_row_counts(ctx, b.out, p.reads_out(), true, b.counts, nullptr, at.rows);
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_counted{"cuda.counted", backend_kind::cuda,
                                                                               plan_counted_rows, run_counted_rows};

}  // namespace sheaf::cuda
