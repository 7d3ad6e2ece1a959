#pragma once

#include <optional>

#include "distributed/sort/moved_arrays.hpp"

namespace sheaf::distributed {

/// Collective: a sort where only primitives reach the rows. Keys of a sample are the edges of some hundred parts; one
/// pass finds the part of each row, and all ranks learn how many rows of each rank are in each part. So they know where
/// every row's part lies in the whole before the first row moves. Then rows are moved by part, chunk by chunk, and
/// travel in groups of parts, which are sorted as they arrive. A part in which rows of a rank end is sorted by all
/// ranks that have rows of it. Returns nothing, on all ranks, where rows are few, or where such a part has many rows.
/// @param arrays  the request's keys and values  @param counts  rows of each rank
std::optional<sorted_pairs> sort_by_parts(group_state& state, const sort_request& request,
                                          std::span<const const_records> arrays, std::span<const std::uint64_t> counts);

}  // namespace sheaf::distributed
