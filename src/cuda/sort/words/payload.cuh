#pragma once

#include <cstdint>
#include <type_traits>

namespace sheaf::cuda {

constexpr int radix_bins = 256;
constexpr std::uint32_t radix_bits = 8;

/// How words are sorted.
enum class payload_mode {
  nothing,   ///< words of equal keys are equal, or differ in bits that are sorted by as well
  order,     ///< they keep their order
  values_4,  ///< the same, and each word has a value of 4 bytes in an array of its own
  values_8,
  values_16,  ///< in sort_onesweep.cuh alone
};
constexpr bool keeps_order(payload_mode k) { return k != payload_mode::nothing; }
constexpr std::uint32_t value_bytes_of(payload_mode k) {
  return k == payload_mode::values_4 ? 4 : k == payload_mode::values_8 ? 8 : k == payload_mode::values_16 ? 16 : 0;
}
template <payload_mode Payload>
using sort_value = std::conditional_t<Payload == payload_mode::values_16, uint4,
                                      std::conditional_t<Payload == payload_mode::values_8, uint2, std::uint32_t>>;

/// Value i of an array, or i itself where there is none: the numbers of rows.
template <class Value>
__device__ __forceinline__ Value value_at(const Value* values, std::uint32_t i) {
  if (values != nullptr) return __ldcs(values + i);
  if constexpr (sizeof(Value) > 4) {
    return {i};
  } else {
    return i;
  }
}

}  // namespace sheaf::cuda
