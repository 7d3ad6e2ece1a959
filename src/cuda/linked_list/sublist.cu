#include "cuda/linked_list/sublist.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.hpp"
#include "primitives/linked_list/contract.hpp"

// The variant cuda.sublist: the algorithm of Wei and JaJa 2010, whose splitters' list is scanned on the device. Each
// walk writes to each node what comes before it in its sublist, and a pass over all nodes adds what comes before the
// sublist.
namespace sheaf::cuda {

using primitives::list_buffers;
using primitives::list_problem;
using primitives::list_step;

namespace {

struct sublist_tuning {
  std::uint32_t least_log2_block = 3;
  std::uint32_t most_log2_block = 8;
  std::uint32_t most_log2_block_for_host = 16;  ///< the host's scan of a sublist costs some thousand times the device's
  double walkers_each = 512;                    ///< threads that walk, for each multiprocessor
  double written = 1.45;              ///< seconds of a walk's writes, over those of writes that nothing waits for
  double host_copy_share = 0.0025;    ///< rate of copies to or from pageable host memory, over those on the device
  double host_sublist_share = 0.045;  ///< a host thread's accesses at random in its cache, over a read of device memory
};
constexpr sublist_tuning tuning_of_sublist;

struct sublist_calls {
  list_layout layout;
  std::uint32_t blocks;
  std::uint64_t node_prefixes;
};

double host_scan_seconds(const list_problem& p, double sublists, const machine& m) {
  const auto copied = static_cast<double>(sublist_bytes(p) + 2 * prefix_bytes(p));
  return 4 * m.launch_seconds + sublists * (copied / (tuning_of_sublist.host_copy_share * m.copy_bytes_per_second) +
                                            tuning_of_sublist.host_sublist_share * m.access_seconds);
}

}  // namespace

plan::planned plan_sublist(const list_problem& p, const plan::scope& scope, splitter_scan where) {
  const machine& m = scope.machine;
  if (const char* reason = list_rejection(p)) return plan::rejected(reason);
  const bool on_host = where == splitter_scan::on_host;
  const std::uint32_t most_log2_block =
      on_host ? tuning_of_sublist.most_log2_block_for_host : tuning_of_sublist.most_log2_block;
  const std::uint64_t node = p.ranks() ? bytes(p.successor) : packed_bytes(p);
  return cheapest_cut(p, tuning_of_sublist.least_log2_block, most_log2_block, [&](std::uint32_t log2_block) {
    const auto calls = std::make_shared<sublist_calls>();
    core::scratch_offsets arrays;
    calls->layout = lay_out(p, log2_block, arrays);
    const auto walks = static_cast<double>(calls->layout.cut[0].blocks);
    calls->blocks = blocks_of_walkers(p, walks, m.parallelism * tuning_of_sublist.walkers_each);
    calls->node_prefixes = arrays.take(p.count * prefix_bytes(p));
    plan::planned plan;
    price_head(p, m, plan);
    if (on_host) {
      plan.add("sublists", host_scan_seconds(p, walks, m));
    } else {
      price_sublists(p, calls->layout, m, plan);
    }
    const std::uint64_t footprint = p.count * (node + prefix_bytes(p));
    plan.add("walk", m.random_reads(p.count, node, footprint) +
                         tuning_of_sublist.written * m.random_writes(p.count, prefix_bytes(p), footprint) +
                         longest_walk_seconds(log2_block, walks, p.count * node, m));
    const std::uint64_t finished = p.count * (prefix_bytes(p) + node + p.out_bytes);
    plan.add("results", m.streamed(finished, finished));
    plan.add("sums of sublists",
             m.random_reads(p.count, prefix_bytes(p), calls->layout.cut[0].blocks * prefix_bytes(p)));
    // What a walk works in serves to resolve a list that is bad.
    plan.scratch_bytes = std::max(arrays.bytes(), calls->node_prefixes + resolve_bytes(p));
    plan.inner_calls = calls;
    return plan;
  });
}

void run_sublist(const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
                 std::byte* scratch, splitter_scan where) {
  const device_scope scope(ctx.device());
  const auto& calls = plan.inner<sublist_calls>();
  list_call call(ctx, p, b, calls.layout, scratch);
  call.begin();
  const detail::device_scan_operator& kernels = call.kernels();
  list_kernels::walk_arguments walk = call.walk_arguments();
  walk.prefixes = scratch + calls.node_prefixes;
  if (where == splitter_scan::on_host) {
    // The host gets all sublists, also those of a list that is bad, which no walk may have written.
    require(cudaMemsetAsync(walk.above.nodes, 0, walk.above.cut.count * kernels.sublist_bytes, ctx.stream()), ctx);
  }
  require(kernels.walk_level_0(ctx.stream(), calls.blocks, kernels.op, walk, call.input()), ctx);
  b.done(list_step::walks);
  if (where == splitter_scan::on_device) {
    call.scan_sublists();
  } else {
    call.scan_sublists_on_host();
  }
  list_kernels::finish_arguments finish = call.finish_arguments();
  finish.node_prefixes = walk.prefixes;
  finish.results = b.out;
  require(
      kernels.finish_places(ctx.stream(), kernels.op, finish, call.input(), static_cast<std::uint32_t>(p.out_bytes)),
      ctx);
  b.done(list_step::results);
  call.resolve(scratch + calls.node_prefixes, false);
}

extern constinit const primitives::list_variant list_sublist{
    "cuda.sublist", backend_kind::cuda,
    [](const list_problem& p, const plan::scope& scope) { return plan_sublist(p, scope, splitter_scan::on_device); },
    [](const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
       std::byte* scratch) { run_sublist(ctx, p, plan, b, scratch, splitter_scan::on_device); }};

}  // namespace sheaf::cuda
