#include "io/mesh/su2_sections.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "core/parallel_tasks.hpp"
#include "core/printable.hpp"
#include "io/mesh/arrays.hpp"
#include "io/text/number.hpp"

namespace sheaf::io {
namespace {

using core::printable;

enum class line_kind : std::uint8_t { blank, comment, numbers, keyword };

// What the line is whose first character behind blanks is at `first`.
line_kind kind_of(const char* first, const char* end) noexcept {
  if (first == end || *first == '\n') return line_kind::blank;
  if (*first == '%') return line_kind::comment;
  const bool begins_number = (*first >= '0' && *first <= '9') || *first == '-' || *first == '+' || *first == '.';
  return begins_number ? line_kind::numbers : line_kind::keyword;
}

// The first line of this kind, without its leading blanks; the end if there is none.
const char* find_line(std::string_view text, line_kind kind) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const first = skip_blanks(at, end);
    if (kind_of(first, end) == kind) return first;
    at = next_line(first, end);
  }
  return end;
}

// All lines that begin as a keyword does, in their order.
std::vector<const char*> keyword_lines(std::string_view text, std::uint64_t part_bytes, int threads) {
  const std::vector<std::string_view> parts = cut_at_line_ends(text, part_bytes);
  std::vector<std::vector<const char*>> found(parts.size());
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    std::string_view rest = parts[part];
    const char* const end = rest.data() + rest.size();
    for (;;) {
      const char* const line = find_line(rest, line_kind::keyword);
      if (line == end) return;
      found[part].push_back(line);
      const char* const next = next_line(line, end);
      rest = {next, static_cast<std::size_t>(end - next)};
    }
  });
  std::vector<const char*> lines;
  for (const auto& of_part : found) lines.insert(lines.end(), of_part.begin(), of_part.end());
  return lines;
}

// A line "KEY= value", without the comment at its end.
struct keyword {
  const char* line;
  std::string_view key;
  std::string_view value;
};

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

keyword read_keyword(const named_text& file, const char* line) {
  const std::string_view all = rest_of_line(line, file.end());
  const std::string_view said = all.substr(0, all.find('%'));
  const std::size_t equals = said.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    file.fail(line,
              fmt::format("'{}' is neither a line of numbers nor KEYWORD= value, as in SU2's files", printable(all)));
  }
  return {line, trimmed(said.substr(0, equals)), trimmed(said.substr(equals + 1))};
}

// As many whole numbers as the value has, of which `most` are allowed.
std::vector<std::uint64_t> whole_numbers(const named_text& file, const keyword& from, std::size_t most) {
  const char* at = from.value.data();
  const char* const end = at + from.value.size();
  std::vector<std::uint64_t> numbers;
  do {
    at = skip_blanks(at, end);
    const std::string_view word = word_at(at, end);
    if (word.empty()) file.fail(from.line, fmt::format("{} has no number", printable(from.key)));
    if (numbers.size() == most) {
      file.fail(from.line, fmt::format("'{}' follows the value of {}", printable(word), printable(from.key)));
    }
    std::uint64_t number = 0;
    if (!read_digits(at, end, number) || at != word.data() + word.size()) {
      file.fail(from.line, fmt::format("{} '{}' is no whole number", printable(from.key), printable(word)));
    }
    numbers.push_back(number);
    at = skip_blanks(at, end);
  } while (at != end);
  return numbers;
}

// Takes one keyword after the other.
class layout_reader {
 public:
  explicit layout_reader(const named_text& file) : file_(file) {}

