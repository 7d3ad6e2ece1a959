#pragma once

#include "primitives/reduce/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::scatter_reduce_variant scatter_reduce_owner;
extern const primitives::scatter_reduce_variant scatter_reduce_split;
extern const primitives::scatter_reduce_variant scatter_reduce_private;

}  // namespace sheaf::cpu
