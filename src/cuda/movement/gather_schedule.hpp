#pragma once

#include <sheaf/machine_profile.hpp>

#include "cuda/movement/buckets.hpp"
#include "primitives/movement.hpp"

// How a clustered gather is cut, and where its routes lie in one block of memory.
namespace sheaf::cuda {

struct route_layout {
  std::uint32_t shift;    ///< bits of an index inside its window
  std::uint32_t windows;  ///< of the table
  std::uint64_t room;     ///< entries of a window's list, where lists do not lie side by side
  std::uint64_t fill, ticket, window_begin, window_index, place, run, run_begin, word,
      end;  ///< bytes from the beginning
};

/// Lists side by side take no more room than the list of indices; their windows have to be counted before.
enum class list_layout { fixed_room, side_by_side };

route_layout layout_of_routes(const primitives::movement& p, list_layout lists);
/// Seconds to find the routes of a list, and to go them with one table.
double finding_seconds(const primitives::movement& p, const machine& m);
double going_seconds(const primitives::movement& p, const machine& m);
/// Why a gather cannot go routes, or null.
const char* routes_rejection(const primitives::movement& p);

}  // namespace sheaf::cuda
