#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/record_copy.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Owner computes: each thread owns a range of the output and reads the whole index list. Records of a range are written
// in the order of the list, so the last writer wins; the price is that every thread reads the index once.
plan::planned plan_owner(const scatter_problem& problem, const plan::scope& scope) {
  const machine& m = scope.machine;
  memory_cost t = scatter_cost(problem, m);
  t.sequential += m.streamed(problem.index_bytes() * (m.parallelism - 1), problem.index_bytes());
  plan::planned plan = to_plan(t, m, true);
  add_lines_read(problem, m, true, plan);
  return plan;
}

void run_owner(const context& ctx, const scatter_problem& problem, const plan::planned&, const scatter_buffers& buffers,
               std::byte*) {
  const std::uint64_t limit = problem.index_limit();
  move_parts(ctx, problem, problem.indexed_count, buffers.index, scatter_wording,
             [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               first_bad bad;
               for (std::uint64_t i = 0; i < problem.count; ++i) {
                 const std::uint64_t to = index[i];
                 if (to >= begin && to < end) {
                   layout.copy(buffers.out.data + layout.indexed_offset(to),
                               buffers.in.data + layout.sequential_offset(i));
                 } else if (to >= limit) {
                   bad.note(i);
                 }
               }
               return bad;
             });
}

}  // namespace

extern constinit const scatter_variant scatter_owner{"cpu.owner", backend_kind::cpu, plan_owner, run_owner};

}  // namespace sheaf::cpu
