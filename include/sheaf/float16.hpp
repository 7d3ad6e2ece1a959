#pragma once

#include <cstdint>

// Floats of 16 bits: IEEE 754 half precision, and bfloat16. They are stored and converted here, and computed in f32.
namespace sheaf {

#if defined(__CUDACC__)
#define SHEAF_FLOAT16_CALL __host__ __device__
#else
#define SHEAF_FLOAT16_CALL
#endif

/// An IEEE 754 float of 16 bits: 5 of exponent, 10 of mantissa; the largest is 65504.
struct float16 {
  std::uint16_t bits;

  float16() = default;
  /// The nearest float16, of two the one whose last bit is 0. Past 65519.99 it is an infinity; a NaN becomes a quiet
  /// one of its sign.
  SHEAF_FLOAT16_CALL constexpr explicit float16(float value) : bits(nearest(value)) {}
  /// The same number; exact.
  SHEAF_FLOAT16_CALL constexpr explicit operator float() const {
    const std::uint32_t sign = (std::uint32_t{bits} & 0x8000U) << 16;
    const std::uint32_t magnitude = (std::uint32_t{bits} & 0x7fffU) << 13;
    // The exponent's bias is 112 more in f32: a multiplication corrects it, of numbers below 2^-14 too.
    const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112F;
    const std::uint32_t special = magnitude >= 0x0f800000U ? 0x7f800000U : 0U;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, scaled) | special);
  }
  SHEAF_FLOAT16_CALL static constexpr float16 from_bits(std::uint16_t bits) {
    float16 made(0.0F);
    made.bits = bits;
    return made;
  }

 private:
  SHEAF_FLOAT16_CALL static constexpr std::uint16_t nearest(float value) {
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t sign = (all >> 16) & 0x8000U;
    const std::uint32_t magnitude = all & 0x7fffffffU;
    std::uint32_t rounded = 0;
    if (magnitude >= 0x47800000U) {  // 65536 and more
      rounded = magnitude > 0x7f800000U ? 0x7e00U | ((magnitude >> 13) & 0x1ffU) : 0x7c00U;
    } else if (magnitude < 0x38800000U) {
      // Below 2^-14: the sum with 1/2 rounds to multiples of 2^-24, as its mantissa ends there.
      const float sum = __builtin_bit_cast(float, magnitude) + 0.5F;
      rounded = __builtin_bit_cast(std::uint32_t, sum) - 0x3f000000U;
    } else {
      const std::uint32_t odd = (magnitude >> 13) & 1U;
      rounded = (magnitude - 0x38000000U + 0xfffU + odd) >> 13;
    }
    return static_cast<std::uint16_t>(sign | rounded);
  }
};

/// The upper 16 bits of a float of 32: 8 of exponent, 7 of mantissa.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  /// The nearest bfloat16, of two the one whose last bit is 0; a NaN becomes a quiet one of its sign.
  SHEAF_FLOAT16_CALL constexpr explicit bfloat16(float value) : bits(nearest(value)) {}
  /// The same number; exact.
  SHEAF_FLOAT16_CALL constexpr explicit operator float() const {
    return __builtin_bit_cast(float, std::uint32_t{bits} << 16);
  }
  SHEAF_FLOAT16_CALL static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 made(0.0F);
    made.bits = bits;
    return made;
  }

 private:
  SHEAF_FLOAT16_CALL static constexpr std::uint16_t nearest(float value) {
    const auto all = __builtin_bit_cast(std::uint32_t, value);
    const bool is_nan = (all & 0x7fffffffU) > 0x7f800000U;
    const std::uint32_t rounded = is_nan ? all | 0x400000U : all + 0x7fffU + ((all >> 16) & 1U);
    return static_cast<std::uint16_t>(rounded >> 16);
  }
};

#undef SHEAF_FLOAT16_CALL

}  // namespace sheaf
