#include "apps/sheaf/files/text/lines.hpp"

#include <algorithm>
#include <cstring>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/memory_limit.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

// Below this, memory is taken without asking how much there is, which takes longer than to read the text.
constexpr std::uint64_t small_bytes = std::uint64_t{1} << 24;
// Small enough that what is kept of a part stays in a core's cache, and threads end together; large enough that this is
// little beside the part.
constexpr std::uint64_t least_part_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t most_part_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t parts_per_thread = 8;

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

void named_text::require_memory(const char* place, wide_count bytes, const std::function<std::string()>& what) const {
  if (bytes < small_bytes && bytes <= memory_left()) return;
  const available_memory available = memory_available();
  if (bytes <= available.bytes) return;
  throw_error(error_code::out_of_memory, "{}: line {}: {} {} bytes, but {}", origin, line_of(place), what(), bytes,
              available.text());
}

std::uint64_t usual_part_bytes(std::uint64_t text_bytes, int threads) noexcept {
  const auto parts = static_cast<std::uint64_t>(threads) * parts_per_thread;
  return std::clamp(text_bytes / parts, least_part_bytes, most_part_bytes);
}

void require_all(const named_text& file, const announced_lines& lines, const std::vector<std::string_view>& parts,
                 const std::vector<part_outcome>& outcomes) {
  std::uint64_t left = lines.count;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const part_outcome& outcome = outcomes[part];
    if (outcome.lines > left || (outcome.lines == left && outcome.error)) {
      const char* const line = find_filled_line(parts[part], left);
      file.fail(line, "'{}' follows {} that line {} announces", core::printable(rest_of_line(line, file.end())),
                lines.what, file.line_of(lines.announced_in));
    }
    if (outcome.error) file.fail(outcome.error->place, "{}", outcome.error->what);
    left -= outcome.lines;
  }
  if (left > 0) {
    file.fail(lines.end, "{} after {} of {} that line {} announces", lines.ends, lines.count - left, lines.all_of_it,
              file.line_of(lines.announced_in));
  }
}

}  // namespace sheaf::io
