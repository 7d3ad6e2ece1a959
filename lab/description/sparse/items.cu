#include "lab/description/sparse/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_row_begins&);
template tally over_items(const context&, std::uint64_t, const fill_columns&);
template tally over_items(const context&, std::uint64_t, const fill_entry_values&);
template tally over_items(const context&, std::uint64_t, const fill_vector&);
template tally over_items(const context&, std::uint64_t, const checksum_entries&);
template tally over_items(const context&, std::uint64_t, const checksum_results&);

}  // namespace sheaf::jobs::device
