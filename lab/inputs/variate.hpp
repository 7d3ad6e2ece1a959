#pragma once

#include "lab/inputs/input_pattern.hpp"
#include "lab/inputs/pattern_function.hpp"

// Random variates of the distributions that numbers of users have, as whole numbers or floats. All is integer
// arithmetic; floats are a whole number that is rounded once and then scaled by a power of two. So host and device make
// the same bits, which functions of a mathematical library would not.
namespace sheaf::inputs {

using primitives::key_distribution;

/// Parameters of the variates of an array.
struct variate_source {
  key_distribution distribution = key_distribution::uniform;
  std::uint64_t count = 0;
  std::uint64_t seed = 1;
};

/// Whether whole_variate() and float_variate() make keys of the distribution. The others are drawn by their place in
/// the order of all keys, of numbers of any type alike.
SHEAF_HOST_DEVICE constexpr bool is_numeric(key_distribution d) {
  return d == key_distribution::normal || d == key_distribution::lognormal || d == key_distribution::exponential ||
         d == key_distribution::pareto || d == key_distribution::timestamps || d == key_distribution::unit;
}

/// Whether variates fall on both sides of 0. The signed numbers of the other distributions are not below 0.
SHEAF_HOST_DEVICE constexpr bool has_negative(key_distribution d) { return d == key_distribution::normal; }

SHEAF_HOST_DEVICE inline std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using word128 = unsigned __int128;
  return static_cast<std::uint64_t>((word128{a} * b) >> 64);
#endif
}

SHEAF_HOST_DEVICE inline std::uint32_t leading_zeros(std::uint64_t word) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__clzll(static_cast<long long>(word)));
#else
  return static_cast<std::uint32_t>(__builtin_clzll(word));
#endif
}

/// 2^x for an x of `fraction` / 2^64, with 62 bits behind the point: the Taylor series of e^(x ln 2), whose remainder
/// is below 2^-31.
SHEAF_HOST_DEVICE inline std::uint64_t power_of_two(std::uint64_t fraction) {
  constexpr std::uint64_t one = std::uint64_t{1} << 62;
  const std::uint64_t t = high_product(fraction, 0xb17217f7d1cf79abU);  // ln 2 with 64 bits behind the point
  std::uint64_t sum = one + high_product(t, one) / 10;
  sum = one + high_product(t, sum) / 9;
  sum = one + high_product(t, sum) / 8;
  sum = one + high_product(t, sum) / 7;
  sum = one + high_product(t, sum) / 6;
  sum = one + high_product(t, sum) / 5;
  sum = one + high_product(t, sum) / 4;
  sum = one + high_product(t, sum) / 3;
  sum = one + high_product(t, sum) / 2;
  return one + high_product(t, sum);
}

/// -ln(word / 2^64) with 32 bits behind the point, from the series of ln((1 + s) / (1 - s)), whose remainder is below
/// 2^-30. Takes 0 for 1.
SHEAF_HOST_DEVICE inline std::uint64_t minus_logarithm(std::uint64_t word) {
  constexpr std::uint64_t one = std::uint64_t{1} << 32;
  const std::uint32_t zeros = leading_zeros(word | 1);
  const std::uint64_t mantissa = (word | 1) << zeros;  // from 1 to below 2, 63 bits behind the point
  // s = (m - 1) / (m + 1), 32 bits behind the point and at most a third
  const std::uint64_t s = (mantissa << 1 >> 2) / ((mantissa >> 33) + (std::uint64_t{1} << 30));
  const std::uint64_t square = s * s >> 32;
  std::uint64_t sum = one / 13 + (square * (one / 15) >> 32);
  sum = one / 11 + (square * sum >> 32);
  sum = one / 9 + (square * sum >> 32);
  sum = one / 7 + (square * sum >> 32);
  sum = one / 5 + (square * sum >> 32);
  sum = one / 3 + (square * sum >> 32);
  sum = one + (square * sum >> 32);
  const std::uint64_t of_mantissa = s * sum >> 31;
  const std::uint64_t of_power = (zeros + 1) * std::uint64_t{2977044472};  // ln 2
  return of_power > of_mantissa ? of_power - of_mantissa : 0;
}