  // `body` is what stands between this keyword and the next.
  void take(const keyword& word, std::string_view body) {
    if (word.key == "NDIME") return take_dimension(word, body);
    if (word.key == "NELEM") return static_cast<void>(take_section(word, body, layout_.elements, 1));
    if (word.key == "NPOIN") return take_points(word, body);
    if (word.key == "NMARK") return take_marker_count(word, body);
    if (word.key == "MARKER_TAG") return take_tag(word, body);
    if (word.key == "MARKER_ELEMS") return take_marker_elements(word, body);
    if (word.key == "SEND_RECV") refuse_exchange(word);
    if (word.key == "NZONE" || word.key == "IZONE") return take_zone(word, body);
    // Control points of FFD boxes and the rotations of periodic boundaries, which take lines of their own.
    if (word.key.starts_with("FFD_") || word.key.starts_with("PERIODIC_") || word.key == "NPERIODIC") return;
    require_capitals(word);
    require_no_lines(word, body);
  }

  su2_layout end() {
    const char* const first = file_.text.data();
    if (layout_.dimension == 0) file_.fail(first, "the file has no NDIME");
    if (layout_.elements.line == nullptr) file_.fail(first, "the file has no NELEM");
    if (layout_.points.line == nullptr) file_.fail(first, "the file has no NPOIN");
    require_no_open_tag();
    if (marker_count_line_ != nullptr && marker_count_ != layout_.markers.size()) {
      file_.fail(marker_count_line_,
                 fmt::format("NMARK is {}, and the file has {} markers", marker_count_, layout_.markers.size()));
    }
    return std::move(layout_);
  }

 private:
  void require_first(const keyword& word, const char* before) const {
    if (before == nullptr) return;
    file_.fail(word.line,
               fmt::format("{} is there twice: in line {}, too", printable(word.key), file_.line_of(before)));
  }

  // SU2 ignores such a keyword, and would then miss the section.
  void require_capitals(const keyword& word) const {
    std::string capitals(word.key);
    for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    for (const std::string_view known : {"NDIME", "NELEM", "NPOIN", "NMARK", "MARKER_TAG", "MARKER_ELEMS"}) {
      if (capitals == known) file_.fail(word.line, fmt::format("{}=, the keyword is {}=", printable(word.key), known));
    }
  }

  void require_no_lines(const keyword& word, std::string_view body) const {
    const char* const line = find_line(body, line_kind::numbers);
    if (line == body.data() + body.size()) return;
    file_.fail(line, fmt::format("'{}' follows {}, which has no lines of its own",
                                 printable(rest_of_line(line, file_.end())), printable(word.key)));
  }

  void take_dimension(const keyword& word, std::string_view body) {
    require_first(word, dimension_line_);
    const std::uint64_t dimension = whole_numbers(file_, word, 1)[0];
    if (dimension != 2 && dimension != 3) {
      file_.fail(word.line, fmt::format("NDIME is {}, neither 2 nor 3", dimension));
    }
    require_no_lines(word, body);
    layout_.dimension = static_cast<int>(dimension);
    dimension_line_ = word.line;
  }

  // Returns how many numbers the keyword has; the first is the count.
  std::size_t take_section(const keyword& word, std::string_view body, su2_section& section, std::size_t most_numbers) {
    require_first(word, section.line);
    const std::vector<std::uint64_t> numbers = whole_numbers(file_, word, most_numbers);
    section = {word.line, numbers[0], body};
    return numbers.size();
  }

  void take_points(const keyword& word, std::string_view body) {
    layout_.points_have_two_numbers = take_section(word, body, layout_.points, 2) == 2;
    if (layout_.points.count > most_nodes) {
      file_.fail(word.line, fmt::format("NPOIN is {}, more than the 2^32 points that are read", layout_.points.count));
    }
  }

  void take_marker_count(const keyword& word, std::string_view body) {
    require_first(word, marker_count_line_);
    marker_count_ = whole_numbers(file_, word, 1)[0];
    marker_count_line_ = word.line;
    require_no_lines(word, body);
  }

