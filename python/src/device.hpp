#pragma once

struct CUstream_st;

namespace sheaf {
class context;
}

// What of CUDA the library has no call for. In a build without it there is no device memory.
namespace sheaf::python {

/// The number of the device that an address lies on; 0 where nobody can tell.
int device_of_address(const void* address) noexcept;

/// The number of the device that is current on this thread, whichever CUDA runtime of the process made it so; 0 where
/// there is none.
int current_device() noexcept;

/// Lets what is queued on `later` from now on wait for what is queued on `earlier` so far. Both are streams of a
/// device.
void order_streams(int device, CUstream_st* earlier, CUstream_st* later);

/// Whether finished work of a context has found a bad index, which wait() throws. Reads a flag in host memory.
bool has_bad_index(const context& ctx) noexcept;

}  // namespace sheaf::python
