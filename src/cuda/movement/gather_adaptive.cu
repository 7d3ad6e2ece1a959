#include "primitives/gather.hpp"

#include "cuda/movement/adaptive.cuh"
#include "cuda/movement/pass_plan.hpp"

namespace sheaf::cuda {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

/// Lists of bytes in order have a form of their own in cuda.direct, a quarter faster than what is here.
constexpr std::uint64_t narrowest_asked = 2;
constexpr std::uint64_t widest_record = 4;

// Priced as the passes that a list at random takes, and a tenth for what sampling may cost any list: a gain smaller
// than that is not worth it. A list in order costs about what cuda.direct takes.
plan::planned plan_sampled(const gather_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (const char* reason = sampling_rejection(p, widest_record)) return plan::rejected(reason);
  plan::planned plan = plan_passes(p, m, plan::he2007::operation::gather, [&](std::uint64_t passes) {
    return to_plan(multipass_gather_cost(p, m, passes), m, false);
  });
  plan.add("sampling", 0.1 * plan.seconds);
  primitives::movement in_order = p;
  in_order.pattern = access_pattern::sequential();
  const bool is_short = to_plan(gather_cost(in_order, m), m, false).seconds < least_in_order_seconds;
  plan.by_name_only = is_short || p.record_bytes < narrowest_asked || p.pattern.shape != access_pattern::kind::unknown;
  return plan;
}

// Items and step as cuda.direct has them; rounds enough that asking for the verdict costs a list in order little.
void run_sampled(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b) {
  constexpr const char* what = "cuda.adaptive";
  constexpr auto way = direction::gather;
  const device_scope here(ctx.device());
  const index_guard guard = state_of(ctx).guard(core::index_role::gather_index, p.index, p.indexed_count);
  const move_arguments a = arguments_of(p, b.table.data, b.out.data, b.index, guard);
  const std::uint32_t passes = primitives::rounds_of(plan, primitives::multipass_passes);
  switch (p.record_bytes) {
    case 1: return launch_sampled_words<way, std::uint8_t, 4, 256>(ctx, what, p, 4, passes, a);
    case 2: return launch_sampled_words<way, std::uint16_t, 4, 256>(ctx, what, p, 4, passes, a);
    default: return launch_sampled_words<way, std::uint32_t, 6, 256>(ctx, what, p, 2, passes, a);
  }
}

}  // namespace

constinit const primitives::gather_variant gather_adaptive{"cuda.adaptive", plan_sampled, run_sampled};

}  // namespace sheaf::cuda
