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

/// Words in which a value is loaded where its array is aligned to them: up to 16 bytes.
template <class T, std::uint32_t Components>
using value_word = std::conditional_t<Components * sizeof(T) % 16 == 0, uint4,
                                      std::conditional_t<Components * sizeof(T) % 8 == 0 && sizeof(T) == 4, uint2, T>>;

/// Loads a value in words, each by load(word).
template <class Word, class T, std::uint32_t Components, class Load>
__device__ __forceinline__ void load_words(const T* from, T (&to)[Components], Load load) {
  Word words[sizeof to / sizeof(Word)];
#pragma unroll
  for (std::uint32_t w = 0; w < sizeof to / sizeof(Word); ++w) words[w] = load(reinterpret_cast<const Word*>(from) + w);
  memcpy(to, words, sizeof to);
}

/// The value of a node in the caller's array.
template <class T, std::uint32_t Components>
__device__ __forceinline__ void load_value(const void* values, std::uint64_t node, bool is_aligned,
                                           T (&to)[Components]) {
  using word = value_word<T, Components>;
  const T* const from = static_cast<const T*>(values) + node * Components;
  const auto load = [](const auto* at) { return __ldg(at); };
  if (!std::is_same_v<word, T> && is_aligned) return load_words<word>(from, to, load);
  load_words<T>(from, to, load);
}

/// The weights of an edge; null where there are none.
template <class T>
__device__ __forceinline__ const T* weights_of(const sum_views& views, std::uint64_t edge) {
  const T* const weights = static_cast<const T*>(views.weights);
  return weights == nullptr ? nullptr : weights + edge * views.edge_weights;
}

/// Adds to the sum of a node what an edge contributes there.
template <class T, std::uint32_t ValueComponents, std::uint32_t Components, class F>
__device__ __forceinline__ void add_contribution(const F& function, const T (&own)[ValueComponents],
                                                 const T (&other)[ValueComponents], bool is_second, const T* weights,
                                                 T (&sum)[Components]) {
  T contribution[Components];
  if constexpr (is_antisymmetric_function<F>) {
    function(static_cast<const T*>(own), static_cast<const T*>(other), weights, contribution);
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
    function(static_cast<const T*>(first), static_cast<const T*>(second), weights, contribution);
#pragma unroll
    for (std::uint32_t c = 0; c < Components; ++c) sum[c] += is_second ? -contribution[c] : contribution[c];
  }
}

inline bool is_aligned_array(const void* array) { return reinterpret_cast<std::uintptr_t>(array) % 16 == 0; }

}  // namespace sheaf::edge_kernels
