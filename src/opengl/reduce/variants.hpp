#pragma once

#include "primitives/reduce/contract.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::opengl {

extern const primitives::scatter_reduce_variant scatter_reduce_blended;

}  // namespace sheaf::opengl
