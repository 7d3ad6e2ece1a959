#pragma once

#include "distributed/sort/moved_arrays.hpp"

namespace sheaf::distributed {

struct primitive_parts {
  packed_rows packed;
  layout where;             ///< of the whole result
  bool skips_bits = false;  ///< the result is right only if it is in order
};

/// Collective: brings the local rows into the order of parts by sorts of the group's context alone, which may be of a
/// device. @param arrays  the request's keys and values  @param rows  of all ranks  @param may_skip  whether all keys
/// may be taken to have the highest bits alike that a sample has
primitive_parts pack_by_primitives(group_state& state, const sort_request& request,
                                   std::span<const const_records> arrays, std::uint64_t rows, std::uint64_t groups,
                                   bool may_skip);

/// Collective: whether no group of rows has a lower key than the groups before it, of all ranks. @param rows  of this
/// rank  @param begins  where its groups begin, each of which is sorted, and where the last one ends
bool is_in_order(group_state& state, const_records rows, const sort_key& key, std::span<const std::uint64_t> begins);

/// Sorts arrays by keys that lie in the first of them. The first output may have no rows, if keys are not wanted.
void sort_arrays(const context& ctx, std::span<const const_records> in, const sort_key& key,
                 std::span<const records> out);

}  // namespace sheaf::distributed
