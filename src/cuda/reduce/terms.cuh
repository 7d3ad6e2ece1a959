#pragma once

#include "primitives/reduce/contract.hpp"

// The terms of a sum: values that are added to slots of the output, by threads that do not know of each other.
namespace sheaf::cuda {

/// Calls body with a number of the type that sums of the value type are made in: signed ones have the bits of unsigned
/// ones.
template <class Body>
void with_term(value_type type, Body body) {
  switch (type) {
    case value_type::f32: return body(float{});
    case value_type::f64: return body(double{});
    case value_type::i32:
    case value_type::u32: return body(std::uint32_t{});
    default: return body(std::uint64_t{});
  }
}

/// Adds by `red`, an atomic that returns nothing. In code with branches the compiler makes atomicAdd() an atomic that
/// returns the old value, and 2^28 of these take 1.4 times as long.
template <class T>
__device__ __forceinline__ void add_to(T* slot, T value) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_global(slot));
  if constexpr (std::is_same_v<T, float>) {
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
  } else if constexpr (std::is_same_v<T, double>) {
    asm volatile("red.relaxed.gpu.global.add.f64 [%0], %1;" ::"l"(address), "d"(value) : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
  } else {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
  }
}

/// The value, or its negative where the call subtracts: a difference is a sum of negatives.
template <class T>
__device__ __forceinline__ T term_of(T value, bool is_negated) {
  return is_negated ? -value : value;
}

}  // namespace sheaf::cuda
