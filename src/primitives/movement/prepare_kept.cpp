#include "primitives/movement/prepare_kept.hpp"

#include <algorithm>

#include <sheaf/gather.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/scatter.hpp>

#include "core/context_state.hpp"

namespace sheaf::primitives {
namespace {

gather_problem gather_of(const prepare_problem& p) { return {static_cast<const movement&>(p)}; }
scatter_problem scatter_of(const prepare_problem& p) { return {static_cast<const movement&>(p), p.duplicates}; }

bool lies_dense(const_records r) { return r.stride_bytes == r.record_bytes; }

class kept_list final : public prepared_movement {
 public:
  kept_list(const context& ctx, const prepare_problem& p, const movement_plan& plan, index_span index)
      : problem_(p), plan_(plan), memory_(ctx, std::max<std::uint64_t>(1, p.index_bytes())) {
    copy_bytes(ctx, memory_.data(), index.data, p.index_bytes());
  }

  void run(const context& ctx, const_records from, records to) override {
    const std::uint64_t scratch_bytes = plan_.plan().scratch_bytes;
    // The plan is one for records side by side.
    if (!plan_.exists() || !lies_dense(from) || !lies_dense(to) || scratch_bytes > ctx.scratch_limit()) {
      return run_unplanned(ctx, from, to);
    }
    const core::scratch scratch(ctx.state(), scratch_bytes);
    if (!scratch.is_taken()) return run_unplanned(ctx, from, to);
    if (gathers()) {
      plan_.gather.variant->run(ctx, gather_of(problem_), plan_.plan(), {from, list(), to}, scratch.data());
    } else {
      plan_.scatter.variant->run(ctx, scatter_of(problem_), plan_.plan(), {from, list(), to}, scratch.data());
    }
  }
  std::uint64_t kept_bytes() const override { return problem_.index_bytes(); }

 private:
  bool gathers() const { return problem_.direction == prepared_direction::gather; }
  index_span list() const { return {memory_.data(), problem_.count, problem_.index}; }

  void run_unplanned(const context& ctx, const_records from, records to) const {
    if (gathers()) {
      gather(ctx, from, list(), to, {.pattern = problem_.pattern, .bounds = problem_.bounds});
    } else {
      scatter(ctx, from, list(), to,
              {.pattern = problem_.pattern, .bounds = problem_.bounds, .duplicates = problem_.duplicates});
    }
  }

  prepare_problem problem_;
  movement_plan plan_;
  buffer memory_;
};

plan::planned plan_kept(const prepare_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const auto run = std::make_shared<movement_plan>(plan_unprepared(p, scope));
  if (!run->exists() && !plan_unprepared(p, {m, plan::no_scratch_limit, scope.context}).exists()) {
    return plan::rejected("no variant moves such records here");
  }
  const double run_seconds = run->plan().seconds;
  plan::planned plan;
  plan.add("copy", m.streamed(2 * p.index_bytes(), 2 * p.index_bytes()) + m.launch_seconds);
  plan.add("runs", static_cast<double>(p.expected_runs) * run_seconds);
  plan.decided.set(prepare_decision{.run_seconds = run_seconds, .kept_bytes = p.index_bytes()});
  plan.inner_calls = run;
  return plan;
}

void run_kept(const context& ctx, const prepare_problem& p, const plan::planned& plan, const prepare_buffers& b,
              std::byte*) {
  *b.made = std::make_shared<kept_list>(ctx, p, plan.inner<movement_plan>(), b.index);
}

}  // namespace

movement_plan plan_unprepared(const prepare_problem& p, const plan::scope& in) {
  movement_plan planned;
  if (p.direction == prepared_direction::gather) {
    planned.gather =
        plan::cheapest(gather_variants(), gather_of(p), p.backend, in, plan::forced_name("gather", {}, in.context));
  } else {
    planned.scatter =
        plan::cheapest(scatter_variants(), scatter_of(p), p.backend, in, plan::forced_name("scatter", {}, in.context));
  }
  return planned;
}

extern constinit const prepare_variant prepare_kept{"kept", std::nullopt, plan_kept, run_kept};

}  // namespace sheaf::primitives