  void take_tag(const keyword& word, std::string_view body) {
    require_no_open_tag();
    if (word.value.empty()) file_.fail(word.line, "MARKER_TAG has no name");
    if (word.value == "SEND_RECEIVE") refuse_exchange(word);
    const std::string_view first_word = word_at(word.value.data(), word.value.data() + word.value.size());
    if (first_word.size() != word.value.size()) {
      file_.fail(word.line, fmt::format("MARKER_TAG '{}' is more than one word", printable(word.value)));
    }
    const auto [before, is_new] = tag_lines_.emplace(word.value, word.line);
    if (!is_new) {
      file_.fail(word.line, fmt::format("marker '{}' is there twice: in line {}, too", printable(word.value),
                                        file_.line_of(before->second)));
    }
    require_no_lines(word, body);
    open_tag_ = word;
  }

  void take_marker_elements(const keyword& word, std::string_view body) {
    if (!open_tag_) file_.fail(word.line, "MARKER_ELEMS follows no MARKER_TAG");
    su2_marker_section marker{std::string(open_tag_->value), {}};
    take_section(word, body, marker.elements, 1);
    layout_.markers.push_back(std::move(marker));
    open_tag_.reset();
  }

  void require_no_open_tag() const {
    if (open_tag_) {
      file_.fail(open_tag_->line, fmt::format("marker '{}' has no MARKER_ELEMS", printable(open_tag_->value)));
    }
  }

  [[noreturn]] void refuse_exchange(const keyword& word) const {
    file_.fail(word.line, fmt::format("{}: a part of a mesh that exchanges nodes with others is not read, whole meshes "
                                      "are",
                                      word.key == "SEND_RECV" ? "SEND_RECV" : "marker SEND_RECEIVE"));
  }

  void take_zone(const keyword& word, std::string_view body) const {
    const std::uint64_t number = whole_numbers(file_, word, 1)[0];
    if (number != 1) {
      file_.fail(word.line, fmt::format("{} is {}: files of several zones are not read", word.key, number));
    }
    require_no_lines(word, body);
  }

  const named_text& file_;
  su2_layout layout_;
  const char* dimension_line_ = nullptr;
  const char* marker_count_line_ = nullptr;
  std::uint64_t marker_count_ = 0;
  std::optional<keyword> open_tag_;
  std::unordered_map<std::string_view, const char*> tag_lines_;
};

std::string_view between(const char* first, const char* last) noexcept {
  return {first, static_cast<std::size_t>(last - first)};
}

}  // namespace

void require_su2_front(const named_text& front) {
  const char* first = front.text.data();
  for (;;) {
    first = skip_blanks(first, front.end());
    const line_kind kind = kind_of(first, front.end());
    if (first == front.end() || (kind != line_kind::blank && kind != line_kind::comment)) break;
    first = next_line(first, front.end());
  }
  const std::string_view rest = between(first, front.end());
  // A line that the front ends in may go on.
  if (rest.find('\n') == std::string_view::npos) return;
  if (kind_of(first, front.end()) == line_kind::numbers) {
    front.fail(first, fmt::format("'{}' stands before the first keyword of an SU2 file",
                                  printable(rest_of_line(first, front.end()))));
  }
  read_keyword(front, first);
}

su2_layout read_su2_layout(const named_text& file, std::uint64_t part_bytes, int threads) {
  const std::vector<const char*> lines = keyword_lines(file.text, part_bytes, threads);
  const char* const first = lines.empty() ? file.end() : lines.front();
  const std::string_view before = between(file.text.data(), first);
  if (const char* const line = find_line(before, line_kind::numbers); line != first) {
    file.fail(line, fmt::format("'{}' stands before the first keyword of an SU2 file",
                                printable(rest_of_line(line, file.end()))));
  }
  layout_reader reader(file);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const keyword word = read_keyword(file, lines[i]);
    const char* const next = i + 1 < lines.size() ? lines[i + 1] : file.end();
    reader.take(word, between(next_line(word.line, file.end()), next));
  }
  return reader.end();
}

}  // namespace sheaf::io
