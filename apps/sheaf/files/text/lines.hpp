#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::io {

// Text that is read line by line. A line ends with a line feed or with the text; a carriage return is a blank.

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
constexpr bool ends_word(char c) noexcept { return is_blank(c) || c == '\n'; }

/// What begins a comment, which goes to the end of its line.
constexpr char comment_mark = '%';

/// The first place from `at` on that holds no blank, which may be the end of the line.
constexpr const char* skip_blanks(const char* at, const char* end) noexcept {
  while (at != end && is_blank(*at)) ++at;
  return at;
}

/// The word that begins at `at`; empty at the end of a line.
constexpr std::string_view word_at(const char* at, const char* end) noexcept {
  const char* last = at;
  while (last != end && !ends_word(*last)) ++last;
  return {at, static_cast<std::size_t>(last - at)};
}

/// The rest of the line without blanks at its ends.
std::string_view rest_of_line(const char* at, const char* end) noexcept;

/// Where the next line begins, or the end.
const char* next_line(const char* at, const char* end) noexcept;

/// Whole lines, each part of at least part_bytes but the last.
std::vector<std::string_view> cut_at_line_ends(std::string_view text, std::uint64_t part_bytes);

/// Lines of a part that are neither blank nor comments alone.
std::uint64_t count_filled_lines(std::string_view part) noexcept;

/// The place of the filled line that `before` others of the part precede; the end if there are fewer.
const char* find_filled_line(std::string_view part, std::uint64_t before) noexcept;

/// A text with its name for messages.
struct named_text {
  std::string_view text;
  const std::string& origin;

  const char* end() const noexcept { return text.data() + text.size(); }
  /// The number of the line that holds this place, counted from 1. The end of a text that ends with a line feed is in
  /// its last line.
  std::uint64_t line_of(const char* place) const noexcept;
  /// @throws error(bad_input) "origin: line N: what"
  [[noreturn]] void fail(const char* place, const std::string& what) const;
};

}  // namespace sheaf::io
