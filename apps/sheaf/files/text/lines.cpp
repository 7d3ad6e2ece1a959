#include "apps/sheaf/files/text/lines.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

// Whether there is more than a comment in a line, whose first place without a blank is `first`.
bool is_filled(const char* first, const char* end) { return first != end && *first != '\n' && *first != comment_mark; }

}  // namespace

std::string_view rest_of_line(const char* at, const char* end) noexcept {
  at = skip_blanks(at, end);
  const auto* last = std::find(at, end, '\n');
  while (last != at && is_blank(last[-1])) --last;
  return {at, static_cast<std::size_t>(last - at)};
}

const char* next_line(const char* at, const char* end) noexcept {
  const void* const feed = at == end ? nullptr : std::memchr(at, '\n', static_cast<std::size_t>(end - at));
  return feed == nullptr ? end : static_cast<const char*>(feed) + 1;
}

std::vector<std::string_view> cut_at_line_ends(std::string_view text, std::uint64_t part_bytes) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t least = std::min<std::size_t>(std::max<std::uint64_t>(part_bytes, 1), text.size());
    const char* const last = next_line(text.data() + least - 1, text.data() + text.size());
    const auto size = static_cast<std::size_t>(last - text.data());
    parts.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return parts;
}

const char* find_filled_line(std::string_view part, std::uint64_t before) noexcept {
  const char* at = part.data();
  const char* const end = at + part.size();
  while (at != end) {
    const char* const first = skip_blanks(at, end);
    if (is_filled(first, end) && before-- == 0) return first;
    at = next_line(first, end);
  }
  return end;
}

std::uint64_t count_filled_lines(std::string_view part) noexcept {
  const char* at = part.data();
  const char* const end = at + part.size();
  std::uint64_t filled = 0;
  while (at != end) {
    const char* const first = skip_blanks(at, end);
    filled += is_filled(first, end) ? 1 : 0;
    at = next_line(first, end);
  }
  return filled;
}

std::uint64_t named_text::line_of(const char* place) const noexcept {
  if (place == end() && !text.empty() && text.back() == '\n') --place;
  return 1 + static_cast<std::uint64_t>(std::count(text.data(), place, '\n'));
}

void named_text::fail(const char* place, const std::string& what) const {
  throw error(error_code::bad_input, fmt::format("{}: line {}: {}", origin, line_of(place), what));
}

}  // namespace sheaf::io
