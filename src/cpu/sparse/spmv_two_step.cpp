
#include "core/cpu_state.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_reader.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/sparse/two_step.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

struct two_step_decision {
  rows_decision rows;
  std::uint64_t gathered_at = 0;  ///< in scratch: x of each place

  void tell(plan::told& to) const { to.add("threads", rows.threads).add("parts", rows.parts); }
};

// He et al. 2007, section 4.3: a gather brings x of each entry's column beside the entry, by the cheapest of the
// gather's variants, the multi-pass one among them; then products are summed row by row, without a random access. It
// writes and reads a value for each entry more than cpu.rows, and wins where a pass over a part of x saves more than
// that. Nothing says so of columns of unknown order, which most matrices have in some order.
plan::planned plan_two_step(const spmv_problem& problem, const plan::scope& scope) {
  if (problem.transposed) return plan::rejected("multiplies by rows, but the product is transposed");
  const machine& machine = scope.machine;
  two_step_decision decision;
  core::scratch_offsets place;
  decision.rows = decide_rows(problem, machine, place);
  decision.gathered_at = place.take(problem.entries * problem.value_bytes());
  if (place.bytes() > machine.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  const auto calls = std::make_shared<two_step_calls>();
  calls->gather = {gather_of_columns(problem)};
  calls->gather_scratch = place.bytes();
  calls->choice =
      plan::cheapest(gather_variants(), calls->gather, backend_kind::cpu, plan::inner_scope(scope, place.bytes()),
                     plan::forced_name("gather", {}, scope.context));
  if (calls->choice.variant == nullptr) return plan::rejected("no gather can run within the context's limits");
  plan::planned plan;
  plan.scratch_bytes = place.bytes() + calls->choice.plan.scratch_bytes;
  plan.by_name_only = problem.pattern.shape == access_pattern::kind::unknown;
  const std::uint64_t streamed =
      problem.entries * 2 * problem.value_bytes() + problem.rows * bytes(problem.offset) + problem.y_bytes();
  plan.add("latency", machine.launch_seconds + machine.step_seconds);
  if (problem.has_row_ends) plan.add("columns", machine.streamed(problem.entries * bytes(problem.column), 0));
  plan.add("gather", calls->choice.plan.seconds);
  plan.add_overlapped(overlap_exponent, {{"streamed", machine.streamed(streamed, streamed)},
                                         {"steps", step_seconds(problem, machine, decision.rows.threads)}});
  plan.decided.set(decision);
  plan.inner_calls = calls;
  return plan;
}

/// Whether the places of all rows are all places there are. Else some are read by the gather that belong to no row.
bool has_all_places(const spmv_problem& p, const csr_view& a) {
  const row_reader rows(a, p.entries);
  return !p.has_row_ends && p.rows > 0 && rows.begin(0) == 0 && rows.end(p.rows - 1) == p.entries;
}

/// Whether a gather may read every place: a place that belongs to no row may hold anything, and a bad column there is
/// not a fault of the matrix, though a gather would report it.
bool may_gather_all_places(const spmv_problem& problem, const csr_view& a, std::uint64_t threads) {
  if (has_all_places(problem, a)) return true;
  constexpr std::uint64_t places_of_a_task = std::uint64_t{1} << 16;
  std::atomic<bool> all_good{true};
  with_entries(a.column_indices, [&](const auto* column) {
    for_each_task((problem.entries + places_of_a_task - 1) / places_of_a_task, threads, [&](std::uint64_t task) {
      bool good = true;
      const std::uint64_t end = std::min(problem.entries, (task + 1) * places_of_a_task);
      for (std::uint64_t place = task * places_of_a_task; place < end; ++place) {
        good &= static_cast<std::uint64_t>(column[place]) < problem.columns;  // extends the sign
      }
      if (!good) all_good.store(false, std::memory_order_relaxed);
    });
  });
  return all_good.load();
}

void run_two_step(const context& ctx, const spmv_problem& problem, const plan::planned& plan,
                  const spmv_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const auto decision = plan.decided.get<two_step_decision>();
  const std::uint64_t call = state.begin_call();
  // The gather writes 0 for a bad column, and 0 times the entry's value is NaN where that is infinite. So a matrix with
  // a bad column is multiplied by its columns, as cpu.rows does, and any is while wait() has a fault to report, because
  // nothing then tells whether this gather meets one more.
  std::byte* gathered = nullptr;
  if (problem.entries > 0 && state.status() != work_status::failed &&
      may_gather_all_places(problem, buffers.a, decision.rows.threads)) {
    gathered = scratch + decision.gathered_at;
    const auto& calls = plan.inner<two_step_calls>();
    const std::uint64_t width = problem.value_bytes();
    const gather_buffers of_gather{
        {buffers.x, problem.columns, width}, buffers.a.column_indices, {gathered, problem.entries, width}};
    calls.choice.variant->run(ctx, calls.gather, calls.choice.plan, of_gather, scratch + calls.gather_scratch);
    if (state.status() == work_status::failed) gathered = nullptr;
  }
  const row_faults faults = multiply_rows(problem, decision.rows, buffers, gathered, scratch);
  // Bad columns are reported by this call, which began before the gather's.
  if (faults.found()) state.keep_first(find_fault(problem, buffers.a, problem.call, call));
}

}  // namespace

extern constinit const spmv_variant spmv_two_step{"cpu.two_step", backend_kind::cpu, plan_two_step, run_two_step};

}  // namespace sheaf::cpu
