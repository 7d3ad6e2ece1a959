#pragma once

#include <cstdint>

#include "cpu/linked_list/table.hpp"
#include "primitives/linked_list/contract.hpp"

namespace sheaf::cpu {

/// Step 4 of Wei and JaJa 2010: follows the sublists of each list in order, and puts together what comes before each.
/// The lists begin at `head` where it is a splitter, at splitters that no walk has reached if there may be many lists,
/// and where walks from other heads have ended. Returns how many nodes these lists have.
std::uint64_t follow_sublists(const primitives::list_problem& p, const primitives::list_buffers& b,
                              const sublist_table& table, const walked& found, std::uint64_t head);

}  // namespace sheaf::cpu
