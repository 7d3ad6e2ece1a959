#include "lab/description/linked_list/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_successors&);
template tally over_items(const context&, std::uint64_t, const fill_list_values&);
template tally over_items(const context&, std::uint64_t, const fill_packed_nodes&);
template tally over_items(const context&, std::uint64_t, const check_ranks&);
template tally over_items(const context&, std::uint64_t, const check_list_values&);

}  // namespace sheaf::jobs::device
