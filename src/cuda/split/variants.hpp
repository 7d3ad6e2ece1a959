#pragma once

#include "primitives/split/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::split_variant split_stable;
extern const primitives::split_variant split_unordered;
extern const primitives::split_variant split_by_index;
extern const primitives::split_variant split_cub;

extern const primitives::row_of_entry_variant row_of_entry;

}  // namespace sheaf::cuda
