#include "lab/description/sort/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_sort_keys&);
template tally over_items(const context&, std::uint64_t, const fill_sort_rows&);
template tally over_items(const context&, std::uint64_t, const check_sorted_keys&);
template tally over_items(const context&, std::uint64_t, const check_sorted_rows&);
template tally over_items(const context&, std::uint64_t, const check_sort_index&);

}  // namespace sheaf::jobs::device
