#include <algorithm>
#include <cmath>

#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.hpp"
#include "cuda/movement/memory_cost.hpp"
#include "primitives/linked_list/contract.hpp"
#include "primitives/movement/scatter.hpp"

// The variant cuda.log. A walk that writes each result to its node's place pays for two random accesses a node, one of
// them a write, which costs more than a read. So walkers log nodes and sums in the order in which they meet them, and
// the library's scatter, which streams, brings the finished results into place.
namespace sheaf::cuda {
namespace {

using primitives::list_buffers;
using primitives::list_problem;
using primitives::scatter_problem;
using primitives::scatter_variant;

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
  list_layout layout;
  std::uint32_t blocks;  ///< of walk_and_log
  std::uint32_t chunks;
  std::uint64_t log, sums, chunk_sublists, chunk_before, results;
  scatter_problem scatter;
  plan::choice<scatter_variant> scatter_choice;
  std::uint64_t scatter_scratch;
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
  const std::uint64_t node = p.ranks() ? bytes(p.successor) : packed_bytes(p);
  const std::uint64_t footprint = p.count * node;
  const double walks = static_cast<double>(p.count) / std::exp2(log2_block);
  return tuning_of_log.logged * m.random_reads(p.count, node, footprint) +
         longest_walk_seconds(log2_block, std::min(walks, most_walkers(p, m)), footprint, m);
}

plan::planned plan_log(const list_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = list_rejection(p)) return plan::rejected(reason);
  return cheapest_cut(p, tuning_of_log.least_log2_block, tuning_of_log.most_log2_block, [&](std::uint32_t log2_block) {
    const auto calls = std::make_shared<log_calls>();
    core::scratch_offsets arrays;
    calls->layout = lay_out(p, log2_block, arrays);
    calls->blocks = walk_blocks(p, log2_block, m);
    const std::uint64_t entries =
        (p.count / list_kernels::log_chunk + 1 + std::uint64_t{calls->blocks} * list_kernels::list_threads) *
        list_kernels::log_chunk;
    calls->chunks = static_cast<std::uint32_t>(entries / list_kernels::log_chunk);
    if (entries >= list_kernels::no_node) return plan::rejected("entries of the log pass 32 bits");
    calls->log = arrays.take(entries * sizeof(std::uint32_t));
    calls->sums = arrays.take(entries * p.value_bytes);
    calls->chunk_sublists = arrays.take(calls->chunks * sizeof(std::uint32_t));
    calls->chunk_before = arrays.take(calls->chunks * sizeof(std::uint32_t));
    calls->results = arrays.take(entries * p.out_bytes);
    calls->scatter = scatter_of(p, entries);
    calls->scatter_scratch = arrays.bytes();
    calls->scatter_choice = plan::cheapest(primitives::scatter_variants(), calls->scatter, p.backend,
                                           plan::inner_scope(scope, arrays.bytes()));
    if (calls->scatter_choice.variant == nullptr) return plan::rejected("no scatter takes the log");
    arrays.take(calls->scatter_choice.plan.scratch_bytes);
    plan::planned plan;
    price_head(p, m, plan);
    price_sublists(p, calls->layout, m, plan);
    plan.add("walk", walk_seconds(p, log2_block, m));
    const std::uint64_t finished = entries * (2 * sizeof(std::uint32_t) + p.value_bytes + p.out_bytes);
    plan.add("results", m.streamed(finished, finished));
    plan.add("scatter", calls->scatter_choice.plan.seconds);
    // What a walk works in serves to resolve a list that is bad.
    plan.scratch_bytes = std::max(arrays.bytes(), calls->log + resolve_bytes(p));
    plan.inner_calls = calls;
    return plan;
  });
}

void run_log(const context& ctx, const list_problem& p, const plan::planned& plan, const list_buffers& b,
             std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto& calls = plan.inner<log_calls>();
  list_call call(ctx, p, b, calls.layout, scratch);
  auto* const log = reinterpret_cast<std::uint32_t*>(scratch + calls.log);
  call.begin();
  list_kernels::walk_arguments walk = call.walk_arguments();
  walk.log = log;
  walk.log_sums = scratch + calls.sums;
  walk.chunk_sublists = reinterpret_cast<std::uint32_t*>(scratch + calls.chunk_sublists);
  walk.chunk_before = reinterpret_cast<std::uint32_t*>(scratch + calls.chunk_before);
  walk.most_chunks = calls.chunks;
  const detail::device_scan_operator& kernels = call.kernels();
  require(kernels.walk_and_log(ctx.stream(), calls.blocks, kernels.op, walk, call.input()), ctx);
  b.done(primitives::list_step::walks);
  call.scan_sublists();
  list_kernels::finish_arguments finish = call.finish_arguments();
  finish.log = log;
  finish.log_sums = walk.log_sums;
  finish.chunk_sublists = walk.chunk_sublists;
  finish.chunk_before = walk.chunk_before;
  finish.chunks = calls.chunks;
  finish.results = scratch + calls.results;
  require(kernels.finish_log(ctx.stream(), kernels.op, finish, static_cast<std::uint32_t>(p.out_bytes)), ctx);
  const auto& scatter = calls.scatter_choice;
  scatter.variant->run(ctx, calls.scatter, scatter.plan,
                       {const_records(finish.results, calls.scatter.count, p.out_bytes),
                        index_span(log, calls.scatter.count, index_type::u32), records(b.out, p.count, p.out_bytes)},
                       scratch + calls.scatter_scratch);
  b.done(primitives::list_step::results);
  call.resolve(scratch + calls.log, false);
}

}  // namespace

extern constinit const primitives::list_variant list_log{"cuda.log", backend_kind::cuda, plan_log, run_log};

}  // namespace sheaf::cuda
