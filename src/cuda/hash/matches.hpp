#pragma once

#include "primitives/hash/search.hpp"

// Steps 3 and 4 of a search for matches (He et al. 2007, section 4.2): a prefix sum of the numbers of matches, and the
// record numbers.
namespace sheaf::cuda {

class slot_index;

/// Bytes of scratch.
std::uint64_t matches_bytes(const primitives::hash_search_problem& p) noexcept;

/// Writes offsets and record numbers. `found` holds what look-ups left, found_bytes() for each probe. Waits for the
/// number of matches.
void write_matches(const context& ctx, const primitives::hash_search_problem& p, const slot_index& index,
                   const primitives::hash_search_buffers& b, const std::byte* found, std::byte* scratch);

}  // namespace sheaf::cuda
