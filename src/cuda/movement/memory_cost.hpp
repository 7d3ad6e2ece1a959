#pragma once

#include <sheaf/machine.hpp>

#include "plan/variant.hpp"
#include "primitives/movement.hpp"

// What moving records through an index costs the memory system of a GPU, resource by resource. Every plan of this
// backend is made from these; the constants were fitted to an H200 with a profile of its own, over 1 to 1024 bytes,
// 2^16 to 2^29 records and every pattern (docs/experiments.md), and are ratios, not times: times come from the profile.
namespace sheaf::cuda {

/// Seconds that a movement keeps each resource busy.
struct memory_cost {
  double near = 0;              ///< memory bus: index and near side, in order
  double far = 0;               ///< memory bus: the far side's sectors
  double access = 0;            ///< far accesses one by one: what L1 and L2 serve, and fetches from memory
  double issue = 0;             ///< loads and stores of words
  double overlap_exponent = 3;  ///< how well they overlap, as in planned::add_overlapped
};

/// The memory_cost of a gather's or scatter's accesses, whichever variant makes them: its far side is read or written.
memory_cost gather_cost(const primitives::movement& p, const machine& m);
memory_cost scatter_cost(const primitives::movement& p, const machine& m);

/// The same for atomic additions to words of the far side.
memory_cost atomic_add_cost(const primitives::movement& p, const machine& m);

/// Whether accesses of this order fall anywhere: at random, or as far as one knows.
inline bool is_scattered(access_pattern order) {
  return order.shape == access_pattern::kind::random || order.shape == access_pattern::kind::unknown;
}

/// Latency and memory_cost as a plan's terms.
plan::planned to_plan(const memory_cost& t, const machine& m, bool writes);

/// The same in `passes` passes, each over the whole index and a region of the far side (primitives/multipass.hpp).
memory_cost multipass_gather_cost(const primitives::movement& p, const machine& m, std::uint64_t passes);
memory_cost multipass_scatter_cost(const primitives::movement& p, const machine& m, std::uint64_t passes);

/// What a movement costs whose lanes walk records that lie apart: every word of both sides is a request of its own.
memory_cost uncoalesced(memory_cost t, const primitives::movement& p, const machine& m);

/// Seconds to move `words` words one at a time, a load and a store each, where enough of them are in flight.
double issue_seconds(double words, const machine& m);
/// The same for kernels that keep one record in flight a thread.
double single_issue_seconds(double records, const machine& m);

}  // namespace sheaf::cuda
