#include "lab/description/items.cuh"
#include "lab/harness/scale_out/items.hpp"

namespace sheaf::jobs::device {

using namespace bench::scale_out;

template tally over_items(const context&, std::uint64_t, const fill_random_words&);
template tally over_items(const context&, std::uint64_t, const fill_whole_numbers&);
template tally over_items(const context&, std::uint64_t, const sum_of_words&);
template tally over_items(const context&, std::uint64_t, const fill_equal_offsets&);
template tally over_items(const context&, std::uint64_t, const fill_grid_entries&);
template tally over_items(const context&, std::uint64_t, const fill_band_entries&);

}  // namespace sheaf::jobs::device
