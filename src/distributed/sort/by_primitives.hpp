#pragma once

#include "distributed/sort/moved_arrays.hpp"

namespace sheaf::distributed {

struct primitive_parts {
  packed_rows packed;
  layout where;  ///< of the whole result
};

/// Collective: sorts the local rows, which may be on a device, and finds the parts of the sorted whole in them, by
/// sorts of the group's context alone. For few rows, and for keys of which sort_by_parts() makes no parts.
/// @param arrays  the request's keys and values
primitive_parts pack_by_primitives(group_state& state, const sort_request& request,
                                   std::span<const const_records> arrays, std::uint64_t groups);

/// Sorts arrays by keys that lie in the first of them. The first output may have no rows, if keys are not wanted.
void sort_arrays(const context& ctx, std::span<const const_records> in, const sort_key& key,
                 std::span<const records> out);

}  // namespace sheaf::distributed
