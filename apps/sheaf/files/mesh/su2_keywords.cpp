#include "apps/sheaf/files/mesh/su2_keywords.hpp"

#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/text/number.hpp"
#include "core/parallel_tasks.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

using core::printable;

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

su2_line kind_of_su2_line(const char* first, const char* end) noexcept {
  if (first == end || *first == '\n') return su2_line::blank;
  if (*first == '%') return su2_line::comment;
  const bool begins_number = (*first >= '0' && *first <= '9') || *first == '-' || *first == '+' || *first == '.';
  return begins_number ? su2_line::numbers : su2_line::words;
}

const char* find_su2_line(std::string_view text, su2_line kind) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const first = skip_blanks(at, end);
    if (kind_of_su2_line(first, end) == kind) return first;
    at = next_line(first, end);
  }
  return end;
}

std::vector<const char*> su2_lines_of_words(std::string_view text, std::uint64_t part_bytes, int threads) {
  const std::vector<std::string_view> parts = cut_at_line_ends(text, part_bytes);
  std::vector<std::vector<const char*>> found(parts.size());
  progress_step step("looking for sections of the mesh", progress_unit::bytes, static_cast<double>(text.size()));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(threads), [&](std::uint64_t part) {
    step.add(parts[part].size());
    std::string_view rest = parts[part];
    const char* const end = rest.data() + rest.size();
    for (;;) {
      const char* const line = find_su2_line(rest, su2_line::words);
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

std::optional<su2_keyword> find_su2_keyword(const named_text& file, const char* line) noexcept {
  const std::string_view all = rest_of_line(line, file.end());
  const std::string_view said = all.substr(0, all.find('%'));
  const std::size_t equals = said.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  return su2_keyword{line, trimmed(said.substr(0, equals)), trimmed(said.substr(equals + 1))};
}

su2_keyword read_su2_keyword(const named_text& file, const char* line) {
  if (const auto keyword = find_su2_keyword(file, line)) return *keyword;
  file.fail(line, "'{}' is neither a line of numbers nor KEYWORD= value, as in SU2's files",
            printable(rest_of_line(line, file.end())));
}

std::vector<std::uint64_t> whole_numbers_of(const named_text& file, const su2_keyword& from, std::size_t most) {
  const char* at = from.value.data();
  const char* const end = at + from.value.size();
  std::vector<std::uint64_t> numbers;
  do {
    at = skip_blanks(at, end);
    const std::string_view word = word_at(at, end);
    if (word.empty()) file.fail(from.line, "{} has no number", printable(from.key));
    if (numbers.size() == most) {
      file.fail(from.line, "'{}' follows the value of {}", printable(word), printable(from.key));
    }
    std::uint64_t number = 0;
    if (!read_digits(at, end, number) || at != word.data() + word.size()) {
      file.fail(from.line, "{} '{}' is not a whole number", printable(from.key), printable(word));
    }
    numbers.push_back(number);
    at = skip_blanks(at, end);
  } while (at != end);
  return numbers;
}

}  // namespace sheaf::io
