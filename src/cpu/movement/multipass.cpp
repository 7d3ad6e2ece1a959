#include "primitives/movement/multipass.hpp"

#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/core_speed.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

/// Time of asking for every index in every pass whether it lies in the pass' region, beyond streaming the index. The
/// branch is mispredicted about once a record, whatever the number of passes. Xeon of family 6 model 207, 2^22 random
/// indices into 4096 records of 8 bytes, time beyond that of one pass: 9 ns a record in 2 passes, 18 in 8, 38 in 32.
double region_check_seconds(const movement& p, const machine& machine, std::uint64_t passes) noexcept {
  constexpr double digits_per_check = 0.346;
  constexpr double digits_per_misprediction = 3.08;
  if (passes == 1) return 0;
  return static_cast<double>(p.count) * (digits_per_misprediction + digits_per_check * static_cast<double>(passes)) *
         digit_seconds(machine) / machine.parallelism;
}

/// The plan of a multi-pass variant (He et al. 2007), with as many passes as the paper's model asks for.
plan::planned plan_passes(const movement& problem, const machine& machine, plan::he2007::operation operation) {
  namespace he2007 = plan::he2007;
  const bool writes = operation == he2007::operation::scatter;
  const auto memory_cost_of = [&](const movement& q) {
    return writes ? scatter_cost(q, machine) : gather_cost(q, machine);
  };
  const std::uint64_t passes =
      he2007::best_passes(operation, sizes_of(problem), problem.pattern, he2007::parameters_of(machine));
  memory_cost cost = memory_cost_of(problem);
  cost.sequential +=
      static_cast<double>(passes - 1) * static_cast<double>(problem.index_bytes()) / machine.copy_bytes_per_second;
  if (passes > 1) {
    movement region = problem;
    region.indexed_count /= passes;
    cost.indexed_random = memory_cost_of(region).indexed_random;
  }
  plan::planned plan = to_plan(cost, machine, writes);
  if (writes) add_sharing(problem, machine, plan);
  add_lines_read(problem, machine, writes, plan);
  plan.add("region checks", region_check_seconds(problem, machine, passes));
  // A single pass is cpu.direct without prefetching.
  if (passes == 1) plan.add("waiting for lines", 0.05 * plan.seconds);
  plan.decided.set(multipass_decision{.passes = static_cast<std::uint32_t>(passes)});
  // It is ahead of the others nowhere by a tenth in 504 recorded problems (Xeon of family 6 model 207), and takes up to
  // 8 times as long as cpu.direct where lists are in streams (112 ms and 13, 9 * 10^6 records of 12 bytes on an EPYC of
  // family 25), which region checks do not predict.
  plan.by_name_only = true;
  return plan;
}

/// The records of the indexed side that a pass moves.
struct region {
  std::uint64_t begin;
  std::uint64_t count;
  bool is_first;
};

/// Calls pass(first, count, region) -> first_bad for every pass over every segment of the thread's part [begin, end) of
/// the list. Positions that a pass reports are counted from `first`.
///
/// Threads start together and scan equal amounts, so at any time they are in about the same region. The cache needs no
/// more than that, so there is no barrier between passes. A part is cut into as many segments as the whole list would
/// be, so that the n-th segments of all threads together are as large as a segment of the paper.
template <class Pass>
first_bad for_each_pass(const movement& m, const multipass_decision& decided, std::uint64_t begin, std::uint64_t end,
                        Pass pass) {
  const std::uint64_t passes = decided.passes;
  const std::uint64_t segments = decided.segments;
  const equal_parts regions(reachable_records(m), passes);
  const equal_parts cuts(end - begin, segments);
  first_bad all;
  for (std::uint64_t s = 0; s < segments && cuts.count(s) > 0; ++s) {
    const std::uint64_t first = begin + cuts.begin(s);
    for (std::uint64_t i = 0; i < passes && regions.count(i) > 0; ++i) {
      all.note(pass(first, cuts.count(s), region{regions.begin(i), regions.count(i), i == 0}).behind(first).position);
    }
  }
  return all;
}

plan::planned plan_multipass(const gather_problem& p, const plan::scope& scope) {
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes(p, scope.machine, plan::he2007::operation::gather);
}

plan::planned plan_multipass(const scatter_problem& p, const plan::scope& scope) {
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (p.indexed_count == 0) return plan::rejected("there is no record that an index could name");
  return plan_passes(p, scope.machine, plan::he2007::operation::scatter);
}

// A pass over `count` indices, with the sequential side from the first of them on. A bad index lies in no region; the
// first pass reports it, and clears its record of a gather's output.
template <bool Gathers, class Layout, class Index>
first_bad move_region(Layout layout, const Index* index, std::uint64_t count, const std::byte* from, std::byte* to,
                      region moved, std::uint64_t limit) {
  first_bad bad;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t record = index[i];
    if (record - moved.begin < moved.count) {
      if constexpr (Gathers) {
        layout.copy(to + layout.sequential_offset(i), from + layout.indexed_offset(record));
      } else {
        layout.copy(to + layout.indexed_offset(record), from + layout.sequential_offset(i));
      }
    } else if (moved.is_first && record >= limit) {
      if constexpr (Gathers) layout.clear(to + layout.sequential_offset(i));
      bad.note(i);
    }
  }
  return bad;
}

void run_multipass(const context& ctx, const gather_problem& problem, const plan::planned& plan,
                   const gather_buffers& buffers, std::byte*) {
  const auto decided = plan.decided.get<multipass_decision>();
  move_parts(
      ctx, problem, problem.count, buffers.index, gather_wording,
      [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        return for_each_pass(problem, decided, begin, end, [&](std::uint64_t first, std::uint64_t count, region moved) {
          return move_region<true>(layout, index + first, count, buffers.table.data,
                                   buffers.out.data + layout.sequential_offset(first), moved, problem.index_limit());
        });
      });
}

void run_multipass(const context& ctx, const scatter_problem& problem, const plan::planned& plan,
                   const scatter_buffers& buffers, std::byte*) {
  const auto decided = plan.decided.get<multipass_decision>();
  move_parts(
      ctx, problem, problem.count, buffers.index, scatter_wording,
      [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t end, std::uint64_t) {
        return for_each_pass(problem, decided, begin, end, [&](std::uint64_t first, std::uint64_t count, region moved) {
          return move_region<false>(layout, index + first, count, buffers.in.data + layout.sequential_offset(first),
                                    buffers.out.data, moved, problem.index_limit());
        });
      });
}

}  // namespace

extern constinit const gather_variant gather_multipass{"cpu.multipass", backend_kind::cpu, plan_multipass,
                                                       run_multipass};
extern constinit const scatter_variant scatter_multipass{"cpu.multipass", backend_kind::cpu, plan_multipass,
                                                         run_multipass};

}  // namespace sheaf::cpu
