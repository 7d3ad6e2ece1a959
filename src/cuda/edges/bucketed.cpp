#include "core/scratch_offsets.hpp"
#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/bucket_lists.hpp"

// The variant cuda.bucketed: one sum with the same bits in every run. Lists of the edges of each node are made by
// buckets of nodes that fit shared memory, in place of a sort, and summed as prepared lists are.
namespace sheaf::cuda {
namespace {

using namespace primitives;

struct bucketed_arrays {
  unsigned long long* first_bad;
  row_outputs lists;
  std::byte* piece_sums;
  bucket_scratch buckets;

  bucketed_arrays(const edge_sum_problem& p, const bucket_cut& cut, core::scratch_arrays& arrays)
      : first_bad(arrays.take<unsigned long long>(1)),
        lists{arrays.take<std::uint32_t>(2 * p.edges), nullptr, arrays.take<std::uint64_t>(p.nodes + 1),
              arrays.take<std::uint32_t>(1)},
        piece_sums(arrays.take<std::byte>(piece_sum_bytes(p, 2 * p.edges))),
        buckets(cut, arrays) {
    if (cut.carried > 0) lists.edges = arrays.take<std::uint32_t>(2 * p.edges * cut.carried);
  }
};

// Ends are read once and written by buckets, 12 bytes an edge; read in shared memory, and written as lists of 8 bytes
// an edge, from which contributions are computed twice, with a value at random for each. Weights of 4 bytes go the same
// way, 36 bytes an edge, so that sums find them in line. A sort by both ends moves some 200 bytes.
plan::planned plan_bucketed(const edge_sum_problem& problem, const plan::scope& scope) {
  const bucket_cut cut(problem);
  if (const char* reason = bucket_rejection(problem, cut, scope)) return plan::rejected(reason);
  const machine& machine = scope.machine;
  plan::planned plan;
  plan.decided.set(cut);
  plan.scratch_bytes = core::bytes_of<bucketed_arrays>(problem, cut);
  plan.add("latency", machine.launch_seconds + 12 * machine.step_seconds);
  add_bucket_list_cost(problem, cut, machine, plan);
  plan.add("sums", row_sum_seconds(problem, machine, cut.carries_weights));
  return plan;
}

void run_bucketed(const context& ctx, const edge_sum_problem& problem, const plan::planned& plan,
                  const edge_sum_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto cut = plan.decided.get<bucket_cut>();
  const auto at = core::arrays_in<bucketed_arrays>(scratch, problem, cut);
  const edge_sum_kernels kernels(problem, buffers);
  const bad_end_report bad_ends(ctx, problem, edge_call::edge_sum, at.first_bad);
  const edge_kernels::end_arrays edges = ends_of(problem, buffers.edges);
  queue_bucket_lists(ctx, problem, edges, cut.carries_weights ? buffers.weights : nullptr, cut, at.buckets, at.lists,
                     bad_ends.first_bad());
  edge_kernels::sum_views views = views_of(problem, buffers);
  if (cut.carries_weights) views.weights = at.lists.edges;
  queue_list_sums(ctx, kernels,
                  {views, at.lists.begins, nullptr, at.lists.others, cut.carries_weights ? nullptr : at.lists.edges,
                   problem.nodes, 2 * problem.edges, at.piece_sums, at.lists.longest, 0, false});
  bad_ends.queue(ctx, edges);
}

}  // namespace

extern constinit const edge_sum_variant edge_sum_bucketed{"cuda.bucketed", backend_kind::cuda, plan_bucketed,
                                                          run_bucketed};

}  // namespace sheaf::cuda
