#pragma once

#include <cstdint>

#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "cpu/threads/core_speed.hpp"
#include "primitives/movement/multipass.hpp"

namespace sheaf::cpu {

/// Time of asking for every index in every pass whether it lies in the pass' region, beyond streaming the index. The
/// branch is mispredicted about once a record, whatever the number of passes. Xeon of family 6 model 207, 2^22 random
/// indices into 4096 records of 8 bytes, time beyond that of one pass: 9 ns a record in 2 passes, 18 in 8, 38 in 32.
inline double region_check_seconds(const primitives::movement& p, const machine& m, std::uint64_t passes) noexcept {
  constexpr double digits_per_check = 0.346;
  constexpr double digits_per_misprediction = 3.08;
  if (passes == 1) return 0;
  return static_cast<double>(p.count) * (digits_per_misprediction + digits_per_check * static_cast<double>(passes)) *
         digit_seconds(m) / m.parallelism;
}

/// The plan of a multi-pass variant (He et al. 2007), with as many passes as the paper's model asks for.
inline plan::planned plan_passes(const primitives::movement& p, const machine& m, plan::he2007::operation operation) {
  namespace he2007 = plan::he2007;
  const bool writes = operation == he2007::operation::scatter;
  const auto memory_cost_of = [&](const primitives::movement& q) {
    return writes ? scatter_cost(q, m) : gather_cost(q, m);
  };
  const std::uint64_t passes =
      he2007::best_passes(operation, primitives::sizes_of(p), p.pattern, he2007::parameters_of(m));
  memory_cost t = memory_cost_of(p);
  t.sequential += static_cast<double>(passes - 1) * static_cast<double>(p.index_bytes()) / m.copy_bytes_per_second;
  if (passes > 1) {
    primitives::movement region = p;
    region.indexed_count /= passes;
    t.indexed_random = memory_cost_of(region).indexed_random;
  }
  plan::planned plan = to_plan(t, m, writes);
  if (writes) add_sharing(p, m, plan);
  add_lines_read(p, m, writes, plan);
  plan.add("region checks", region_check_seconds(p, m, passes));
  // A single pass is cpu.direct without prefetching.
  if (passes == 1) plan.add("waiting for lines", 0.05 * plan.seconds);
  plan.decided.set(primitives::multipass_decision{.passes = static_cast<std::uint32_t>(passes)});
  plan.by_name_only = p.pattern.shape == access_pattern::kind::unknown;
  return plan;
}

/// Calls pass(first, count, region_begin, region_count, is_first) -> first_bad for every pass over every segment of
/// the thread's part [begin, end) of the list. Positions that a pass reports are counted from `first`.
///
/// Threads start together and scan equal amounts, so at any time they are in about the same region. The cache needs no
/// more than that, so there is no barrier between passes. A part is cut into as many segments as the whole list would
/// be, so that the n-th segments of all threads together are as large as a segment of the paper.
template <class Pass>
first_bad for_each_pass(const primitives::movement& m, const primitives::multipass_decision& decided,
                        std::uint64_t begin, std::uint64_t end, Pass pass) {
  const std::uint64_t passes = decided.passes;
  const std::uint64_t segments = decided.segments;
  const primitives::equal_parts regions(primitives::reachable_records(m), passes);
  const primitives::equal_parts cuts(end - begin, segments);
  first_bad all;
  for (std::uint64_t s = 0; s < segments && cuts.count(s) > 0; ++s) {
    const std::uint64_t first = begin + cuts.begin(s);
    for (std::uint64_t i = 0; i < passes && regions.count(i) > 0; ++i) {
      const first_bad bad = pass(first, cuts.count(s), regions.begin(i), regions.count(i), i == 0);
      if (bad.found()) all.note(first + bad.position);
    }
  }
  return all;
}

}  // namespace sheaf::cpu
