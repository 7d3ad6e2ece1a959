#pragma once

#include <cuda_runtime_api.h>

#include "lab/peers/movement.hpp"

// Shared by the peers from CUB: temporary storage, whose size is queried once before anything is timed.
namespace sheaf::bench::peers::device {

inline void require(cudaError_t result, const char* operation) {
  if (result != cudaSuccess) throw std::runtime_error(std::string(operation) + ": " + cudaGetErrorString(result));
}

/// Whether CUB can count items with 32 bits, which is faster for pairs.
inline bool fits_in_32_bits(const problem& p) { return p.count < std::uint64_t{1} << 32; }

/// Arrays that lie one after the other in scratch memory, aligned to 256 bytes.
struct scratch_layout {
  std::uint64_t bytes = 0;
  std::uint64_t add(std::uint64_t array_bytes) {
    const std::uint64_t first = bytes;
    bytes += (array_bytes + 255) / 256 * 256;
    return first;
  }
};

/// Wraps a call of CUB: call(temporary, temporary_bytes, arrays, copy), which only sets temporary_bytes if temporary is
/// null. `arrays` points to own_bytes of scratch memory that the caller has laid out.
template <class Call>
contender cub_contender(const context& ctx, const workspace& arrays, const char* who, std::uint64_t own_bytes,
                        Call call) {
  std::size_t wanted = 0;
  require(cudaSetDevice(ctx.device()), "cudaSetDevice");
  require(call(nullptr, wanted, nullptr, 0), who);
  const auto queue = [&arrays, who, own_bytes, call, wanted](std::uint64_t copy) {
    std::size_t given = wanted;
    std::byte* const scratch = arrays.scratch(own_bytes + wanted);
    require(call(scratch + own_bytes, given, scratch, copy), who);
  };
  return {.who = who, .scratch_bytes = own_bytes + wanted, .queue = queue, .wait = [ctx] { wait(ctx); }};
}

template <class T>
const T* source_of(const workspace& arrays, std::uint64_t copy) {
  return reinterpret_cast<const T*>(arrays.source(copy).data);
}

template <class T>
T* target_of(const workspace& arrays, std::uint64_t copy) {
  return reinterpret_cast<T*>(arrays.target(copy).data);
}

template <class T>
const T* keys_of(const workspace& arrays, std::uint64_t copy) {
  return reinterpret_cast<const T*>(arrays.keys(copy).data);
}

/// A row as the struct that a user would write.
template <std::size_t Words>
struct alignas(16) keyed_row {
  std::uint64_t key;
  std::uint64_t rest[Words - 1];
};

}  // namespace sheaf::bench::peers::device
