#include "cuda/linked_list/plan.hpp"

namespace sheaf::cuda {

using primitives::list_problem;

namespace {

constexpr std::uint64_t up_to(std::uint64_t bytes, std::uint64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

struct list_tuning {
  std::uint32_t log2_block_above = 4;  ///< nodes of a block on the levels above 0, whose lists lie in L2
  /// Time from one node of a walk to the next, when nothing else keeps the device busy, over the latency of a read.
  double hop = 1.3;
  double hop_above = 4;       ///< the same on the levels above 0, whose walks write what they pass
  double level_barriers = 3;  ///< of a level that is walked, and as many again where pointer jumping begins
  double jump_barriers = 2;   ///< time of a round of pointer jumping, in barriers
  double jump_reads = 2.8;    ///< and in reads at random: of a sum and of a pointer, both of which are then written
};
constexpr list_tuning tuning;

}  // namespace

std::uint64_t packed_bytes(const list_problem& p) {
  if (p.value_bytes <= 4) return 8;
  return up_to(p.value_bytes + 4, 16);
}
std::uint64_t sublist_bytes(const list_problem& p) {
  return p.ranks() ? 8 : p.value_bytes == 4 ? 12 : up_to(8 + p.value_bytes, 16);
}
std::uint64_t prefix_bytes(const list_problem& p) { return sublist_bytes(p); }
std::uint64_t segment_bytes(const list_problem& p) { return packed_bytes(p); }

const char* list_rejection(const list_problem& p) {
  if (p.count >= list_kernels::most_list_nodes) return "node numbers exceed 32 bits";
  // Walks are numbered with 32 bits: one for each head, and one for each block of at least 8 nodes.
  constexpr std::uint64_t most_of_forest = std::uint64_t{7} << 29;
  if (p.lists == list_count::many && p.count > most_of_forest) return "walk numbers exceed 32 bits";
  return nullptr;
}

list_cuts::list_cuts(const list_problem& p, std::uint32_t log2_block) {
  std::uint64_t count = p.count;
  for (std::uint32_t level = 0;; ++level) {
    const bool is_last = level > 0 && count <= list_kernels::most_last_level;
    list_kernels::list_cut& cut = of[level];
    cut.count = static_cast<std::uint32_t>(count);
    cut.seed = level * 0x51ed27U;
    if (is_last) break;
    cut.log2_block = level == 0 ? log2_block : tuning.log2_block_above;
    // Few levels must be enough: the last but one is cut as coarse as it takes.
    if (level + 1 == list_kernels::most_levels) {
      while ((count >> cut.log2_block) >= list_kernels::most_last_level) ++cut.log2_block;
    }
    count = (count + (std::uint64_t{1} << cut.log2_block) - 1) >> cut.log2_block;
    cut.blocks = static_cast<std::uint32_t>(count);
    levels = level + 1;
  }
}

list_arrays::list_arrays(const list_problem& problem, const list_cuts& cuts, core::scratch_arrays& arrays)
    : status(arrays.take<list_kernels::list_status>(1)), faults(arrays.take<std::byte>(256)) {
  const std::uint64_t last_count = cuts.of[cuts.levels].count;
  for (std::uint32_t l = 0; l < cuts.levels; ++l) {
    level[l].cut = cuts.of[l + 1];
    level[l].nodes = arrays.take<std::byte>(level[l].cut.count * sublist_bytes(problem));
  }
  for (int side = 0; side < 2; ++side) {
    last.hop[side] = arrays.take<std::uint32_t>(last_count);
    last.upto[side] = arrays.take<std::byte>(last_count * prefix_bytes(problem));
  }
  unset = arrays.rest();
  const std::uint64_t bytes_before = arrays.bytes();
  for (std::uint32_t l = 0; l < cuts.levels; ++l) {
    level[l].prefixes = arrays.take<std::byte>(level[l].cut.count * prefix_bytes(problem));
    level[l].carries = arrays.take<std::byte>(level[l].cut.count * prefix_bytes(problem));
  }
  last.previous = arrays.take<std::uint32_t>(last_count);
  unset_bytes = arrays.bytes() - bytes_before;
  if (problem.lists == list_count::many) {
    has_predecessor = arrays.take<std::uint32_t>((problem.count + 31) / 32);
    heads = arrays.take<std::uint32_t>(problem.count);
  }
  if (packs(problem)) packed = arrays.take<std::byte>(problem.count * packed_bytes(problem));
}

namespace {

double latency_at(std::uint64_t footprint, const machine& m) {
  double seconds = m.access_seconds;
  for (auto point = m.latencies.rbegin(); point != m.latencies.rend() && point->footprint_bytes >= footprint; ++point) {
    seconds = point->seconds;
  }
  return seconds;
}

/// Hops of the longest of `walks` sublists.
double longest_walk(std::uint32_t log2_block, double walks) {
  return std::exp2(log2_block) * std::log(std::max(2.0, walks));
}

}  // namespace

double longest_walk_seconds(std::uint32_t log2_block, double walks, std::uint64_t footprint, const machine& m) {
  return longest_walk(log2_block, walks) * tuning.hop * latency_at(footprint, m);
}

std::uint32_t blocks_of_walkers(const list_problem& p, double walkers, double most) {
  const double asked = p.walkers != 0 ? p.walkers : std::min(walkers, most);
  return static_cast<std::uint32_t>(std::max(1.0, std::ceil(asked / list_kernels::list_threads)));
}

void price_head(const list_problem& problem, const machine& machine, plan::planned& plan) {
  const auto count = static_cast<double>(problem.count);
  plan.add("latency", machine.launch_seconds + 6 * machine.step_seconds);
  const std::uint64_t input = problem.count * (problem.is_packed ? 8 : bytes(problem.successor));
  const std::uint64_t moved =
      packs(problem) ? input + problem.count * (problem.value_bytes + packed_bytes(problem)) : input;
  plan.add(packs(problem) ? "packing" : "head", machine.streamed(moved, moved));
  if (problem.lists == list_count::many) {
    plan.add("heads",
             machine.atomic_adds(problem.count, 4, problem.count / 8) + count / 8 / machine.copy_bytes_per_second);
  }
}

void price_sublists(const list_problem& problem, const list_cuts& cuts, const machine& machine, plan::planned& plan) {
  double seconds = 0;
  for (std::uint32_t level = 0; level < cuts.levels; ++level) {
    const list_kernels::list_cut& cut = cuts.of[level + 1];
    const std::uint64_t footprint = cut.count * (sublist_bytes(problem) + prefix_bytes(problem));
    seconds += tuning.level_barriers * machine.barrier_seconds + machine.random_reads(cut.count, 16, footprint) +
               machine.random_writes(cut.count, 16, footprint) + machine.streamed(3 * footprint, footprint);
    if (level + 1 < cuts.levels) {
      seconds += longest_walk(cut.log2_block, cut.blocks) * tuning.hop_above * latency_at(footprint, machine);
    } else {
      const double rounds = std::ceil(std::log2(static_cast<double>(cut.count) + 1));
      seconds += (rounds * tuning.jump_barriers + tuning.level_barriers) * machine.barrier_seconds +
                 rounds * tuning.jump_reads * machine.random_reads(cut.count, prefix_bytes(problem), 2 * footprint);
    }
  }
  plan.add("sublists", seconds);
}

std::uint32_t most_steps(std::uint32_t log2_block) { return 1024U + (64U << log2_block); }

}  // namespace sheaf::cuda
