#pragma once

#include <cstdint>
#include <limits>

namespace sheaf::io {

// Numbers as C and Fortran write them: a leading '+', exponents 1.0D+03 and 1.0-103, inf and nan in any case. No locale
// matters. A number ends with its word: 1.5x is not a number.

enum class number_status : std::uint8_t {
  good,
  no_number,
  past_range,  ///< larger than any finite value of the type, or outside a range; numbers that are too small become 0
  not_exact,   ///< a whole number that the type does not hold
};

/// Reads a word as a real number. On success `at` is moved behind it. Value is float or double.
template <class Value>
number_status read_real(const char*& at, const char* end, Value& value);

enum class whole_range : std::uint8_t { i64, u64 };

/// Reads a word as a real number that has exactly this value, which is whole and in the range: digits, or what has that
/// value as a real number has one, such as 2.0 and 1e5.
template <class Value>
number_status read_integer(const char*& at, const char* end, Value& value, whole_range range = whole_range::i64);

/// Reads digits and stops before the first other character; false if there is no digit. A number that
/// passes 64 bits becomes 2^64 - 1.
inline bool read_digits(const char*& at, const char* end, std::uint64_t& number) noexcept {
  constexpr int digits_that_fit = 19;
  const char* const fitting = end - at < digits_that_fit ? end : at + digits_that_fit;
  const char* const first = at;
  number = 0;
  const auto digit_at = [](const char* place) {
    return static_cast<unsigned>(static_cast<unsigned char>(*place)) - '0';
  };
  for (; at != fitting; ++at) {
    const unsigned digit = digit_at(at);
    if (digit > 9) return at != first;
    number = number * 10 + digit;
  }
  for (; at != end && digit_at(at) <= 9; ++at) {
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, std::uint64_t{digit_at(at)}, &number)) {
      number = std::numeric_limits<std::uint64_t>::max();
    }
  }
  return at != first;
}

}  // namespace sheaf::io