/// A positive number: mantissa * 2^(exponent - 62), the mantissa from 2^62 to below 2^63.
struct scaled_number {
  std::uint64_t mantissa = 0;
  std::int32_t exponent = 0;
};

/// Six more than a normal variate, with 56 bits behind the point: the sum of twelve uniform ones, which has the same
/// mean, deviation and skewness, quartiles at 0.672 deviations instead of 0.674, and nothing beyond 6.
SHEAF_HOST_DEVICE inline std::uint64_t normal_above_minus_six(std::uint64_t draw) {
  std::uint64_t sum = 0;
  for (std::uint64_t pair = 0; pair < 6; ++pair) {
    const std::uint64_t two = mix(draw + pair);
    sum += (two >> 32) + (two & 0xffffffffU);
  }
  return sum << 24 | mix(draw + 6) >> 40;
}

/// e^z of a normal variate z.
SHEAF_HOST_DEVICE inline scaled_number lognormal_variate(std::uint64_t draw) {
  // z / ln 2 + 16, 58 bits behind the point
  const std::uint64_t above = high_product(normal_above_minus_six(draw) << 3, 0xb8aa3b295c17f0bbU);
  const std::uint64_t shifted = above + (std::uint64_t{16} << 58) - 0x229feb17c1447d23U;
  return {power_of_two(shifted << 6), static_cast<std::int32_t>(shifted >> 58) - 16};
}

/// An exponential variate of mean 1, 58 bits behind the point, of which the last 26 are random.
SHEAF_HOST_DEVICE inline std::uint64_t exponential_variate(std::uint64_t draw) {
  return minus_logarithm(draw) << 26 | mix(draw) >> 38;
}

/// u^-0.8 for a uniform u: over 1, and over t with probability t^-1.25.
SHEAF_HOST_DEVICE inline scaled_number pareto_variate(std::uint64_t draw) {
  const std::uint64_t power = high_product(exponential_variate(draw), 0x93bb62877cdff3c9U);  // 57 bits behind the point
  return {power_of_two(power << 7), static_cast<std::int32_t>(power >> 57)};
}

SHEAF_HOST_DEVICE inline std::uint64_t last_of_bits(std::uint32_t bits) {
  return bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
}

/// The number times 2^shift, rounded down; the largest of so many bits where it is larger.
SHEAF_HOST_DEVICE inline std::uint64_t whole_number(scaled_number x, std::int32_t shift, std::uint32_t bits) {
  const std::int32_t exponent = x.exponent + shift;
  if (exponent < 0) return 0;
  if (exponent >= static_cast<std::int32_t>(bits)) return last_of_bits(bits);
  return exponent > 62 ? x.mantissa << 1 : x.mantissa >> (62 - exponent);
}

/// Time stamp i, unsigned: of an event each microsecond in nanoseconds since 1970, written up to 64 microseconds late;
/// in fewer than 63 bits of one each 16 ms in seconds, up to a second late; in fewer than 31 of one among `count` that
/// fill the range.
SHEAF_HOST_DEVICE inline std::uint64_t whole_timestamp(std::uint64_t draw, std::uint64_t i, std::uint64_t count,
                                                       std::uint32_t bits) {
  if (bits >= 63) return std::uint64_t{1700000000000000000U} + 1000 * i + draw % 64000;
  if (bits >= 31) {
    const std::uint64_t seconds = 1700000000 + (16 * i + draw % 1024) / 1000;
    return seconds < last_of_bits(bits) ? seconds : last_of_bits(bits);
  }
  const std::uint32_t dropped = count >> 32 == 0 ? 0 : 16;  // so that products stay below 2^64
  return ((i + draw % 64) >> dropped << bits) / (((count + 64) >> dropped) + 1);
}

