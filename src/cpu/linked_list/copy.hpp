#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/linked_list/layout.hpp"
#include "primitives/linked_list/contract.hpp"

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
successors_seen copy_nodes(const primitives::list_problem& p, const primitives::list_buffers& b,
                           const sublist_decision& decided, std::byte* nodes);

}  // namespace sheaf::cpu
