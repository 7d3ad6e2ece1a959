#include <algorithm>
#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/list/steps.hpp"
#include "cuda/list/variants.hpp"

// The variant cuda.sublist: the algorithm of Wei and JaJa 2010, whose splitters' list is scanned on the device. Each
// walk writes to each node what comes before it in its sublist, and a pass over all nodes adds what comes before the
// sublist.
namespace sheaf::cuda {
namespace {

using primitives::list_buffers;
using primitives::list_problem;

struct sublist_tuning {
  std::uint32_t least_log2_block = 3;
  std::uint32_t most_log2_block = 8;
  double walkers_each = 1024;  ///< threads that walk, for each multiprocessor
};
constexpr sublist_tuning tuning;

struct sublist_calls {
  list_layout layout;
  std::uint32_t blocks;
  std::uint64_t own_places;
};

plan::planned plan_sublist(const list_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = list_rejection(p)) return plan::rejected(reason);
  const std::uint64_t node = p.ranks() ? bytes(p.successor) : packed_bytes(p);
  plan::planned best;
  for (std::uint32_t log2_block = tuning.least_log2_block; log2_block <= tuning.most_log2_block; ++log2_block) {
    const auto calls = std::make_shared<sublist_calls>();
    core::scratch_offsets arrays;
    calls->layout = lay_out(p, log2_block, arrays);
    const std::uint64_t walks = calls->layout.cut[0].blocks;
    const auto most = static_cast<std::uint64_t>(m.parallelism * tuning.walkers_each / list_kernels::list_threads);
    calls->blocks = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(ceil_div(walks, list_kernels::list_threads), 1, std::max<std::uint64_t>(1, most)));
    calls->own_places = arrays.take(p.count * place_bytes(p));
    plan::planned plan;
    price_common(p, calls->layout, m, plan);
    const std::uint64_t footprint = p.count * (node + place_bytes(p));
    plan.add("walk", m.random_reads(p.count, node, footprint) + m.random_writes(p.count, place_bytes(p), footprint) +
                         longest_walk_seconds(log2_block, static_cast<double>(walks), footprint, m));
    const std::uint64_t finished = p.count * (place_bytes(p) + node + p.out_bytes);
    plan.add("results", m.streamed(finished, finished));
    plan.add("sums of sublists", m.random_reads(p.count, place_bytes(p), walks * place_bytes(p)));
    // What a walk works in serves to resolve a list that is bad.
    plan.scratch_bytes = std::max(arrays.bytes(), calls->own_places + resolve_bytes(p));
    plan.inner_calls = calls;
    if (best.term_count == 0 || plan.seconds < best.seconds) best = plan;
  }
  return best;
}

void run_sublist(const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
                 std::byte* scratch) {
  constexpr const char* operation = "cuda.sublist";
  const device_scope scope(ctx.device());
  const auto& calls = plan.inner<sublist_calls>();
  list_call call(ctx, operation, p, b, calls.layout, scratch);
  call.begin();
  const detail::device_scan_operator& kernels = call.kernels();
  list_kernels::walk_arguments walk = call.walk_arguments();
  walk.places = scratch + calls.own_places;
  require(kernels.walk_level_0(ctx.stream(), calls.blocks, kernels.op, walk, call.input()), operation);
  call.scan_sublists();
  list_kernels::finish_arguments finish = call.finish_arguments();
  finish.own_places = walk.places;
  finish.results = b.out;
  require(
      kernels.finish_places(ctx.stream(), kernels.op, finish, call.input(), static_cast<std::uint32_t>(p.out_bytes)),
      operation);
  call.resolve(scratch + calls.own_places, false);
}

}  // namespace

constinit const primitives::list_variant list_sublist{"cuda.sublist", backend_kind::cuda, plan_sublist, run_sublist};

}  // namespace sheaf::cuda
