#pragma once

#include "primitives/reduce/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::scatter_reduce_variant scatter_reduce_atomic;
extern const primitives::scatter_reduce_variant scatter_reduce_bucketed;
extern const primitives::scatter_reduce_variant scatter_reduce_sorted;
extern const primitives::scatter_reduce_variant scatter_reduce_tiled;

}  // namespace sheaf::cuda
