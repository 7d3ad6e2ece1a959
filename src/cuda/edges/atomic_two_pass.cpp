#include "core/scratch_offsets.hpp"
#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/lists.hpp"
#include "cuda/edges/padded_sums.hpp"

// The variants of one sum. cuda.atomic: a thread for each edge, whose contribution atomics add to the sums of both
// ends; lanes next to each other whose edges have one first end add as one. The order of additions is that in which
// threads come, so a deterministic order rules it out. Sums of three f32 and more are padded to 16 bytes in scratch,
// because one atomic of four words takes a third of the time of three.
//
// cuda.two_pass: the two passes of Ujaldon and Saltz 2005, section 4.2, over edges sorted by their first end and then
// by their second. Each pass makes the sums of the sorted edges' nodes, so that no sum has two writers. A node adds the
// edges from it and then the edges to it, both in their order.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct atomic_arrays {
  unsigned long long* first_bad;
  float* sums = nullptr;  ///< padded; null: atomics add to the result

  atomic_arrays(const edge_sum_problem& p, core::scratch_arrays& arrays)
      : first_bad(arrays.take<unsigned long long>(1)) {
    const std::uint32_t sum_values = atomic_sum_values(p);
    if (sum_values != p.components) sums = arrays.take<float>(p.nodes * sum_values);
  }
};

// An edge reads two values and adds to two results, all at random where nodes are in no order: the atomics bound it.
plan::planned plan_atomic(const edge_sum_problem& problem, const plan::scope& scope) {
  if (problem.order == reduction_order::deterministic)
    return plan::rejected("adds in the order in which threads arrive");
  const machine& machine = scope.machine;
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<atomic_arrays>(problem);
  const std::uint64_t padded =
      atomic_sum_values(problem) == problem.components ? 0 : 2 * problem.nodes * atomic_sum_values(problem) * 4;
  const std::uint64_t streamed = problem.edges * problem.edge_bytes() + problem.nodes * problem.result_bytes() + padded;
  constexpr double overlap_exponent = 2;
  plan.add("latency", machine.launch_seconds + (padded == 0 ? 3 : 4) * machine.step_seconds);
  plan.add_overlapped(overlap_exponent, {{"streamed", machine.streamed(streamed, streamed)},
                                         {"values", value_seconds(problem, 2 * problem.edges, machine)},
                                         {"atomics", atomic_seconds(problem, machine)}});
  return plan;
}

void run_atomic(const context& ctx, const edge_sum_problem& problem, const plan::planned&,
                const edge_sum_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const edge_sum_kernels kernels(problem, buffers);
  const auto at = core::arrays_in<atomic_arrays>(scratch, problem);
  const std::uint32_t sum_values = atomic_sum_values(problem);
  void* const sums = at.sums == nullptr ? buffers.result : at.sums;
  queue_cleared(ctx, sums, problem.nodes * sum_values * problem.value_bytes() / sizeof(std::uint32_t), at.first_bad);
  if (problem.edges == 0) return;
  const bad_end_report bad_ends(ctx, problem, edge_call::edge_sum, at.first_bad, true);
  const edge_kernels::atomic_arguments a{ends_of(problem, buffers.edges), views_of(problem, buffers), sums, sum_values,
                                         bad_ends.first_bad()};
  require(kernels->add_by_atomics(ctx.stream(), kernels->function, a), ctx);
  if (at.sums == nullptr) return bad_ends.queue(ctx, a.edges);
  queue_unpadded(ctx, at.sums, sum_values, static_cast<float*>(buffers.result), problem.components, problem.nodes,
                 bad_ends, a.edges);
}

constexpr listed_ends passes[] = {listed_ends::first, listed_ends::second};

struct two_pass_arrays {
  unsigned long long* first_bad;
  list_scratch making;
  list_outputs lists;
  std::byte* piece_sums;

  two_pass_arrays(const edge_sum_problem& p, core::scratch_arrays& arrays)
      : first_bad(arrays.take<unsigned long long>(1)),
        making(p, listed_ends::first, arrays),
        lists{arrays.take<edge_kernels::list_entry>(p.edges), arrays.take<std::uint64_t>(p.nodes + 1)},
        piece_sums(arrays.take<std::byte>(piece_sum_bytes(p, p.edges))) {}
};

// Sorting pairs of an end and an entry of 8 bytes takes most of the time, some 200 bytes an edge; contributions are
// computed twice, and values read at random at the other end alone.
plan::planned plan_two_pass(const edge_sum_problem& problem, const plan::scope& scope) {
  if (const char* reason = list_rejection(problem)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<two_pass_arrays>(problem);
  plan.add("latency", machine.launch_seconds + 6 * machine.step_seconds);
  add_list_cost(problem, listed_ends::first, machine, plan);
  constexpr double uneven = 1.6;  // lists of unequal length, whose values are at random
  plan.add("sums", uneven * 2 * list_sum_seconds(problem, problem.edges, machine));
  return plan;
}

void run_two_pass(const context& ctx, const edge_sum_problem& problem, const plan::planned&,
                  const edge_sum_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (problem.edges == 0) {
    return require(cudaMemsetAsync(buffers.result, 0, problem.nodes * problem.result_bytes(), ctx.stream()), ctx);
  }
  const auto at = core::arrays_in<two_pass_arrays>(scratch, problem);
  const edge_sum_kernels kernels(problem, buffers);
  const bad_end_report bad_ends(ctx, problem, edge_call::edge_sum, at.first_bad);
  const edge_kernels::end_arrays edges = ends_of(problem, buffers.edges);
  for (const listed_ends ends : passes) {
    queue_lists(ctx, problem, edges, ends, nullptr, at.making, at.lists, bad_ends.first_bad());
    queue_list_sums(
        ctx, kernels,
        {views_of(problem, buffers), at.lists.begins, at.lists.entries, nullptr, nullptr, problem.nodes, problem.edges,
         at.piece_sums, nullptr, lanes_of_list(problem, problem.edges), ends == listed_ends::second});
  }
  bad_ends.queue(ctx, edges);
}

}  // namespace

extern constinit const edge_sum_variant edge_sum_atomic{"cuda.atomic", backend_kind::cuda, plan_atomic, run_atomic};
extern constinit const edge_sum_variant edge_sum_two_pass{"cuda.two_pass", backend_kind::cuda, plan_two_pass,
                                                          run_two_pass};

}  // namespace sheaf::cuda
