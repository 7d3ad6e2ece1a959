#include "cuda/hash/cost.hpp"
#include "cuda/hash/look_ups.hpp"
#include "primitives/hash/search.hpp"

// The search cuda.direct: He et al. 2007, section 4.2, in one pass. For indices that L2 holds, and for few probes.
namespace sheaf::cuda {
namespace {

using primitives::hash_search_buffers;
using primitives::hash_search_problem;

plan::planned plan_direct(const hash_search_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = index_rejection(p)) return plan::rejected(reason);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + m.step_seconds);
  const std::uint64_t moved = p.probes * (p.probe_stride_bytes + answer_bytes(p));
  constexpr double overlap_exponent = 3;
  plan.add_overlapped(overlap_exponent, {{"streamed", m.streamed(moved, moved)},
                                         {"sectors", sector_seconds(p.probes, expected_slot_bytes(p.index), m)}});
  plan_look_ups(p, 1, m, plan);
  return plan;
}

void run_direct(const context& ctx, const hash_search_problem& p, const plan::planned& plan,
                const hash_search_buffers& b, std::byte* scratch) {
  run_look_ups(ctx, p, plan, b, scratch);
}

}  // namespace

extern constinit const primitives::hash_search_variant hash_search_direct{"cuda.direct", backend_kind::cuda,
                                                                          plan_direct, run_direct};

}  // namespace sheaf::cuda
