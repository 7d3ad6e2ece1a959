#include "lab/description/reduce/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_values&);
template tally over_items(const context&, std::uint64_t, const fill_slots&);
template tally over_items(const context&, std::uint64_t, const checksum_values&);
template tally over_items(const context&, std::uint64_t, const checksum_slots&);

}  // namespace sheaf::jobs::device
