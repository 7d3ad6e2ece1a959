#pragma once

#include <sheaf/context.hpp>

// Whether kernels on a stream may overlap (programmatic dependent launch).
namespace sheaf::cuda {

/// Whether the device of a context can launch blocks while the kernel before still runs, and runs code of this library
/// that waits for it: not, say, code for sm_80 that the driver compiled for a newer device. One kernel answers for all.
/// @throws what require() does if CUDA does not say
bool overlaps_kernels(const context& ctx, const void* kernel);

}  // namespace sheaf::cuda
