#pragma once

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::gather_variant gather_direct;
extern const primitives::gather_variant gather_bucketed;
extern const primitives::gather_variant gather_multipass;

extern const primitives::scatter_variant scatter_direct;
extern const primitives::scatter_variant scatter_by_page;
extern const primitives::scatter_variant scatter_bucketed;
extern const primitives::scatter_variant scatter_multipass;
extern const primitives::scatter_variant scatter_owner;

}  // namespace sheaf::cpu
