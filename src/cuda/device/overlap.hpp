#pragma once

// Whether kernels on a stream may overlap (programmatic dependent launch).
namespace sheaf::cuda {

/// Whether a device can launch blocks while the kernel before still runs, and runs code of this library that waits for
/// it: not, say, code for sm_80 that the driver compiled for a newer device. One kernel answers for all.
/// @throws an error that names `operation` if CUDA does not say
bool overlaps_kernels(int device, const char* operation, const void* kernel);

}  // namespace sheaf::cuda
