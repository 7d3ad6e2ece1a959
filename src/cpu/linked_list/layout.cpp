#include "cpu/linked_list/layout.hpp"

#include "core/scratch_offsets.hpp"

namespace sheaf::cpu {
namespace {

using primitives::list_problem;

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

/// Between sqrt(n) and 2 sqrt(n) splitters, a power of two, but no more than n / 32: then the longest of all sublists,
/// and the serial walk over sublists, are both short beside the n nodes. A power of two, so that numbers of sublists
/// fill the bits that they take. The machine's profile has no part in it: on a core of an AMD EPYC (family 25), half as
/// many take 0.97, 1.01 and 1.03 times as long to rank 2^20, 2^24 and 2^26 nodes at random, and twice as
/// many 1.01, 1.12 and 1.13.
std::uint64_t splitters_for(const list_problem& p, const sublist_tuning& tuning) {
  const std::uint64_t most = p.count / tuning.least_sublist;
  if (most < 2) return 0;
  const int bits_of_root = (static_cast<int>(std::bit_width(p.count)) + 1) / 2;
  return std::min(std::bit_floor(most), std::uint64_t{1} << bits_of_root);
}

/// Numbers of sublists that every call may need: of the first splitters, of the heads, of what is cut off long walks at
/// the end of a round, and of what is cut off where ranks no longer fit.
std::uint64_t numbers_needed(const list_problem& p, const sublist_decision& d) {
  return d.splitters + 1 + p.count / d.longest_walk + (p.ranks() ? p.count >> d.rank_bits : 0);
}

/// Links of 4 bytes hold every node's number, or the number of its sublist and its rank there, beside one bit that says
/// which. Returns false if they are too narrow.
bool fits_narrow_links(const list_problem& problem, const sublist_tuning& tuning, sublist_decision& decision) {
  if (problem.count >= std::uint64_t{1} << tuning.narrow_bits) return false;
  decision.link_bytes = 4;
  decision.rank_bits = 0;
  decision.later_splitters = tuning.rounds_of_splitters * decision.splitters;
  if (!problem.ranks()) return true;
  // Three of four numbers are for later splitters and for sublists that are cut off others.
  const int number_bits = std::max(1, static_cast<int>(std::bit_width(4 * decision.splitters)) - 1);
  if (number_bits >= tuning.narrow_bits) return false;
  decision.rank_bits = static_cast<std::uint32_t>(tuning.narrow_bits - number_bits);
  const std::uint64_t numbers = std::uint64_t{1} << number_bits;
  const std::uint64_t needed = numbers_needed(problem, decision);
  if (needed + decision.splitters / 2 > numbers) return false;
  decision.later_splitters = std::min(decision.later_splitters, numbers - needed);
  return true;
}

void take_wide_links(const list_problem& p, const sublist_tuning& tuning, sublist_decision& d) {
  d.link_bytes = 8;
  d.rank_bits = p.ranks() ? 39 : 0;
  d.later_splitters = tuning.rounds_of_splitters * d.splitters;
}

}  // namespace

std::uint64_t decide_sublists(const list_problem& problem, std::uint64_t threads, const sublist_tuning& tuning,
                              sublist_decision& decision) {
  decision.splitters = splitters_for(problem, tuning);
  decision.longest_walk = tuning.longest_walk * (problem.count / (decision.splitters + 1) + 1);
  if (!fits_narrow_links(problem, tuning, decision)) take_wide_links(problem, tuning, decision);
  decision.sublists = numbers_needed(problem, decision) + decision.later_splitters;
  decision.parts = std::clamp<std::uint64_t>(problem.count / tuning.nodes_per_thread, 1, threads);
  decision.is_typed = !problem.has_own_operator && decision.link_bytes == 4;
  decision.values_in_output = problem.value_bytes > tuning.widest_beside_link;
  // A value's alignment divides its width.
  const std::uint64_t value_alignment = problem.value_bytes & (~problem.value_bytes + 1);
  decision.link_at = decision.values_in_output ? 0 : rounded_up(problem.value_bytes, decision.link_bytes);
  decision.node_bytes = decision.link_at + decision.link_bytes;
  if (decision.link_at > 0)
    decision.node_bytes =
        rounded_up(decision.node_bytes, std::max<std::uint64_t>(decision.link_bytes, value_alignment));
  decision.running_bytes = rounded_up(problem.value_bytes, 64);
  const std::uint64_t base_bytes = problem.ranks() ? decision.link_bytes : problem.value_bytes;
  const std::uint64_t bit_bytes = 8 * (problem.count / 64 + 1);
  core::scratch_offsets offsets;
  // One node more, at which all lists end.
  decision.nodes_at = offsets.take((problem.count + 1) * decision.node_bytes);
  decision.led_at = offsets.take(bit_bytes);
  decision.twice_at = offsets.take(bit_bytes);
  decision.sublists_at = offsets.take(decision.sublists * sizeof(sublist));
  decision.bases_at = offsets.take(decision.sublists * base_bytes);
  decision.has_base_at = offsets.take(decision.sublists);
  decision.totals_at = offsets.take(decision.sublists * problem.value_bytes);
  decision.running_at = offsets.take(decision.is_typed ? 0 : decision.parts * walks_in_flight * decision.running_bytes);
  decision.unvisited_at = offsets.take(decision.parts * sizeof(std::uint64_t));
  return offsets.bytes();
}

}  // namespace sheaf::cpu
