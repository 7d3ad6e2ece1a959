#include "apps/sheaf/files/text/number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "apps/sheaf/files/text/lines.hpp"

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

// A whole number of 64 bits without its sign.
struct whole_number {
  number_status status = number_status::no_number;
  std::uint64_t magnitude = 0;
};

// Digits, up to the first other character.
whole_number read_whole(const char*& at, const char* end) {
  const char* const first = at;
  whole_number whole;
  if (!read_digits(at, end, whole.magnitude)) return whole;
  whole.status = number_status::good;
  if (whole.magnitude == std::numeric_limits<std::uint64_t>::max()) {
    const std::string_view digits(first, static_cast<std::size_t>(at - first));
    const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
    if (digits.substr(zeros) != std::to_string(whole.magnitude)) whole.status = number_status::past_range;
  }
  return whole;
}

// Whether a word without a sign is digits, of which a point may be among, and an exponent behind an e.
bool is_decimal(const std::string& word) {
  double value = 0;
  const auto [stop, reason] = std::from_chars(word.data(), word.data() + word.size(), value);
  return !word.empty() && (is_digit(word.front()) || word.front() == '.') && reason != std::errc::invalid_argument &&
         stop == word.data() + word.size();
}

// The exponent of a decimal number whose e is at `mark`, or behind its end. No word has as many digits as the bound.
std::int64_t exponent_of(const std::string& number, std::size_t mark) {
  constexpr std::uint64_t bound = std::uint64_t{1} << 60;
  const char* at = number.data() + std::min(number.size(), mark + 1);
  const char* const end = number.data() + number.size();
  const bool minus = at != end && *at == '-';
  if (at != end && !is_digit(*at)) ++at;
  std::uint64_t magnitude = 0;
  read_digits(at, end, magnitude);
  const auto exponent = static_cast<std::int64_t>(std::min(magnitude, bound));
  return minus ? -exponent : exponent;
}

// The whole number that a real one without a sign is, as 2.0, 1.5e1 and 20D-1 are. Digits decide, so that nothing is
// rounded.
whole_number decimal_whole(std::string_view word) {
  const std::string number = with_plain_exponent(word);
  if (!is_decimal(number)) return {};
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = std::min(number.find('.'), mark);
  const std::string fraction = number.substr(std::min(point + 1, mark), mark - std::min(point + 1, mark));
  std::string digits = number.substr(0, point) + fraction;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return {number_status::good, 0};
  const std::int64_t shift = exponent_of(number, mark) - static_cast<std::int64_t>(fraction.size());
  const auto length = static_cast<std::int64_t>(digits.size());
  const std::int64_t whole_length = length + shift;
  constexpr std::int64_t most_length = 20;  // of a number of 64 bits
  if (whole_length > most_length) return {number_status::past_range, 0};
  if (whole_length <= 0) return {};
  const auto kept = static_cast<std::size_t>(std::min(length, whole_length));
  if (digits.find_first_not_of('0', kept) != std::string::npos) return {};
  digits.resize(static_cast<std::size_t>(whole_length), '0');
  const char* first = digits.data();
  return read_whole(first, first + digits.size());
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
number_status read_integer(const char*& at, const char* end, Value& value, whole_range range) {
  const char* place = at;
  const bool minus = place != end && *place == '-';
  if (place != end && (*place == '-' || *place == '+')) ++place;
  whole_number whole = read_whole(place, end);
  if (place != end && !ends_word(*place)) {
    const std::string_view word = word_at(at, end);
    place = at + word.size();
    whole = decimal_whole(word.substr(*at == '-' || *at == '+' ? 1 : 0));
  }
  if (whole.status != number_status::good) return whole.status;
  const std::uint64_t most = range == whole_range::u64 ? (minus ? 0 : std::numeric_limits<std::uint64_t>::max())
                                                       : (std::uint64_t{1} << 63) - (minus ? 0 : 1);
  if (whole.magnitude > most) return number_status::past_range;
  value = static_cast<Value>(whole.magnitude);
  // Rounding can lead to 2^64, which cannot be converted back.
  if (value >= Value{0x1p64} || static_cast<std::uint64_t>(value) != whole.magnitude) return number_status::not_exact;
  if (minus && whole.magnitude != 0) value = -value;
  at = place;
  return number_status::good;
}

template number_status read_real(const char*&, const char*, float&);
template number_status read_real(const char*&, const char*, double&);
template number_status read_integer(const char*&, const char*, float&, whole_range);
template number_status read_integer(const char*&, const char*, double&, whole_range);

}  // namespace sheaf::io
