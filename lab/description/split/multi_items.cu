#include "lab/description/split/multi_items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_first&);
template tally over_items(const context&, std::uint64_t, const fill_categories&);
template tally over_items(const context&, std::uint64_t, const check_ascending_offsets&);
template tally over_items(const context&, std::uint64_t, const check_members&);

}  // namespace sheaf::jobs::device
