#pragma once

#include <charconv>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sheaf::io {

/// Text of numbers that is given away in pieces.
class piece_writer {
 public:
  /// @param take  is called with each piece, of some whole lines
  explicit piece_writer(const std::function<void(std::string_view)>& take) : take_(take) {
    text_.resize(piece_bytes + most_line_bytes);
  }

  /// There is room for the numbers and marks of a line.
  template <class Number>
  void number(Number value) {
    used_ = static_cast<std::size_t>(std::to_chars(text_.data() + used_, text_.data() + text_.size(), value).ptr -
                                     text_.data());
  }
  void mark(char c) { text_[used_++] = c; }
  void end_line() {
    mark('\n');
    if (used_ >= piece_bytes) flush();
  }
  void keyword(const std::string& line) {
    flush();
    take_(line + "\n");
  }
  void flush() {
    if (used_ > 0) take_(std::string_view(text_).substr(0, used_));
    used_ = 0;
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  // A type and eight nodes of 10 digits, or three numbers (the longest is -2.2250738585072014e-308), with blanks and a
  // line feed.
  static constexpr std::size_t most_line_bytes = 128;

  const std::function<void(std::string_view)>& take_;
  std::string text_;
  std::size_t used_ = 0;
};

}  // namespace sheaf::io
