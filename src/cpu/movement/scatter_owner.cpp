#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Adds the time in which each thread looks at all entries for those that are its own. Where these are in no order, it
// mispredicts the branch behind as often as an entry is of another kind than most. EPYC of family 25, two threads, 3000
// records of 12 bytes by a permutation: 14.9 us, of which mispredictions take 6; cpu.direct takes 8.
void add_looks(const scatter_problem& problem, const machine& m, plan::planned& plan) {
  constexpr double digits_per_look = 0.35;
  constexpr double digits_per_misprediction = 3.08;
  const std::uint64_t parts = parts_worth(2 * problem.sequential_bytes() + problem.index_bytes(), m.parallelism);
  const bool is_in_order = problem.pattern.shape == access_pattern::kind::sequential ||
                           problem.pattern.shape == access_pattern::kind::repeated ||
                           problem.pattern.shape == access_pattern::kind::strided ||
                           problem.pattern.shape == access_pattern::kind::clustered;
  const double mispredictions = parts == 1 || is_in_order ? 0 : 1 / static_cast<double>(parts);
  plan.add("looks",
           shared_digit_seconds(problem.count, digits_per_look + digits_per_misprediction * mispredictions, m, 1));
}

// Owner computes: each thread owns a range of the output and reads the whole index list. Records of a range are written
// in the order of the list, so the last writer wins; the price is that every thread reads the index once.
plan::planned plan_owner(const scatter_problem& problem, const plan::scope& scope) {
  const machine& m = scope.machine;
  memory_cost t = scatter_cost(problem, m);
  t.sequential += m.streamed(problem.index_bytes() * (m.parallelism - 1), problem.index_bytes());
  plan::planned plan = to_plan(t, m, true);
  add_looks(problem, m, plan);
  add_lines_read(problem, m, true, plan);
  // Where any writer may win, only threads that stride through one output together are slower than owners by more than
  // they may be faster: by the caches' lines that they take from each other, which come and go with what lies where.
  const bool shares_lines = problem.pattern.shape == access_pattern::kind::strided;
  plan.by_name_only = problem.duplicates == duplicates::any && !shares_lines;
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
