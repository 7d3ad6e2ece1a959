#include "lab/description/split/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_split_records&);
template tally over_items(const context&, std::uint64_t, const fill_split_keys&);
template tally over_items(const context&, std::uint64_t, const check_split_records&);
template tally over_items(const context&, std::uint64_t, const check_gather_index&);
template tally over_items(const context&, std::uint64_t, const invert_index&);
template tally over_items(const context&, std::uint64_t, const fill_ones&);

}  // namespace sheaf::jobs::device
