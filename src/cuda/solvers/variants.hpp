#pragma once

#include "primitives/sparse/conjugate_gradient.hpp"

// The variants of this folder. Each is defined in the file that has its name.
namespace sheaf::cuda {

extern const primitives::conjugate_gradient_variant conjugate_gradient_streamed;
extern const primitives::conjugate_gradient_variant conjugate_gradient_sliced;
extern const primitives::conjugate_gradient_variant conjugate_gradient_persistent;
extern const primitives::conjugate_gradient_variant conjugate_gradient_separate;

}  // namespace sheaf::cuda
