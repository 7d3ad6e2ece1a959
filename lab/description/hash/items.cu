#include "lab/description/hash/items.hpp"

#include "lab/description/items.cuh"

namespace sheaf::jobs::device {

template tally over_items(const context&, std::uint64_t, const fill_table_keys&);
template tally over_items(const context&, std::uint64_t, const fill_probes&);
template tally over_items(const context&, std::uint64_t, const check_answers&);
template tally over_items(const context&, std::uint64_t, const check_offsets&);
template tally over_items(const context&, std::uint64_t, const check_ids&);
template tally over_items(const context&, std::uint64_t, const check_build&);
template tally over_items(const context&, std::uint64_t, const check_found&);

}  // namespace sheaf::jobs::device
