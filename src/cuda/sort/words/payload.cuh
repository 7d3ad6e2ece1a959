#pragma once

#include <cstdint>
#include <type_traits>

// The digit of a radix pass, and the values that words carry through it.
namespace sheaf::cuda {

constexpr std::uint32_t radix_bits = 8;
constexpr int radix_bins = 1 << radix_bits;

/// Width of the values that words carry, in an array of their own. A sort keeps the order of equal keys, with one
/// exception that cannot be seen: groups without values, where words of equal keys are identical.
enum class value_width {
  none,
  values_4,   ///< a value of 4 bytes for each word
  values_8,   ///< a value of 8 bytes
  values_16,  ///< a value of 16 bytes, beside words of one limb that are sorted by all digits
};
constexpr bool carries_values(value_width width) { return width != value_width::none; }
constexpr std::uint32_t value_bytes_of(value_width width) {
  switch (width) {
    case value_width::values_4: return 4;
    case value_width::values_8: return 8;
    case value_width::values_16: return 16;
    default: return 0;
  }
}
template <value_width Values>
using sort_value = std::conditional_t<Values == value_width::values_16, uint4,
                                      std::conditional_t<Values == value_width::values_8, uint2, std::uint32_t>>;

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
