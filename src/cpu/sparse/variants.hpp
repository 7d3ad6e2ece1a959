#pragma once

#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cpu {

extern const primitives::spmv_variant spmv_rows;
extern const primitives::spmv_variant spmv_two_step;
extern const primitives::spmv_variant spmv_private;

extern const primitives::prepare_spmv_variant prepare_spmv_diagonals;
extern const primitives::prepare_spmv_variant prepare_spmv_blocked;
extern const primitives::prepare_spmv_variant prepare_spmv_transposed;

extern const primitives::conjugate_gradient_variant conjugate_gradient_fused;
extern const primitives::conjugate_gradient_variant conjugate_gradient_separate;

}  // namespace sheaf::cpu
