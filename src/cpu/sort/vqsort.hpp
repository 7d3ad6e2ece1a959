#pragma once

#include "primitives/sort/contract.hpp"

namespace sheaf::cpu {

/// Whether the library was built with Highway, and this processor has vectors in which its sort is fast.
bool sorts_in_vectors() noexcept;

/// Whether this processor stores the lanes that a mask selects so slowly that the sort waits for it: those of AMD's
/// family 25 with vectors of 512 bits (Zen 4) write such lanes to memory by microcode, and the library's Highway has no
/// form for them, as later ones have.
bool stores_lanes_slowly() noexcept;

/// Sorts by words of 8 or 16 bytes, the key above the row's number, of which `scratch` holds all.
void sort_row_numbers_in_vectors(const primitives::sort_problem& problem, const primitives::sort_buffers& buffers,
                                 std::byte* scratch);

}  // namespace sheaf::cpu
