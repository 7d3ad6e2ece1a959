#pragma once

#include "primitives/sort/contract.hpp"

namespace sheaf::cpu {

/// Whether the library was built with Highway, and this processor has vectors in which its sort is fast.
bool sorts_in_vectors() noexcept;

/// Sorts by words of 8 or 16 bytes, the key above the row's number, of which `scratch` holds all.
void sort_row_numbers_in_vectors(const primitives::sort_problem& problem, const primitives::sort_buffers& buffers,
                                 std::byte* scratch);

}  // namespace sheaf::cpu
