#pragma once

#include <cstdint>
#include <type_traits>

// The digit of a radix pass, and the values that words carry through it.
namespace sheaf::cuda {

constexpr std::uint32_t radix_bits = 8;
constexpr int radix_bins = 1 << radix_bits;

/// The values that words carry, in an array of their own. The sort is stable if there are values, and always if it is
/// by digits of the key.
enum class payload_mode {
  none,       ///< by codes the sort is not stable, which cannot be seen: words of equal keys are identical
  values_4,   ///< a value of 4 bytes for each word
  values_8,   ///< a value of 8 bytes
  values_16,  ///< a value of 16 bytes, beside words of one limb that are sorted by all digits
};
constexpr bool carries_values(payload_mode mode) { return mode != payload_mode::none; }
constexpr std::uint32_t value_bytes_of(payload_mode mode) {
  switch (mode) {
    case payload_mode::values_4: return 4;
    case payload_mode::values_8: return 8;
    case payload_mode::values_16: return 16;
    default: return 0;
  }
}
template <payload_mode Payload>
using sort_value = std::conditional_t<Payload == payload_mode::values_16, uint4,
                                      std::conditional_t<Payload == payload_mode::values_8, uint2, std::uint32_t>>;

/// Value i of an array, or the row number i where `values` is null.
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
