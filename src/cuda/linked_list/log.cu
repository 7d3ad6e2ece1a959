#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/scatter.hpp"

// The variant cuda.log. A walk that writes each result to its node's place pays for two random accesses a node, one of
// them a write, which costs more than a read. So walkers log nodes and sums in the order in which they meet them, and
// the library's scatter, which streams, brings the finished results into place.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct log_tuning {
  std::uint32_t least_log2_block = 3;
  std::uint32_t most_log2_block = 8;
  double rank_walkers_each = 1024;  ///< threads that walk, for each multiprocessor
  double scan_walkers_each = 512;
  double least_walks_each = 2;  ///< sublists that a thread should have to draw, for even loads
  double logged = 1.15;         ///< seconds of a walk that logs, over those of the random reads alone
};
constexpr log_tuning tuning_of_log;

struct log_calls {
  list_cuts cuts;
  std::uint32_t blocks;  ///< of walk_and_log
  std::uint32_t chunks;
  scatter_problem scatter;
  plan::choice<scatter_variant> scatter_choice;
};

struct log_arrays : list_arrays {
  std::uint32_t* log;
  std::byte* sums;
  std::uint32_t* chunk_sublists;
  std::uint32_t* chunk_before;
  std::byte* results;
  std::byte* scatter_scratch;

  log_arrays(const list_problem& p, const log_calls& calls, core::scratch_arrays& arrays)
      : list_arrays(p, calls.cuts, arrays),
        log(arrays.take<std::uint32_t>(calls.scatter.count)),
        sums(arrays.take<std::byte>(calls.scatter.count * p.value_bytes)),
        chunk_sublists(arrays.take<std::uint32_t>(calls.chunks)),
        chunk_before(arrays.take<std::uint32_t>(calls.chunks)),
        results(arrays.take<std::byte>(calls.scatter.count * p.out_bytes)),
        scatter_scratch(arrays.rest()) {}
};

scatter_problem scatter_of(const list_problem& p, std::uint64_t entries) {
  scatter_problem s;
  s.backend = p.backend;
  s.count = entries;
  s.indexed_count = p.count;
  s.record_bytes = s.sequential_stride_bytes = s.indexed_stride_bytes = p.out_bytes;
  s.word_bytes = p.out_word;
  s.index = index_type::u32;
  // Walkers side by side mix the list's order. In a log of random order nothing is left to find out.
  if (p.pattern.shape == access_pattern::kind::random) s.pattern = p.pattern;
  s.bounds = bounds::trust;
  return s;
}

double most_walkers(const list_problem& p, const machine& m) {
  return m.parallelism * (p.ranks() ? tuning_of_log.rank_walkers_each : tuning_of_log.scan_walkers_each);
}

std::uint32_t walk_blocks(const list_problem& p, std::uint32_t log2_block, const machine& m) {
  const double worth = static_cast<double>(p.count >> log2_block) / tuning_of_log.least_walks_each;
  return blocks_of_walkers(p, worth, most_walkers(p, m));
}

double walk_seconds(const list_problem& p, std::uint32_t log2_block, const machine& m) {
  const std::uint64_t node = node_bytes(p);
  const std::uint64_t footprint = p.count * node;
  const double walks = static_cast<double>(p.count) / std::exp2(log2_block);
  return tuning_of_log.logged * m.random_reads(p.count, node, footprint) +
         longest_walk_seconds(log2_block, std::min(walks, most_walkers(p, m)), footprint, m);
}

plan::planned plan_log(const list_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = list_rejection(p)) return plan::rejected(reason);
  return cheapest_cut(p, tuning_of_log.least_log2_block, tuning_of_log.most_log2_block, [&](std::uint32_t log2_block) {
    const list_cuts cuts(p, log2_block);
    const std::uint32_t blocks = walk_blocks(p, log2_block, m);
    const std::uint64_t chunks =
        p.count / list_kernels::log_chunk + 1 + std::uint64_t{blocks} * list_kernels::list_threads;
    const std::uint64_t entries = chunks * list_kernels::log_chunk;
    if (entries >= list_kernels::no_node) return plan::rejected("entries of the log exceed 32 bits");
    const auto calls = std::make_shared<log_calls>(
        log_calls{cuts, blocks, static_cast<std::uint32_t>(chunks), scatter_of(p, entries), {}});
    const std::uint64_t bytes = core::bytes_of<log_arrays>(p, *calls);
    calls->scatter_choice =
        plan::cheapest(scatter_variants(), calls->scatter, p.backend, plan::inner_scope(scope, bytes));
    if (calls->scatter_choice.variant == nullptr) return plan::rejected("no scatter can run on the log");
    plan::planned plan;
    price_head(p, m, plan);
    price_sublists(p, cuts, m, plan);
    plan.add("walk", walk_seconds(p, log2_block, m));
    const std::uint64_t finished = entries * (2 * sizeof(std::uint32_t) + p.value_bytes + p.out_bytes);
    plan.add("results", m.streamed(finished, finished));
    plan.add("scatter", calls->scatter_choice.plan.seconds);
    // What a walk works in serves to resolve a list that is bad.
    plan.scratch_bytes = std::max(bytes + core::scratch_aligned(calls->scatter_choice.plan.scratch_bytes),
                                  core::bytes_of<list_arrays>(p, cuts) + resolve_bytes(p));
    plan.inner_calls = calls;
    return plan;
  });
}

void run_log(const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
             std::byte* scratch) {
  const auto& calls = plan.inner<log_calls>();
  const auto at = core::arrays_in<log_arrays>(scratch, p, calls);
  list_call call(ctx, p, b, calls.cuts, at);
  call.begin();
  list_kernels::walk_arguments walk = call.walk_arguments();
  walk.log = at.log;
  walk.log_sums = at.sums;
  walk.chunk_sublists = at.chunk_sublists;
  walk.chunk_before = at.chunk_before;
  walk.most_chunks = calls.chunks;
  const detail::device_scan_operator& kernels = call.kernels();
  require(kernels.walk_and_log(ctx.stream(), calls.blocks, kernels.op, walk, call.input()), ctx);
  b.done(list_step::walks);
  call.scan_sublists();
  list_kernels::finish_arguments finish = call.finish_arguments();
  finish.log = at.log;
  finish.log_sums = walk.log_sums;
  finish.chunk_sublists = walk.chunk_sublists;
  finish.chunk_before = walk.chunk_before;
  finish.chunks = calls.chunks;
  finish.results = at.results;
  require(kernels.finish_log(ctx.stream(), kernels.op, finish, static_cast<std::uint32_t>(p.out_bytes)), ctx);
  const auto& scatter = calls.scatter_choice;
  scatter.variant->run(ctx, calls.scatter, scatter.plan,
                       {const_records(finish.results, calls.scatter.count, p.out_bytes),
                        index_span(at.log, calls.scatter.count, index_type::u32), records(b.out, p.count, p.out_bytes)},
                       at.scatter_scratch);
  b.done(list_step::results);
  call.resolve(reinterpret_cast<std::byte*>(at.log), false);
}

}  // namespace

extern constinit const list_variant list_log{"cuda.log", backend_kind::cuda, plan_log, run_log};

}  // namespace sheaf::cuda
