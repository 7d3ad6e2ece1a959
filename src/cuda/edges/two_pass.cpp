#include "core/scratch_offsets.hpp"
#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/lists.hpp"
#include "primitives/edges/edge_sum.hpp"

// The variant cuda.two_pass: the two passes of Ujaldon and Saltz 2005, section 4.2, over edges sorted by their first
// end and then by their second. Each pass makes the sums of the sorted edges' nodes, so that no sum has two writers. A
// node adds the edges from it and then the edges to it, both in their order.
namespace sheaf::cuda {
namespace {

using primitives::edge_sum_buffers;
using primitives::edge_sum_problem;

constexpr listed_ends passes[] = {listed_ends::first, listed_ends::second};

struct two_pass_layout {
  std::uint64_t first_bad;
  list_layout lists;
  std::uint64_t sorted;
  std::uint64_t begins;
  std::uint64_t piece_sums;
};

// Sorting pairs of an end and an entry of 8 bytes takes most of the time, some 200 bytes an edge; contributions are
// computed twice, and values read at random at the other end alone.
plan::planned plan_two_pass(const edge_sum_problem& p, const plan::scope& scope) {
  if (const char* reason = list_rejection(p)) return plan::rejected(reason);
  const machine& m = scope.machine;
  core::scratch_offsets place;
  two_pass_layout layout;
  layout.first_bad = place.take(bad_end_report::bytes);
  layout.lists = list_layout(p, listed_ends::first, place);
  layout.sorted = place.take(p.edges * sizeof(edge_kernels::list_entry));
  layout.begins = place.take((p.nodes + 1) * sizeof(std::uint64_t));
  layout.piece_sums = place.take(piece_sum_bytes(p, p.edges));
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(layout);
  plan.add("latency", m.launch_seconds + 6 * m.step_seconds);
  add_list_cost(p, listed_ends::first, m, plan);
  constexpr double uneven = 1.6;  // lists of unequal length, whose values are at random
  plan.add("sums", uneven * 2 * list_sum_seconds(p, p.edges, m));
  return plan;
}

void run_two_pass(const context& ctx, const edge_sum_problem& p, const plan::planned& plan, const edge_sum_buffers& b,
                  std::byte* scratch) {
  const device_scope current_device(ctx.device());
  if (p.edges == 0) {
    return require(cudaMemsetAsync(b.result, 0, p.nodes * p.result_bytes(), ctx.stream()), ctx);
  }
  const auto layout = plan.decided.get<two_pass_layout>();
  const edge_sum_kernels kernels(p, b);
  const bad_end_report bad_ends(ctx, p, primitives::edge_call::edge_sum, scratch + layout.first_bad);
  const edge_kernels::end_arrays edges = ends_of(p, b.edges);
  const list_outputs lists{reinterpret_cast<edge_kernels::list_entry*>(scratch + layout.sorted),
                           reinterpret_cast<std::uint64_t*>(scratch + layout.begins)};
  for (const listed_ends ends : passes) {
    queue_lists(ctx, p, edges, ends, nullptr, layout.lists, scratch, lists, bad_ends.first_bad());
    queue_list_sums(ctx, kernels,
                    {views_of(p, b), lists.begins, lists.entries, p.nodes, p.edges, scratch + layout.piece_sums,
                     lanes_of_list(p, p.edges), ends == listed_ends::second});
  }
  bad_ends.queue(ctx, edges);
}

}  // namespace

extern constinit const primitives::edge_sum_variant edge_sum_two_pass{"cuda.two_pass", backend_kind::cuda,
                                                                      plan_two_pass, run_two_pass};

}  // namespace sheaf::cuda
