#pragma once

#include "primitives/movement/problem.hpp"

// Memory cost: what moving records through an index costs the memory system of a GPU, resource by resource. Every plan
// of this backend starts from these functions. Their constants were fitted to an H200 with a profile of its own, over 1
// to 1024 bytes, 2^16 to 2^29 records and every access pattern (docs/experiments/planner.md). They are ratios, never
// times: times come from the profile.
namespace sheaf::cuda {

/// Seconds that a movement keeps each resource of the memory system busy.
struct memory_cost {
  double sequential_bus = 0;    ///< memory bus: the index and the sequential side, in order
  double indexed_bus = 0;       ///< memory bus: the sectors of the indexed side
  double access = 0;            ///< accesses to the indexed side one by one: L1, L2 and fetches from memory
  double issue = 0;             ///< loads and stores of words
  double overlap_exponent = 3;  ///< how well the resources overlap, as in planned::add_overlapped
};

/// The cost of a gather's accesses, which read the indexed side, by the problem's access pattern.
memory_cost gather_cost(const primitives::movement& problem, const machine& machine);

/// The cost of a scatter's accesses, which write the indexed side, by the problem's access pattern.
memory_cost scatter_cost(const primitives::movement& problem, const machine& machine);

/// The cost of atomic additions to words of the indexed side.
memory_cost atomic_add_cost(const primitives::movement& problem, const machine& machine);

/// The cost of a movement in `passes` passes, each over the whole index and one region of the indexed side
/// (primitives/multipass.hpp), which a scatter writes.
memory_cost multipass_cost(const primitives::movement& problem, const machine& machine, std::uint64_t passes,
                           bool writes);

/// Raises `cost` to that of a kernel whose lanes each move a record of their own word by word: accesses do not
/// coalesce, and every word of both sides is a request of its own.
memory_cost uncoalesced_cost(memory_cost cost, const primitives::movement& problem, const machine& machine);

/// Seconds to move `words` words one at a time, with a load and a store each and enough of them in flight.
double issue_seconds(double words, const machine& machine);

/// Seconds to issue the accesses of a kernel that keeps one record in flight for each thread.
double single_issue_seconds(double records, const machine& machine);

/// A plan with the launch latency and the terms of `cost`; `writes` names the access term.
plan::planned to_plan(const memory_cost& cost, const machine& machine, bool writes);

/// Whether a list's accesses fall anywhere: at random, or, while its order is unknown, possibly so.
inline bool is_scattered(access_pattern order) {
  return order.shape == access_pattern::kind::random || order.shape == access_pattern::kind::unknown;
}

}  // namespace sheaf::cuda
