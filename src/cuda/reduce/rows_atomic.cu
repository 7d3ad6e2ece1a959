#include "cuda/device/launch.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"

// The variant cuda.atomic for rows: the values of a row are added to those of its slot by atomics, several at a time
// where the hardware has such. The order is none, so sums of floats are those of an unordered reduction.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct atomic_rows_tuning {
  /// A byte of a row is added in the time in which a copy moves so many.
  double bytes_of_vectors = 2.5;  ///< by atomics on 16 bytes
  double bytes_of_values = 8;     ///< by atomics on single values
};
constexpr atomic_rows_tuning tuning_of_atomic_rows;

bool adds_vectors(const row_types& types) { return types.sum == value_type::f32 && types.values_of_lane % 4 == 0; }

plan::planned plan_atomic_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.op != reduction::add && p.op != reduction::subtract) return plan::rejected("only adds and subtracts");
  if (p.sum() != p.out) return plan::rejected("rows of out are narrower than their sums");
  if (p.order_matters() && p.order == reduction_order::deterministic) {
    return plan::rejected("adds floats in the order in which workers arrive");
  }
  const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
  plan::planned plan;
  const double kernels = (p.reads_out() ? 0 : 1) + (p.has_counts ? 1 : 0);
  plan.add("latency", m.launch_seconds + kernels * m.step_seconds);
  if (!p.reads_out()) plan.add("identity", rows_written_seconds(p.indexed_count, p.out_row_bytes(), false, m));
  plan.add("rows", m.streamed(p.sequential_bytes() + p.index_bytes(), p.sequential_bytes() + p.index_bytes()));
  const double bytes_each =
      adds_vectors(types) ? tuning_of_atomic_rows.bytes_of_vectors : tuning_of_atomic_rows.bytes_of_values;
  plan.add("atomics", static_cast<double>(p.count) * static_cast<double>(p.out_row_bytes()) * bytes_each /
                          m.copy_bytes_per_second);
  return plan;
}

void run_atomic_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned&,
                     const scatter_reduce_rows_buffers& b, std::byte*) {
  const device_scope current_device(ctx.device());
  if (!p.reads_out()) fill_rows(ctx, b.out, p.op);
  if (p.has_counts && p.indexed_count > 0) {
    require(cudaMemsetAsync(b.counts.data, 0, b.counts.count * bytes(b.counts.type), ctx.stream()), ctx);
  }
  if (p.count == 0) return;
  const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
  reduced_rows out = rows_to_write(b.out, types, p.op, true);
  set_counts(out, b.counts);
  listed_rows in = rows_to_read(b.in);
  in.index = b.index.data;
  in.has_wide_index = bytes(p.index) == 8;
  in.limit = p.index_limit();
  add_rows_in_any_order(ctx, types, in, p.count, out,
                        state_of(ctx).guard(scatter_reduce_rows_wording, p.index, p.indexed_count));
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_atomic{"cuda.atomic", backend_kind::cuda,
                                                                              plan_atomic_rows, run_atomic_rows};

}  // namespace sheaf::cuda