/// The variate of item i as a whole number of 0 to 64 bits. Normal ones have their mean in the middle of the range and
/// a deviation of a sixteenth of it; lognormal ones their median at 1/256; exponential ones a mean of 2^(bits / 2);
/// Pareto ones begin at 2^(bits / 3). Those that are too large are the largest number. Unit ones are uniform.
SHEAF_HOST_DEVICE inline std::uint64_t whole_variate(const variate_source& source, std::uint64_t i,
                                                     std::uint32_t bits) {
  if (bits == 0) return 0;
  const std::uint64_t draw = mix(source.seed * 0x2545f4914f6cdd1dU + i);
  switch (source.distribution) {
    case key_distribution::normal: return (normal_above_minus_six(draw) + (std::uint64_t{2} << 56)) << 4 >> (64 - bits);
    case key_distribution::lognormal:
      return whole_number(lognormal_variate(draw), static_cast<std::int32_t>(bits) - 8, bits);
    case key_distribution::exponential: {
      const std::uint64_t number = exponential_variate(draw) >> (58 - bits / 2);
      return number < last_of_bits(bits) ? number : last_of_bits(bits);
    }
    case key_distribution::pareto: return whole_number(pareto_variate(draw), static_cast<std::int32_t>(bits / 3), bits);
    case key_distribution::timestamps: return whole_timestamp(draw, i, source.count, bits);
    default: return draw >> (64 - bits);
  }
}

/// The bits of a whole number times the float that has these bits.
template <class Float, class Bits>
SHEAF_HOST_DEVICE std::uint64_t scaled_bits(std::int64_t number, Bits scale_bits) {
  Float scale = 0;
  std::memcpy(&scale, &scale_bits, sizeof scale);
  const Float product = static_cast<Float>(number) * scale;
  Bits bits = 0;
  std::memcpy(&bits, &product, sizeof bits);
  return bits;
}

/// The bits of a whole number of 64 bits times 2^exponent, rounded to a float of 4 or 8 bytes. 2^exponent has to be a
/// normal float.
SHEAF_HOST_DEVICE inline std::uint64_t float_bits(std::int64_t number, std::int32_t exponent, std::uint32_t key_bytes) {
  if (key_bytes == 4) return scaled_bits<float>(number, static_cast<std::uint32_t>(exponent + 127) << 23);
  return scaled_bits<double>(number, static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// The bits of the variate of item i as a float: normal with mean 0 and deviation 1, lognormal e to the power of that,
/// exponential with mean 1, Pareto from 1 on, unit from 0 to below 1. Time stamps are seconds with a fraction, since
/// 1970 in 8 bytes and since the first event in 4.
SHEAF_HOST_DEVICE inline std::uint64_t float_variate(const variate_source& source, std::uint64_t i,
                                                     std::uint32_t key_bytes) {
  const std::uint64_t draw = mix(source.seed * 0x2545f4914f6cdd1dU + i);
  switch (source.distribution) {
    case key_distribution::normal:
      return float_bits(static_cast<std::int64_t>(normal_above_minus_six(draw)) - (std::int64_t{6} << 56), -56,
                        key_bytes);
    case key_distribution::lognormal:
    case key_distribution::pareto: {
      const scaled_number x =
          source.distribution == key_distribution::pareto ? pareto_variate(draw) : lognormal_variate(draw);
      return float_bits(static_cast<std::int64_t>(x.mantissa), x.exponent - 62, key_bytes);
    }
    case key_distribution::exponential:
      return float_bits(static_cast<std::int64_t>(exponential_variate(draw)), -58, key_bytes);
    case key_distribution::timestamps:
      if (key_bytes == 4) return float_bits(static_cast<std::int64_t>(16 * i + draw % 1024), -10, key_bytes);
      return float_bits((std::int64_t{1700000000} << 20) + static_cast<std::int64_t>(i + draw % 64), -20, key_bytes);
    default:
      return key_bytes == 4 ? float_bits(static_cast<std::int64_t>(draw >> 40), -24, key_bytes)
                            : float_bits(static_cast<std::int64_t>(draw >> 11), -53, key_bytes);
  }
}

}  // namespace sheaf::inputs
