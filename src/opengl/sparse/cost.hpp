#pragma once

#include "opengl/device/textures.hpp"
#include "opengl/movement/cost.hpp"
#include "primitives/sparse/spmv.hpp"

namespace sheaf::opengl {

/// Why no frame buffer holds the sums of a product, or null.
const char* unsummable(const primitives::spmv_problem& problem) noexcept;
/// Why the entries of a product cannot be points, or null.
const char* no_points_for(const primitives::spmv_problem& problem) noexcept;

/// Why a product cannot have x in one texture of layers.
constexpr const char* too_many_values_of_x = "x takes more layers than a texture has here";

/// What a run adds to a plan, beside the geometry: x, the passes, and the result.
void add_vectors(plan::planned& plan, const primitives::spmv_problem& problem, const machine& machine);

}  // namespace sheaf::opengl
