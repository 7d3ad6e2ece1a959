#pragma once

#include "core/index_report.hpp"
#include "cpu/linked_list/node_bits.hpp"
#include "primitives/linked_list/contract.hpp"

namespace sheaf::cpu {

/// Node `position` has a successor past the nodes.
core::index_report out_of_range(const primitives::list_problem& p, const primitives::list_buffers& b,
                                std::uint64_t position);

/// Looks for two nodes that lead to one, and for two heads where one list is expected; a report of nothing if there are
/// none. All successors are in range. Reads them once, at random places of the bits, and at worst twice more in order.
core::index_report find_joined_lists(const primitives::list_problem& p, const primitives::list_buffers& b,
                                     const node_bits& led, const node_bits& twice, std::uint64_t parts);

/// Node `position` is on a cycle.
core::index_report on_a_cycle(const primitives::list_problem& p, std::uint64_t position);

}  // namespace sheaf::cpu
