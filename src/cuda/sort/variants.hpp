#pragma once

#include "primitives/sort/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::sort_variant sort_msd;
extern const primitives::sort_variant sort_onesweep;
extern const primitives::sort_variant sort_cub;
extern const primitives::sort_variant sort_counting;
extern const primitives::sort_variant sort_lsd;

}  // namespace sheaf::cuda
