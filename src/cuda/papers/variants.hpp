#pragma once

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "primitives/sort/contract.hpp"
#include "primitives/split/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::gather_variant gather_thread_per_record;

extern const primitives::scatter_variant scatter_thread_per_record;

extern const primitives::split_variant split_one_step;
extern const primitives::split_variant split_two_step;

extern const primitives::sort_variant sort_msd_bitonic;
extern const primitives::sort_variant sort_bitonic;
extern const primitives::sort_variant sort_lsd;

}  // namespace sheaf::cuda
