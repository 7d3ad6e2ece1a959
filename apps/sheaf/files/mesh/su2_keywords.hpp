#pragma once

#include <cstddef>

#include "apps/sheaf/files/text/lines.hpp"

namespace sheaf::io {

enum class su2_line : std::uint8_t { blank, comment, numbers, words };

/// What the line is whose first character behind blanks is at `first`. Numbers begin as a number does, words otherwise.
su2_line kind_of_su2_line(const char* first, const char* end) noexcept;

/// The first line of this kind, without its leading blanks; the end if there is none.
const char* find_su2_line(std::string_view text, su2_line kind) noexcept;

/// All lines of words, in their order, found on several threads.
std::vector<const char*> su2_lines_of_words(std::string_view text, std::uint64_t part_bytes, int threads);

/// A line "KEY= value", without the comment at its end and blanks around key and value.
struct su2_keyword {
  const char* line;
  std::string_view key;
  std::string_view value;
};

/// The keyword of a line of words; none if it has no key in front of a '='.
std::optional<su2_keyword> find_su2_keyword(const named_text& file, const char* line) noexcept;

/// @throws error(bad_input) for a line that has no keyword
su2_keyword read_su2_keyword(const named_text& file, const char* line);

/// As many whole numbers as the value has, at least one, of which `most` are allowed. @throws error(bad_input)
std::vector<std::uint64_t> whole_numbers_of(const named_text& file, const su2_keyword& from, std::size_t most);

}  // namespace sheaf::io
