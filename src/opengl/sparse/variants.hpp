#pragma once

#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

// The variants of this folder. Each is defined in the file that has its name, its preparation beside it.
namespace sheaf::opengl {

extern const primitives::spmv_variant spmv_texture;
extern const primitives::spmv_variant spmv_lookup;
extern const primitives::spmv_variant spmv_vertex;
extern const primitives::spmv_variant spmv_packed;
extern const primitives::spmv_variant spmv_fragments;

extern const primitives::prepare_spmv_variant prepare_spmv_texture;
extern const primitives::prepare_spmv_variant prepare_spmv_lookup;
extern const primitives::prepare_spmv_variant prepare_spmv_vertex;
extern const primitives::prepare_spmv_variant prepare_spmv_packed;
extern const primitives::prepare_spmv_variant prepare_spmv_fragments;

}  // namespace sheaf::opengl
