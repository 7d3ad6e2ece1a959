#include "io/text/number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>

#include "io/text/lines.hpp"

namespace sheaf::io {
namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// Whether a decimal number is 1 or more. Asked of numbers only that are far above 1 or far below.
bool is_large(std::string_view number) {
  const std::size_t exponent_begin = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, exponent_begin);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t leading = mantissa.find_first_of("123456789");
  const bool negative = exponent_begin + 1 < number.size() && number[exponent_begin + 1] == '-';
  const char* at = number.data() + exponent_begin;
  while (at != number.data() + number.size() && !is_digit(*at)) ++at;
  std::uint64_t exponent = 0;
  read_digits(at, number.data() + number.size(), exponent);
  // Digits between the leading one and the point count like the exponent; zeros behind the point count against it.
  const bool zeros_lead = leading > point;
  const std::uint64_t shift = zeros_lead ? leading - point : point - leading;
  if (negative) return !zeros_lead && shift > exponent;
  return !zeros_lead || exponent >= shift;
}

// The word as from_chars reads it: Fortran's D, and its exponents of three digits that have no letter, become an e.
std::string with_plain_exponent(std::string_view word) {
  std::string plain(word);
  if (const std::size_t mark = plain.find_first_of("dD"); mark != std::string::npos) {
    plain[mark] = 'e';
    return plain;
  }
  const std::size_t sign = plain.find_last_of("+-");
  const bool follows_fraction = sign != std::string::npos && plain.substr(0, sign).find('.') != std::string::npos;
  if (follows_fraction && plain.size() - sign == 4) plain.insert(sign, 1, 'e');
  return plain;
}

template <class Value>
number_status convert(const char* first, const char* last, Value& value) {
  const auto [stop, reason] = std::from_chars(first, last, value);
  if (stop != last || reason == std::errc::invalid_argument) return number_status::no_number;
  if (reason == std::errc() && !std::isinf(value)) return number_status::good;
  const bool minus = *first == '-';
  if (reason == std::errc()) {
    const char leading = first[minus ? 1 : 0];
    return is_digit(leading) || leading == '.' ? number_status::past_range : number_status::good;
  }
  if (is_large({first, static_cast<std::size_t>(last - first)})) return number_status::past_range;
  value = minus ? -Value{0} : Value{0};
  return number_status::good;
}

template <class Value>
number_status convert_uncommon(std::string_view word, Value& value) {
  const number_status status = convert(word.data(), word.data() + word.size(), value);
  if (status != number_status::no_number) return status;
  const std::string plain = with_plain_exponent(word);
  return convert(plain.data(), plain.data() + plain.size(), value);
}

}  // namespace

template <class Value>
number_status read_real(const char*& at, const char* end, Value& value) {
  const auto [stop, reason] = std::from_chars(at, end, value);
  if (reason == std::errc() && (stop == end || ends_word(*stop)) && !std::isinf(value)) {
    at = stop;
    return number_status::good;
  }
  std::string_view word = word_at(at, end);
  const char* const behind = at + word.size();
  if (word.starts_with('+')) word.remove_prefix(1);
  if (word.empty() || (word.starts_with('-') && *at == '+')) return number_status::no_number;
  const number_status status = convert_uncommon(word, value);
  if (status == number_status::good) at = behind;
  return status;
}

template <class Value>
number_status read_integer(const char*& at, const char* end, Value& value) {
  const char* place = at;
  const bool minus = place != end && *place == '-';
  if (place != end && (*place == '-' || *place == '+')) ++place;
  std::uint64_t magnitude = 0;
  if (!read_digits(place, end, magnitude) || (place != end && !ends_word(*place))) return number_status::no_number;
  constexpr std::uint64_t most = std::uint64_t{1} << 63;
  if (magnitude > most - (minus ? 0 : 1)) return number_status::past_range;
  value = static_cast<Value>(magnitude);
  // 2^63 is the largest value that the conversion rounds to, so that it can be converted back.
  if (static_cast<std::uint64_t>(value) != magnitude) return number_status::not_exact;
  if (minus && magnitude != 0) value = -value;
  at = place;
  return number_status::good;
}

template number_status read_real(const char*&, const char*, float&);
template number_status read_real(const char*&, const char*, double&);
template number_status read_integer(const char*&, const char*, float&);
template number_status read_integer(const char*&, const char*, double&);

}  // namespace sheaf::io
