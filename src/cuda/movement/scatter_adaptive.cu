#include "primitives/movement/scatter.hpp"

#include "cuda/movement/adaptive.cuh"
#include "cuda/movement/pass_plan.hpp"

namespace sheaf::cuda {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

constexpr std::uint64_t widest_record = 8;

// Priced as the passes that a random list takes, and a tenth more for what sampling may cost any list, because a
// smaller gain is not worth it. A list in order costs about as much as with cuda.direct.
plan::planned plan_adaptive(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (const char* reason = adaptive_rejection(p, widest_record)) return plan::rejected(reason);
  plan::planned plan = plan_passes(p, m, plan::he2007::operation::scatter, [&](std::uint64_t passes) {
    return to_plan(multipass_scatter_cost(p, m, passes), m, true);
  });
  plan.add("sampling", 0.1 * plan.seconds);
  primitives::movement in_order = p;
  in_order.pattern = access_pattern::sequential();
  const bool is_short = to_plan(scatter_cost(in_order, m), m, true).seconds < least_in_order_steps * m.step_seconds;
  plan.by_name_only = is_short || p.pattern.shape != access_pattern::kind::unknown;
  return plan;
}

// Items and steps are those of cuda.direct. Rounds are enough that reading the verdict costs a list in order little.
void run_adaptive(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                  std::byte*) {
  const device_scope scope(ctx.device());
  const index_guard guard = state_of(ctx).guard(primitives::scatter_words, p.index, p.indexed_count);
  const move_arguments a = arguments_of(p, b.in.data, b.out.data, b.index, guard);
  const std::uint32_t passes = plan.decided.get<primitives::multipass_decision>().passes;
  switch (p.record_bytes) {
    case 1: return launch_adaptive<direction::scatter, std::uint8_t, 8, 256>(ctx, p, 3, passes, a);
    case 2: return launch_adaptive<direction::scatter, std::uint16_t, 4, 256>(ctx, p, 4, passes, a);
    case 4: return launch_adaptive<direction::scatter, std::uint32_t, 2, 256>(ctx, p, 4, passes, a);
    default: return launch_adaptive<direction::scatter, uint2, 2, 32>(ctx, p, 2, passes, a);
  }
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_adaptive{"cuda.adaptive", backend_kind::cuda, plan_adaptive,
                                                                    run_adaptive};

}  // namespace sheaf::cuda
