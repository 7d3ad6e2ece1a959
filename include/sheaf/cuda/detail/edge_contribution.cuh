#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_runtime.h>
#include <sheaf/cuda/detail/edge_arguments.hpp>

// What one edge adds to a sum.
namespace sheaf::edge_kernels {

/// Whether f(b, a) is -f(a, b), bit by bit, and f(a, a) is 0. Such a function need not know which end is first.
template <class F>
constexpr bool is_antisymmetric_function = [] {
  if constexpr (requires { F::is_antisymmetric; }) {
    return static_cast<bool>(F::is_antisymmetric);
  } else {
    return false;
  }
}();

/// The value of a node in the caller's array, in words of up to 16 bytes where the array is aligned to them.
template <class T, std::uint32_t Components>
__device__ __forceinline__ void load_value(const void* values, std::uint64_t node, bool is_aligned,
                                           T (&to)[Components]) {
  const T* const from = static_cast<const T*>(values) + node * Components;
  constexpr std::uint32_t bytes = Components * sizeof(T);
  if constexpr (bytes % 16 == 0) {
    if (is_aligned) {
      uint4 words[bytes / 16];
#pragma unroll
      for (std::uint32_t w = 0; w < bytes / 16; ++w) words[w] = __ldg(reinterpret_cast<const uint4*>(from) + w);
      memcpy(to, words, bytes);
      return;
    }
  } else if constexpr (bytes % 8 == 0 && sizeof(T) == 4) {
    if (is_aligned) {
      uint2 words[bytes / 8];
#pragma unroll
      for (std::uint32_t w = 0; w < bytes / 8; ++w) words[w] = __ldg(reinterpret_cast<const uint2*>(from) + w);
      memcpy(to, words, bytes);
      return;
    }
  }
#pragma unroll
  for (std::uint32_t c = 0; c < Components; ++c) to[c] = __ldg(from + c);
}

/// The weights of an edge; null where there are none.
template <class T>
__device__ __forceinline__ const T* weights_of(const sum_views& views, std::uint64_t edge) {
  const T* const weights = static_cast<const T*>(views.weights);
  return weights == nullptr ? nullptr : weights + edge * views.edge_weights;
}

/// Adds to the sum of a node what an edge contributes there.
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__device__ __forceinline__ void add_contribution(const F& f, const T (&own)[ValueComponents],
                                                 const T (&other)[ValueComponents], bool is_second, const T* weights,
                                                 T (&sum)[Components]) {
  T contribution[Components];
  if constexpr (is_antisymmetric_function<F>) {
    f(static_cast<const T*>(own), static_cast<const T*>(other), weights, contribution);
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) sum[c] += contribution[c];
  } else {
    T first[ValueComponents];
    T second[ValueComponents];
#pragma unroll
    for (std::uint32_t c = 0; c < ValueComponents; ++c) {
      first[c] = is_second ? other[c] : own[c];
      second[c] = is_second ? own[c] : other[c];
    }
    f(static_cast<const T*>(first), static_cast<const T*>(second), weights, contribution);
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) sum[c] += is_second ? -contribution[c] : contribution[c];
  }
}

inline bool is_aligned_array(const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; }

}  // namespace sheaf::edge_kernels
