#pragma once

#include <cstddef>
#include <cstdint>

#include "primitives/operators/row_value.hpp"

// Values of rows as threads load, combine and store them: a lane has `Values` values of each row, side by side, which
// it loads at once.
namespace sheaf::cuda {

/// A word of so many bytes, up to 16.
template <std::size_t Bytes>
struct row_word;
template <>
struct row_word<1> {
  using type = std::uint8_t;
};
template <>
struct row_word<2> {
  using type = std::uint16_t;
};
template <>
struct row_word<4> {
  using type = std::uint32_t;
};
template <>
struct row_word<8> {
  using type = uint2;
};
template <>
struct row_word<16> {
  using type = uint4;
};

/// The values of a lane as they lie in memory, loaded as one word or as several of 16 bytes.
template <class T, int Values>
struct lane_values {
  static constexpr std::size_t bytes = sizeof(T) * Values;
  static constexpr std::size_t word_bytes = bytes < 16 ? bytes : 16;
  static constexpr int words = static_cast<int>(bytes / word_bytes);
  using word = typename row_word<word_bytes>::type;

  word w[words];

  /// Loads values that no one writes meanwhile.
  __device__ __forceinline__ void load(const std::byte* from) {
#pragma unroll
    for (int k = 0; k < words; ++k) w[k] = __ldg(reinterpret_cast<const word*>(from) + k);
  }
  /// Loads values that are read once, or that this kernel writes.
  __device__ __forceinline__ void load_once(const std::byte* from) {
#pragma unroll
    for (int k = 0; k < words; ++k) w[k] = __ldcs(reinterpret_cast<const word*>(from) + k);
  }
  __device__ __forceinline__ void store(std::byte* to) const {
#pragma unroll
    for (int k = 0; k < words; ++k) reinterpret_cast<word*>(to)[k] = w[k];
  }
  __device__ __forceinline__ void get(T (&values)[Values]) const { memcpy(values, w, bytes); }
  __device__ __forceinline__ void set(const T (&values)[Values]) { memcpy(w, values, bytes); }
};

/// A value in the type in which rows are combined. Floats of 16 bits are converted by the device's instruction, which
/// gives what float16 says, except which NaN it is.
template <class Sum, class T>
__device__ __forceinline__ Sum as_sum(T value) {
  if constexpr (std::is_same_v<T, float16>) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return static_cast<Sum>(result);
  } else {
    return primitives::converted<Sum>(value);
  }
}

/// What changes nothing that it is combined with, -0 of sums of floats: unlike the identity element, it keeps the sign
/// of a zero.
template <class Sum>
__device__ __forceinline__ Sum neutral(reduction op) {
  if constexpr (std::is_floating_point_v<Sum>) {
    if (op == reduction::add || op == reduction::subtract || op == reduction::mean) return -Sum{0};
  }
  return primitives::identity_of<Sum>(op);
}

/// The lesser or the greater of two values, as the contract has it; NaN is any NaN for f32, for which the device has an
/// instruction each.
template <class Sum>
__device__ __forceinline__ Sum lesser_or_greater(bool lesser, Sum a, Sum b) {
  if constexpr (std::is_same_v<Sum, float>) {
    float low;
    float high;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(low) : "f"(a), "f"(b));
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(high) : "f"(a), "f"(b));
    return lesser ? low : high;
  } else {
    return lesser ? primitives::reduced<reduction::min>(a, b) : primitives::reduced<reduction::max>(a, b);
  }
}

/// sum + a * b, rounded once in every kernel: a row has the same bits whichever of them adds it up.
__device__ __forceinline__ float multiply_add(float sum, float a, float b) { return __fmaf_rn(a, b, sum); }
__device__ __forceinline__ double multiply_add(double sum, double a, double b) { return __fma_rn(a, b, sum); }

/// Combines two values. `Adds` says that the operation is add, subtract or mean; then it has no branch.
template <bool Adds, class Sum>
__device__ __forceinline__ Sum combine_values(reduction op, Sum a, Sum b) {
  if constexpr (Adds) return primitives::reduced<reduction::add>(a, b);
  if (op == reduction::multiply) return primitives::reduced<reduction::multiply>(a, b);
  return lesser_or_greater(op == reduction::min, a, b);
}

/// As above, of what `Values` a lane has of two rows.
template <bool Adds, class Sum, int Values>
__device__ __forceinline__ void combine_lanes(reduction op, Sum (&a)[Values], const Sum (&b)[Values]) {
#pragma unroll
  for (int v = 0; v < Values; ++v) a[v] = combine_values<Adds>(op, a[v], b[v]);
}

}  // namespace sheaf::cuda
