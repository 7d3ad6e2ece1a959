#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "apps/sheaf/files/failure.hpp"

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

/// Announced numbers of lines go up to 2^63, so the bytes of what they hold take more than 64 bits.
__extension__ using wide_count = unsigned __int128;

/// A text with its name for messages.
struct named_text {
  std::string_view text;
  const std::string& origin;

  const char* end() const noexcept { return text.data() + text.size(); }
  /// The number of the line that holds this place, counted from 1. The end of a text that ends with a line feed is in
  /// its last line.
  std::uint64_t line_of(const char* place) const noexcept;
  /// @throws error(bad_input) "origin: line N: what"
  template <class... Args>
  [[noreturn]] void fail(const char* place, fmt::format_string<Args...> words, Args&&... args) const {
    throw_error(error_code::bad_input, "{}: line {}: {}", origin, line_of(place),
                fmt::format(words, std::forward<Args>(args)...));
  }
  /// Asks for memory before it is taken. @param what  words for what takes the bytes, with the verb
  /// @throws error(out_of_memory) naming the line of `place` if fewer are available
  void require_memory(const char* place, wide_count bytes, const std::function<std::string()>& what) const;
};

/// Bytes of text that a thread reads at once.
std::uint64_t usual_part_bytes(std::uint64_t text_bytes, int threads) noexcept;

/// What is wrong with a line. Line numbers are counted once it is known that no part before has an error.
struct bad_line {
  const char* place;
  std::string what;
};

/// What a part of a text held.
struct part_outcome {
  std::uint64_t lines = 0;  ///< that are right; reading stops at the first that is wrong
  std::optional<bad_line> error;
};

/// Lines that another line announces.
struct announced_lines {
  std::uint64_t count;
  const char* announced_in;
  std::string what;       ///< "the 3 entries"
  const char* end;        ///< where they end
  std::string ends;       ///< "the file ends"
  std::string all_of_it;  ///< "the 3 entries"; behind "the points end" only "the 3"
};

/// Finds the first line that is wrong, if one is: in a part, one more than are announced, or one that is missing.
/// @throws error(bad_input)
void require_all(const named_text& file, const announced_lines& lines, const std::vector<std::string_view>& parts,
                 const std::vector<part_outcome>& outcomes);

}  // namespace sheaf::io
