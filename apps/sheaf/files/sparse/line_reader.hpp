#pragma once

#include <type_traits>

#include "apps/sheaf/files/sparse/header.hpp"
#include "apps/sheaf/files/text/number.hpp"
#include "core/printable.hpp"

namespace sheaf::io {

/// Reads the fields of lines that hold entries; throws bad_line.
class line_reader {
 public:
  line_reader(const market_header& header, const char* end) : header_(header), end_(end) {}

  /// Goes to the next line that is neither blank nor a comment; false if there is none.
  bool begin_line(const char*& at) {
    at = skip_blanks(at, end_);
    while (at != end_ && (*at == '\n' || *at == comment_mark)) at = skip_blanks(next_line(at, end_), end_);
    line_ = at;
    return at != end_;
  }

  /// Reads a number from 1 to `most` and returns it counted from 0.
  std::uint64_t place(const char*& at, const char* what, std::uint64_t most) const {
    const char* const word = at = skip_blanks(at, end_);
    if (at != end_ && *at == '+') ++at;
    std::uint64_t number = 0;
    if (!read_digits(at, end_, number) || (at != end_ && !ends_field(*at))) {
      const std::string_view shown = field_at(word);
      if (shown.empty()) throw bad_line{line_, fmt::format("the line ends before its {}", what)};
      throw bad_line{line_, fmt::format("{} '{}' is not a whole number", what, core::printable(shown))};
    }
    if (number - 1 >= most) {
      throw bad_line{line_, fmt::format("{} {} is not in 1 to {}", what, core::printable(field_at(word)), most)};
    }
    return number - 1;
  }

  template <class Value>
  Value value(const char*& at) const {
    Value read = 1;
    if (header_.values == market_values::pattern) return read;
    at = skip_blanks(at, end_);
    number_status status = read_value(at, end_, read);
    if (status != number_status::good) {
      // A comment may follow without a blank.
      const std::string_view field = field_at(at);
      status = read_value(at, field.data() + field.size(), read);
      if (status != number_status::good) refuse<Value>(field, status);
    }
    return read;
  }

  /// Goes to the next line.
  void end_line(const char*& at) const {
    at = skip_blanks(at, end_);
    if (at == end_) return;
    if (*at == comment_mark) {
      at = next_line(at, end_);
      return;
    }
    if (*at != '\n') refuse_rest(at);
    ++at;
  }

  const char* line() const noexcept { return line_; }

 private:
  static constexpr bool ends_field(char c) noexcept { return ends_word(c) || c == comment_mark; }

  std::string_view field_at(const char* at) const {
    const std::string_view word = word_at(at, end_);
    return word.substr(0, word.find(comment_mark));
  }

  template <class Value>
  number_status read_value(const char*& at, const char* end, Value& read) const {
    switch (header_.values) {
      case market_values::integer: return read_integer(at, end, read);
      case market_values::unsigned_integer: return read_integer(at, end, read, whole_range::u64);
      default: return read_real(at, end, read);
    }
  }

  template <class Value>
  [[noreturn]] void refuse(std::string_view field, number_status status) const {
    constexpr const char* type = std::is_same_v<Value, float> ? "f32" : "f64";
    const bool is_real = header_.values == market_values::real;
    const std::string shown = core::printable(field);
    if (field.empty()) {
      throw bad_line{line_,
                     fmt::format("the line ends before its value, but the banner says {}", name(header_.values))};
    }
    switch (status) {
      case number_status::past_range:
        throw bad_line{line_, fmt::format("value '{}' is past the range of {}", shown,
                                          is_real                                    ? type
                                          : header_.values == market_values::integer ? "i64"
                                                                                     : "u64")};
      case number_status::not_exact:
        throw bad_line{line_, fmt::format("value '{}' has more digits than {} holds", shown, type)};
      default: throw bad_line{line_, fmt::format("value '{}' is not a {}", shown, is_real ? "number" : "whole number")};
    }
  }

  [[noreturn]] void refuse_rest(const char* at) const {
    const std::string shown = core::printable(rest_of_line(at, end_));
    const bool is_array = header_.format == market_format::array;
    const char* const why = is_array ? ", and an array has one number in each line"
                            : header_.values == market_values::pattern
                                ? ", but the banner says pattern, whose entries have no values"
                                : "";
    throw bad_line{line_, fmt::format("'{}' follows the {}{}", shown, is_array ? "number" : "entry", why)};
  }

  const market_header& header_;
  const char* end_;
  const char* line_ = nullptr;
};

}  // namespace sheaf::io
