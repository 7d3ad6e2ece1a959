#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Sums of floats that do not depend on the order of their terms (reproducible summation): each term is rounded to a
// whole multiple of one unit, which follows from the largest exponent of all terms, and whole numbers add exactly. On
// the host, too, where it is tested.
namespace sheaf::cuda {

/// How floats become whole numbers of 64 bits. `extra_bits` are those that a term has below its last place if its
/// exponent is the largest.
template <class T>
struct fixed_point_format;

/// 24 bits and 9 extra ones: 2^30 terms are less than 2^63.
template <>
struct fixed_point_format<float> {
  using bits = std::uint32_t;
  static constexpr int fraction_bits = 23;
  static constexpr int bias = 127;
  static constexpr int extra_bits = 9;
  static constexpr std::uint64_t most_terms = std::uint64_t{1} << 30;
};

/// 53 bits and 9 extra ones. Three terms may exceed 64 bits, so that those who add count how often sums wrap.
template <>
struct fixed_point_format<double> {
  using bits = std::uint64_t;
  static constexpr int fraction_bits = 52;
  static constexpr int bias = 1023;
  static constexpr int extra_bits = 9;
};

constexpr std::uint32_t no_exponent = 0;  ///< of zero
/// The exponent of infinity and NaN.
template <class T>
constexpr std::uint32_t no_number = 2 * fixed_point_format<T>::bias + 1;

template <class T>
__host__ __device__ __forceinline__ typename fixed_point_format<T>::bits bits_of(T term) {
  typename fixed_point_format<T>::bits bits;
  std::memcpy(&bits, &term, sizeof bits);
  return bits;
}

/// The biased exponent: no_exponent for zero, 1 for numbers below the least normal one, no_number for infinity and NaN.
template <class T>
__host__ __device__ __forceinline__ std::uint32_t exponent_of(T term) {
  using format = fixed_point_format<T>;
  const auto magnitude = static_cast<typename format::bits>(bits_of(term) << 1) >> 1;
  const auto exponent = static_cast<std::uint32_t>(magnitude >> format::fraction_bits);
  return exponent != 0 ? exponent : (magnitude != 0 ? 1 : no_exponent);
}

/// The exponent up to a multiple of four, less one, so that the largest of a column's terms is found after few of them.
/// It costs up to three of the extra bits.
template <class T>
__host__ __device__ __forceinline__ std::uint32_t unit_exponent_of(T term) {
  const std::uint32_t exponent = exponent_of(term);
  if (exponent == no_exponent || exponent == no_number<T>) return exponent;
  const std::uint32_t upper = exponent | 3;
  return upper == no_number<T> ? no_number<T> - 1 : upper;
}

/// A finite term as a multiple of the unit of `largest`, a unit_exponent from that of the term up; rounded to the
/// nearest, with halves away from zero.
template <class T>
__host__ __device__ __forceinline__ std::int64_t fixed_point_of(T term, std::uint32_t largest) {
  using format = fixed_point_format<T>;
  constexpr auto one = static_cast<typename format::bits>(1) << format::fraction_bits;
  const auto bits = bits_of(term);
  const std::uint32_t field = static_cast<std::uint32_t>(bits >> format::fraction_bits) & no_number<T>;
  const std::uint64_t fraction = (bits & (one - 1)) | (field != 0 ? one : 0);
  const std::uint32_t below = largest - (field != 0 ? field : 1);
  const std::uint32_t shift = below < 63 ? below : 63;
  const std::uint64_t magnitude = ((fraction << format::extra_bits) + ((std::uint64_t{1} << shift) >> 1)) >> shift;
  const auto multiple = static_cast<std::int64_t>(magnitude);
  return bits >> (8 * sizeof bits - 1) != 0 ? -multiple : multiple;
}

/// How often the sum of two whole numbers with a sign wraps: 1 if it exceeds the largest, -1 if it falls below the
/// least, else 0.
template <class Word>
__host__ __device__ __forceinline__ int wraps_of(Word before, Word added) {
  using bits = std::make_unsigned_t<Word>;
  const auto after = static_cast<Word>(static_cast<bits>(before) + static_cast<bits>(added));
  return ((before ^ after) & (added ^ after)) >= 0 ? 0 : (added < 0 ? -1 : 1);
}

/// `wraps` 2^64 + `low`, times the unit of `largest`.
template <class T>
__host__ __device__ __forceinline__ T number_of(std::int64_t low, std::int64_t wraps, std::uint32_t largest) {
  using format = fixed_point_format<T>;
  constexpr double two_to_64 = 18446744073709551616.0;
  double multiple = static_cast<double>(low);
  if (wraps != 0) multiple = fma(static_cast<double>(wraps), two_to_64, multiple);
  const int exponent = static_cast<int>(largest) - format::bias - format::fraction_bits - format::extra_bits;
  return static_cast<T>(scalbn(multiple, exponent));
}

/// What terms that are no numbers leave behind: one bit each of NaN, infinity and its negative.
constexpr std::uint32_t has_nan = 1;
constexpr std::uint32_t has_infinity = 2;
constexpr std::uint32_t has_negative_infinity = 4;

template <class T>
__host__ __device__ __forceinline__ std::uint32_t mark_of(T term) {
  if (term != term) return has_nan;
  return term > 0 ? has_infinity : has_negative_infinity;
}

/// The sum of terms of which some are no numbers.
template <class T>
__host__ __device__ __forceinline__ T sum_of_marks(std::uint32_t marks) {
  if (marks == has_infinity) return std::numeric_limits<T>::infinity();
  if (marks == has_negative_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::quiet_NaN();
}

}  // namespace sheaf::cuda
