#include "cuda/device/launch.cuh"
#include "cuda/linked_list/steps.cuh"
#include "cuda/movement/memory_cost.hpp"
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

  log_arrays(const list_problem& problem, const log_calls& calls, core::scratch_arrays& arrays)
      : list_arrays(problem, calls.cuts, arrays),
        log(arrays.take<std::uint32_t>(calls.scatter.count)),
        sums(arrays.take<std::byte>(calls.scatter.count * problem.value_bytes)),
        chunk_sublists(arrays.take<std::uint32_t>(calls.chunks)),
        chunk_before(arrays.take<std::uint32_t>(calls.chunks)),
        results(arrays.take<std::byte>(calls.scatter.count * problem.out_bytes)),
        scatter_scratch(arrays.rest()) {}
};

scatter_problem scatter_of(const list_problem& problem, std::uint64_t entries) {
  scatter_problem scatter;
  scatter.backend = problem.backend;
  scatter.count = entries;
  scatter.indexed_count = problem.count;
  scatter.record_bytes = scatter.sequential_stride_bytes = scatter.indexed_stride_bytes = problem.out_bytes;
  scatter.word_bytes = problem.out_word;
  scatter.index = index_type::u32;
  // Walkers side by side mix the list's order. In a log of random order nothing is left to find out.
  if (problem.pattern.shape == access_pattern::kind::random) scatter.pattern = problem.pattern;
  scatter.bounds = bounds::trust;
  return scatter;
}

double most_walkers(const list_problem& p, const machine& m) {
  return m.parallelism * (p.ranks() ? tuning_of_log.rank_walkers_each : tuning_of_log.scan_walkers_each);
}

std::uint32_t walk_blocks(const list_problem& p, std::uint32_t log2_block, const machine& m) {
  const double worth = static_cast<double>(p.count >> log2_block) / tuning_of_log.least_walks_each;
  return blocks_of_walkers(p, worth, most_walkers(p, m));
}

double walk_seconds(const list_problem& problem, std::uint32_t log2_block, const machine& machine) {
  const std::uint64_t node = node_bytes(problem);
  const std::uint64_t footprint = problem.count * node;
  const double walks = static_cast<double>(problem.count) / std::exp2(log2_block);
  return tuning_of_log.logged * machine.random_reads(problem.count, node, footprint) +
         longest_walk_seconds(log2_block, std::min(walks, most_walkers(problem, machine)), footprint, machine);
}

plan::planned plan_log(const list_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (const char* reason = list_rejection(problem)) return plan::rejected(reason);
  return cheapest_cut(
      problem, tuning_of_log.least_log2_block, tuning_of_log.most_log2_block, [&](std::uint32_t log2_block) {
        const list_cuts cuts(problem, log2_block);
        const std::uint32_t blocks = walk_blocks(problem, log2_block, machine);
        const std::uint64_t chunks =
            problem.count / list_kernels::log_chunk + 1 + std::uint64_t{blocks} * list_kernels::list_threads;
        const std::uint64_t entries = chunks * list_kernels::log_chunk;
        if (entries >= list_kernels::no_node) return plan::rejected("entries of the log exceed 32 bits");
        const auto calls = std::make_shared<log_calls>(
            log_calls{cuts, blocks, static_cast<std::uint32_t>(chunks), scatter_of(problem, entries), {}});
        const std::uint64_t bytes = core::bytes_of<log_arrays>(problem, *calls);
        calls->scatter_choice =
            plan::cheapest(scatter_variants(), calls->scatter, problem.backend, plan::inner_scope(scope, bytes));
        if (calls->scatter_choice.variant == nullptr) return plan::rejected("no scatter can run on the log");
        plan::planned plan;
        price_head(problem, machine, plan);
        price_sublists(problem, cuts, machine, plan);
        plan.add("walk", walk_seconds(problem, log2_block, machine));
        const std::uint64_t finished = entries * (2 * sizeof(std::uint32_t) + problem.value_bytes + problem.out_bytes);
        plan.add("results", machine.streamed(finished, finished));
        plan.add("scatter", calls->scatter_choice.plan.seconds);
        // What a walk works in serves to resolve a list that is bad.
        plan.scratch_bytes = std::max(bytes + core::scratch_aligned(calls->scatter_choice.plan.scratch_bytes),
                                      core::bytes_of<list_arrays>(problem, cuts) + resolve_bytes(problem));
        plan.decided.set(planned_walks{cuts.of[0].blocks, blocks});
        plan.inner_calls = calls;
        return plan;
      });
}

void run_log(const context& ctx, const list_problem& problem, const plan::planned& plan, const list_buffers& buffers,
             std::byte* scratch) {
  const auto& calls = plan.inner<log_calls>();
  const auto at = core::arrays_in<log_arrays>(scratch, problem, calls);
  list_call call(ctx, problem, buffers, calls.cuts, at);
  call.begin();
  list_kernels::walk_arguments walk = call.walk_arguments();
  walk.log = at.log;
  walk.log_sums = at.sums;
  walk.chunk_sublists = at.chunk_sublists;
  walk.chunk_before = at.chunk_before;
  walk.most_chunks = calls.chunks;
  const detail::device_scan_operator& kernels = call.kernels();
  require(kernels.walk_and_log(ctx.stream(), calls.blocks, kernels.op, walk, call.input()), ctx);
  buffers.done(list_step::walks);
  call.scan_sublists();
  list_kernels::finish_arguments finish = call.finish_arguments();
  finish.log = at.log;
  finish.log_sums = walk.log_sums;
  finish.chunk_sublists = walk.chunk_sublists;
  finish.chunk_before = walk.chunk_before;
  finish.chunks = calls.chunks;
  finish.results = at.results;
  require(kernels.finish_log(ctx.stream(), kernels.op, finish, static_cast<std::uint32_t>(problem.out_bytes)), ctx);
  const auto& scatter = calls.scatter_choice;
  scatter.variant->run(ctx, calls.scatter, scatter.plan,
                       {const_records(finish.results, calls.scatter.count, problem.out_bytes),
                        index_span(at.log, calls.scatter.count, index_type::u32),
                        records(buffers.out, problem.count, problem.out_bytes)},
                       at.scatter_scratch);
  buffers.done(list_step::results);
  call.resolve(reinterpret_cast<std::byte*>(at.log), false);
}

}  // namespace

extern constinit const list_variant list_log{"cuda.log", backend_kind::cuda, plan_log, run_log};

}  // namespace sheaf::cuda
