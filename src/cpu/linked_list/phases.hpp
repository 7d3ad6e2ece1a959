#pragma once

#include "cpu/linked_list/layout.hpp"
#include "cpu/linked_list/node_bits.hpp"

// The steps of cpu.sublist that know nothing of how nodes lie while they are walked, and what is wrong with no list.
namespace sheaf::cpu {

/// What a look at all successors tells.
struct successors_seen {
  std::uint64_t sum = 0;                 ///< of those that end no list, modulo 2^64
  std::uint64_t ends = 0;                ///< nodes that end a list
  std::uint64_t out_of_range = no_node;  ///< the lowest node whose successor is past the nodes

  /// The node that no node leads to, if there is one list. The sum of all numbers without its own is that of the
  /// successors (Wei and JaJa 2010, step 1).
  std::uint64_t head(std::uint64_t count) const noexcept {
    const std::uint64_t all = count % 2 == 0 ? count / 2 * (count - 1) : count * ((count - 1) / 2);
    return all - sum;
  }
};

/// Copies links and values to `nodes`, which walks overwrite. Links of all ends lead to one node more, which is marked
/// as visited.
successors_seen copy_nodes(const primitives::list_problem& problem, const primitives::list_buffers& buffers,
                           const sublist_decision& decided, std::byte* nodes);

/// Step 4 of Wei and JaJa 2010: follows the sublists of each list in order, and puts together what comes before each.
/// The lists begin at `head` where it is a splitter, at splitters that no walk has reached if there may be many lists,
/// and where walks from other heads have ended. Returns how many nodes these lists have.
std::uint64_t follow_sublists(const primitives::list_problem& problem, const primitives::list_buffers& buffers,
                              const sublist_table& table, const walked& found, std::uint64_t head);

/// Node `position` has a successor past the nodes.
core::index_report out_of_range(const primitives::list_problem& problem, const primitives::list_buffers& buffers,
                                std::uint64_t position);

/// Looks for two nodes that lead to one, and for two heads where one list is expected; a report of nothing if there are
/// none. All successors are in range. Reads them once, at random places of the bits, and at worst twice more in order.
core::index_report find_joined_lists(const primitives::list_problem& problem, const primitives::list_buffers& buffers,
                                     const node_bits& led, const node_bits& twice, std::uint64_t parts);

/// Node `position` is on a cycle.
core::index_report on_a_cycle(const primitives::list_problem& problem, std::uint64_t position);

}  // namespace sheaf::cpu
