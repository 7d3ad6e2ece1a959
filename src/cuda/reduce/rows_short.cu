#include "cuda/device/launch.cuh"
#include "cuda/reduce/rows/calls.hpp"
#include "cuda/reduce/rows/cost.hpp"

// The variant cuda.short for rows: one kernel, of which every block reads the whole list, takes the entries of its own
// slots, and combines their rows in the order of the list.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// What a plan decides for run.
struct short_rows {
  std::uint32_t bin_bits = 0;  ///< a block has 2^bin_bits slots

  void tell(plan::told& to) const { to.add("bin_bits", bin_bits); }
};

struct short_rows_tuning {
  double steps = 3;          ///< latency, in steps of the profile
  double blocks_each = 4;    ///< of a multiprocessor at a time
  double block_steps = 1.5;  ///< that a block takes for a list of 1000 entries, in steps of the profile
  double entries = 1000;
};
constexpr short_rows_tuning tuning_of_short_rows;

plan::planned plan_short_rows(const scatter_reduce_rows_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (!p.reads_in()) return plan::rejected("combines rows, but a count looks at none");
  if (p.count > short_list_entries) return plan::rejected("takes lists of at most 4096 entries");
  if (p.indexed_count >> 32 != 0) return plan::rejected("slots exceed 32 bits");
  short_rows decided;
  const std::uint64_t blocks_at_once =
      static_cast<std::uint64_t>(tuning_of_short_rows.blocks_each) * std::max<std::uint64_t>(1, m.parallelism);
  while (decided.bin_bits < most_bin_bits && p.indexed_count >> decided.bin_bits > blocks_at_once) ++decided.bin_bits;
  const double rounds =
      std::max(1.0, static_cast<double>(p.indexed_count >> decided.bin_bits) / static_cast<double>(blocks_at_once));
  plan::planned plan;
  plan.add("latency", m.launch_seconds + tuning_of_short_rows.steps * m.step_seconds);
  plan.add("list", rounds * m.step_seconds * tuning_of_short_rows.block_steps * static_cast<double>(p.count) /
                       tuning_of_short_rows.entries);
  plan.add("rows", rows_read_seconds(p.count, p.record_bytes, p.sequential_bytes(), m));
  plan.add("out", rows_written_seconds(p.reads_out() ? std::min(p.count, p.indexed_count) : p.indexed_count,
                                       p.out_row_bytes(), p.reads_out(), m));
  plan.decided.set(decided);
  return plan;
}

void run_short_rows(const context& ctx, const scatter_reduce_rows_problem& p, const plan::planned& plan,
                    const scatter_reduce_rows_buffers& b, std::byte*) {
  const device_scope current_device(ctx.device());
  const row_types types = row_types_of(p.in, p.sum(), p.word_bytes, p.out, p.out_word_bytes);
  reduced_rows out = rows_to_write(b.out, types, p.op, p.reads_out());
  set_counts(out, b.counts);
  listed_rows in = rows_to_read(b.in);
  in.index = b.index.data;
  in.has_wide_index = bytes(p.index) == 8;
  in.limit = p.index_limit();
  index_guard guard = state_of(ctx).guard(scatter_reduce_rows_wording, p.index, p.indexed_count);
  if (p.bounds == bounds::trust) guard.slot = nullptr;
  combine_short_list(ctx, types, in, p.count, plan.decided.get<short_rows>().bin_bits, out, guard);
}

}  // namespace

extern constinit const scatter_reduce_rows_variant scatter_reduce_rows_short{"cuda.short", backend_kind::cuda,
                                                                             plan_short_rows, run_short_rows};

}  // namespace sheaf::cuda
