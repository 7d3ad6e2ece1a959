#pragma once

#include <sheaf/cuda/detail/list_arguments.hpp>

#include "core/scratch_offsets.hpp"
#include "plan/choose.hpp"
#include "primitives/linked_list/contract.hpp"

// How a list is cut into sublists, level after level, and where the arrays of a call lie in its scratch.
namespace sheaf::cuda {

/// Bytes of structs that hold values, at most, whatever the values' alignment.
std::uint64_t packed_bytes(const primitives::list_problem& problem);
std::uint64_t sublist_bytes(const primitives::list_problem& problem);
std::uint64_t prefix_bytes(const primitives::list_problem& problem);
std::uint64_t segment_bytes(const primitives::list_problem& problem);

/// Bytes that a walk reads of a node.
inline std::uint64_t node_bytes(const primitives::list_problem& p) {
  return p.ranks() ? bytes(p.successor) : packed_bytes(p);
}

/// Whether values and successors must be brought side by side first.
inline bool packs(const primitives::list_problem& p) { return !p.ranks() && !p.is_packed; }

/// Why no variant of this backend takes the list, or null.
const char* list_rejection(const primitives::list_problem& problem);

/// The cuts of level 0 and of the levels above, for sublists of 2^log2_block nodes in the mean.
struct list_cuts {
  std::uint32_t levels = 0;  ///< above level 0
  list_kernels::list_cut of[list_kernels::most_levels + 1];

  list_cuts(const primitives::list_problem& problem, std::uint32_t log2_block);
};

/// What a plan takes for its walks, as the plan's decision.
struct planned_walks {
  std::uint32_t sublists;  ///< those of splitters
  std::uint32_t blocks;    ///< of list_kernels::list_threads threads

  void tell(plan::told& to) const { to.add("sublists", sublists).add("blocks", blocks); }
};

/// The arrays that all variants share.
struct list_arrays {
  list_kernels::list_status* status;
  std::byte* faults;  ///< of resolve_ranks
  list_kernels::list_level level[list_kernels::most_levels] = {};
  list_kernels::last_level_arrays last;
  std::byte* unset;  ///< prefixes, carries and predecessors, which begin with all bits set
  std::uint64_t unset_bytes;
  std::uint32_t* has_predecessor = nullptr;  ///< of a forest
  std::uint32_t* heads = nullptr;            ///< of a forest
  std::byte* packed = nullptr;

  list_arrays(const primitives::list_problem& problem, const list_cuts& cuts, core::scratch_arrays& arrays);
};

/// Seconds until the longest of `walks` sublists of 2^log2_block nodes in the mean is walked, alone, in `footprint`
/// bytes.
double longest_walk_seconds(std::uint32_t log2_block, double walks, std::uint64_t footprint, const machine& machine);

/// The cheapest of the plans that plan_cut(log2_block) makes, for sublists of 2^least to 2^most nodes in the mean:
/// short ones mean even loads and short tails, long ones a short list of sublists.
template <class PlanCut>
plan::planned cheapest_cut(const primitives::list_problem& p, std::uint32_t least, std::uint32_t most,
                           PlanCut plan_cut) {
  if (p.log2_block != 0) return plan_cut(p.log2_block);
  plan::planned best = plan_cut(least);
  for (std::uint32_t log2_block = least + 1; log2_block <= most; ++log2_block) {
    plan::planned plan = plan_cut(log2_block);
    if (plan.applicable() && (!best.applicable() || plan.seconds < best.seconds)) best = std::move(plan);
  }
  return best;
}

/// Blocks of a walk with this many threads, or with those that the problem asks for.
std::uint32_t blocks_of_walkers(const primitives::list_problem& problem, double walkers, double most);

/// Adds latencies, looking at each successor, and the heads.
void price_head(const primitives::list_problem& problem, const machine& machine, plan::planned& plan);
/// Adds the scan of sublists on the device.
void price_sublists(const primitives::list_problem& problem, const list_cuts& cuts, const machine& machine,
                    plan::planned& plan);

/// Steps after which a walk of mean length 2^log2_block is given up. A walk at random gets there with probability e^-68
/// at 2^8 nodes a block, and more rarely with fewer.
std::uint32_t most_steps(std::uint32_t log2_block);

}  // namespace sheaf::cuda
