#pragma once

#include <cuda_pipeline.h>

#include "cuda/device/state.hpp"

// A part of x in shared memory.
namespace sheaf::cuda {

/// Whether blocks of the device may have so much shared memory. Devices of some compute capabilities have 99 KiB a
/// block.
inline bool blocks_hold(const context& ctx, std::uint64_t shared_bytes) {
  int most = 0;
  require(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ctx.device()), ctx);
  return static_cast<std::uint64_t>(most) >= shared_bytes;
}

/// Begins to copy `count` values to shared memory, 16 bytes at once where they are aligned. All Threads threads of a
/// block call this; __pipeline_wait_prior(0) and a barrier follow before anyone reads them.
template <unsigned Threads, class Value>
__device__ __forceinline__ void begin_copy_of_slice(Value* slice, const Value* from, unsigned count) {
  constexpr unsigned word_values = 16 / sizeof(Value);
  const unsigned in_words = reinterpret_cast<std::uintptr_t>(from) % 16 == 0 ? count / word_values * word_values : 0;
  for (unsigned i = threadIdx.x * word_values; i < in_words; i += Threads * word_values) {
    __pipeline_memcpy_async(slice + i, from + i, 16);
  }
  for (unsigned i = in_words + threadIdx.x; i < count; i += Threads) {
    __pipeline_memcpy_async(slice + i, from + i, sizeof(Value));
  }
  __pipeline_commit();
}

}  // namespace sheaf::cuda
