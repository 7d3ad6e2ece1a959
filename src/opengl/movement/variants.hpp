#pragma once

#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::opengl {

extern const primitives::gather_variant gather_texture;
extern const primitives::gather_variant gather_vertex;

extern const primitives::scatter_variant scatter_points;

extern const primitives::prepare_variant prepare_resident;

}  // namespace sheaf::opengl
