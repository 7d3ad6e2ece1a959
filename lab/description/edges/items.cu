#include "lab/description/edges/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_edges&);
template tally over_items(const context&, std::uint64_t, const fill_node_values&);
template tally over_items(const context&, std::uint64_t, const fill_coordinates&);
template tally over_items(const context&, std::uint64_t, const fill_edge_weights&);
template tally over_items(const context&, std::uint64_t, const checksum_edges&);
template tally over_items(const context&, std::uint64_t, const checksum_nodes&);

}  // namespace sheaf::jobs::device
