#pragma once

#include "primitives/sort/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::sort_variant sort_msd;
extern const primitives::sort_variant sort_lsd;
extern const primitives::sort_variant sort_counting;
extern const primitives::sort_variant sort_vqsort;

}  // namespace sheaf::cpu
