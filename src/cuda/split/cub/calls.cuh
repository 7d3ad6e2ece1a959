#pragma once

// CUB has a name space of its own here, so that a program that links this library may compile with another version.
#define THRUST_CUB_WRAPPED_NAMESPACE sheaf_cccl
#define CCCL_DISABLE_NVTX

#include <cub/device/device_radix_sort.cuh>
#include <cub/version.cuh>

#include "cuda/split/cub/calls.hpp"

namespace sheaf::cuda {

/// Calls CUB for keys of a type, with the values that the shape says. `decomposer` is what CUB takes for keys that are
/// not numbers: nothing, or one object.
template <class Value, class Key, class... Decomposer>
cudaError_t cub_sort_pairs(const cub_sort_shape& shape, const cub_sort_arrays& arrays, void* scratch,
                           std::size_t& scratch_bytes, cudaStream_t stream, const Decomposer&... decomposer) {
  // CUB counts pairs faster in 32 bits and keys alone in 64: on an H200, 2^28 pairs of u32 take 7.5 ms instead of 8.5,
  // and 2^28 keys 6.4 ms with 32 bits and 5.4 with 64.
  return sheaf_cccl::cub::DeviceRadixSort::SortPairs(
      scratch, scratch_bytes, static_cast<const Key*>(arrays.keys), static_cast<Key*>(arrays.sorted_keys),
      static_cast<const Value*>(arrays.values), static_cast<Value*>(arrays.sorted_values),
      static_cast<std::uint32_t>(shape.count), decomposer..., static_cast<int>(shape.first_bit),
      static_cast<int>(shape.end_bit), stream);
}

template <class Key, class... Decomposer>
cudaError_t cub_sort_keys(const cub_sort_shape& s, const cub_sort_arrays& arrays, void* scratch,
                          std::size_t& scratch_bytes, cudaStream_t stream, const Decomposer&... decomposer) {
  return sheaf_cccl::cub::DeviceRadixSort::SortKeys(scratch, scratch_bytes, static_cast<const Key*>(arrays.keys),
                                                    static_cast<Key*>(arrays.sorted_keys), s.count, decomposer...,
                                                    static_cast<int>(s.first_bit), static_cast<int>(s.end_bit), stream);
}

/// Calls CUB for keys that it knows, alone or with values of 4 or 8 bytes.
template <class Key>
cudaError_t cub_sort_numbers(const cub_sort_shape& shape, const cub_sort_arrays& arrays, void* scratch,
                             std::size_t& scratch_bytes, cudaStream_t stream) {
  switch (shape.value_bytes) {
    case 0: return cub_sort_keys<Key>(shape, arrays, scratch, scratch_bytes, stream);
    case 4: return cub_sort_pairs<std::uint32_t, Key>(shape, arrays, scratch, scratch_bytes, stream);
    default: return cub_sort_pairs<std::uint64_t, Key>(shape, arrays, scratch, scratch_bytes, stream);
  }
}

}  // namespace sheaf::cuda
