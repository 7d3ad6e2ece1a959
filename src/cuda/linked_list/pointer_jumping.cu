#include <algorithm>
#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.hpp"
#include "primitives/linked_list/contract.hpp"

// The variant cuda.pointer_jumping, the textbook's (Wyllie 1979): each node's pointer to its predecessor moves on to
// the predecessor's own pointer until it reaches the head, in log2(n) rounds over all nodes. The other variants fall
// back on it where their sublists are too long, because no list is worse than another for it.
namespace sheaf::cuda {
namespace {

using primitives::list_buffers;
using primitives::list_problem;

struct jumping_tuning {
  double round_barriers = 2;  ///< time of a round over few nodes, in barriers
  double round_reads = 1.8;   ///< time of a round's two reads and a write a node, over that of one read
  double run_latencies = 40;  ///< of the scan: latencies of memory for a height of runs, whose 64 items one thread adds
};
constexpr jumping_tuning tuning_of_jumping;

struct jumping_calls {
  list_layout layout;
  std::uint64_t resolve;
};

plan::planned plan_pointer_jumping(const list_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = list_rejection(p)) return plan::rejected(reason);
  const auto calls = std::make_shared<jumping_calls>();
  core::scratch_offsets arrays;
  constexpr std::uint32_t any_log2_block = 8;
  calls->layout = lay_out(p, any_log2_block, arrays);
  calls->resolve = arrays.take(resolve_bytes(p));
  plan::planned plan;
  price_head(p, m, plan);
  const std::uint64_t footprint = p.count * sizeof(list_kernels::list_jump);
  const double rounds = std::ceil(std::log2(static_cast<double>(p.count) + 1)) + 1;
  plan.add("predecessors", m.random_writes(p.count, sizeof(std::uint32_t), footprint));
  plan.add("rounds", rounds * (tuning_of_jumping.round_barriers * m.barrier_seconds +
                               tuning_of_jumping.round_reads *
                                   m.random_reads(p.count, sizeof(list_kernels::list_jump), footprint) +
                               m.streamed(2 * footprint, footprint)));
  if (!p.ranks()) {
    const std::uint64_t sums = p.count * segment_bytes(p);
    plan.add("order", m.random_writes(p.count, segment_bytes(p), sums) + m.random_writes(p.count, 4, 4 * p.count));
    const double heights = std::ceil(std::log2(static_cast<double>(p.count) + 1) / 6);
    plan.add("scan", m.streamed(4 * sums, sums) + heights * tuning_of_jumping.run_latencies * m.access_seconds);
    plan.add("results", m.random_writes(p.count, p.out_bytes, p.count * p.out_bytes));
  }
  plan.scratch_bytes = arrays.bytes();
  plan.inner_calls = calls;
  return plan;
}

void run_pointer_jumping(const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
                         std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto& calls = plan.inner<jumping_calls>();
  list_call call(ctx, p, b, calls.layout, scratch);
  call.begin();
  call.resolve(scratch + calls.resolve, true);
  b.done(primitives::list_step::results);
}

}  // namespace

extern constinit const primitives::list_variant list_pointer_jumping{"cuda.pointer_jumping", backend_kind::cuda,
                                                                     plan_pointer_jumping, run_pointer_jumping};

}  // namespace sheaf::cuda
