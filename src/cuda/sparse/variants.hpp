#pragma once

#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "primitives/sparse/spmv.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::spmv_variant spmv_rows;
extern const primitives::spmv_variant spmv_merge;
extern const primitives::spmv_variant spmv_two_step;
extern const primitives::spmv_variant spmv_transposed;

extern const primitives::prepare_spmv_variant prepare_spmv_blocked;
extern const primitives::prepare_spmv_variant prepare_spmv_compressed;
extern const primitives::prepare_spmv_variant prepare_spmv_segmented;
extern const primitives::prepare_spmv_variant prepare_spmv_sliced;
extern const primitives::prepare_spmv_variant prepare_spmv_transposed;

extern const primitives::conjugate_gradient_variant conjugate_gradient_streamed;
extern const primitives::conjugate_gradient_variant conjugate_gradient_sliced;
extern const primitives::conjugate_gradient_variant conjugate_gradient_persistent;
extern const primitives::conjugate_gradient_variant conjugate_gradient_separate;

}  // namespace sheaf::cuda
