#include "cuda/device/launch.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"

// The variant cuda.leaders for rows: one kernel, in which every entry of a short list has a block; the block of the
// first entry of a slot combines the rows of all entries that name the slot, in the order of the list. Slots that no
// entry names cost nothing, however many there are.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct leader_rows_tuning {
  double steps = 1.5;       ///< latency, in steps of the profile
  double list_reads = 3.3;  ///< the list is read by every block, each byte in the time in which L2 moves so many
};
constexpr leader_rows_tuning tuning_of_leader_rows;

plan::planned plan_leader_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.reads_in()) return plan::rejected("combines rows, but a count looks at none");
  if (p.count > short_list_entries) return plan::rejected("takes lists of at most 4096 entries");
  plan::planned plan;
  const double kernels = (p.reads_out() ? 0 : 1) + (p.has_counts ? 1 : 0);
  plan.add("latency", m.launch_seconds + (tuning_of_leader_rows.steps + kernels) * m.step_seconds);
  plan.add("list", tuning_of_leader_rows.list_reads * static_cast<double>(p.count) *
                       static_cast<double>(p.index_bytes()) / m.cached_bytes_per_second);
  if (!p.reads_out()) plan.add("identity", rows_written_seconds(p.indexed_count, p.out_row_bytes(), false, m));
  plan.add("rows", rows_read_seconds(p.count, p.record_bytes, p.sequential_bytes(), m));
  plan.add("out", rows_written_seconds(std::min(p.count, p.indexed_count), p.out_row_bytes(), true, m));
  return plan;
}

void run_leader_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned&,
                     const scatter_reduce_rows_buffers& b, std::byte*) {
  const device_scope current_device(ctx.device());
  if (!p.reads_out()) fill_rows(ctx, b.out, p.op);
  if (p.has_counts && p.indexed_count > 0) {
    require(cudaMemsetAsync(b.counts.data, 0, b.counts.count * bytes(b.counts.type), ctx.stream()), ctx);
  }
  if (p.count == 0) return;
  const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
  reduced_rows out = rows_to_write(b.out, types, p.op, p.reads_out());
  set_counts(out, b.counts);
  listed_rows in = rows_to_read(b.in);
  in.index = b.index.data;
  in.has_wide_index = bytes(p.index) == 8;
  in.limit = p.index_limit();
  index_guard guard = state_of(ctx).guard(scatter_reduce_rows_wording, p.index, p.indexed_count);
  if (p.bounds == bounds::trust) guard.slot = nullptr;
  combine_by_leaders(ctx, types, in, p.count, out, guard);
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_leaders{"cuda.leaders", backend_kind::cuda,
                                                                               plan_leader_rows, run_leader_rows};

}  // namespace sheaf::cuda
