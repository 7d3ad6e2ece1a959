#include "apps/sheaf/files/mesh/su2_sections.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "apps/sheaf/files/mesh/arrays.hpp"
#include "apps/sheaf/files/mesh/su2_keywords.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

using core::printable;

constexpr std::array<std::string_view, 10> known_keywords{
    "NDIME", "NELEM", "NPOIN", "NMARK", "NZONE", "MARKER_TAG", "MARKERTAG", "MARKER_ELEMS", "IZONE", "SEND_RECV"};

bool is_known(std::string_view key) noexcept { return std::ranges::find(known_keywords, key) != known_keywords.end(); }

// SU2's reader takes the blanks out of a marker's name.
std::string marker_name(std::string_view value) {
  std::string name;
  std::ranges::copy_if(value, std::back_inserter(name), [](char c) { return !is_blank(c); });
  return name;
}

// Takes one keyword after the other.
class layout_reader {
 public:
  explicit layout_reader(const named_text& file) : file_(file) { begin_zone(0, file.text.data()); }

  // `body` is what stands between this keyword and the next line of words.
  void take(const su2_keyword& word, std::string_view body) {
    if (word.key == "NDIME") return take_dimension(word, body);
    if (word.key == "NELEM") return static_cast<void>(take_section(word, body, zone().elements, 1));
    if (word.key == "NPOIN") return take_points(word, body);
    if (word.key == "NMARK") return take_marker_count(word, body);
    // SU2's reader knows the line of a marker by its place, so that files with the other spelling are read, too.
    if (word.key == "MARKER_TAG" || word.key == "MARKERTAG") return take_tag(word, body);
    if (word.key == "MARKER_ELEMS") return take_marker_elements(word, body);
    if (word.key == "NZONE") return take_zone_count(word, body);
    if (word.key == "IZONE") return take_zone(word, body);
    if (word.key == "SEND_RECV") refuse_exchange(word);
    require_capitals(word);
  }

  su2_layout end() {
    end_zone();
    require_zone_numbers();
    return std::move(layout_);
  }

 private:
  su2_zone& zone() noexcept { return layout_.zones.back(); }
  bool is_in_zone() const noexcept { return layout_.zones.back().number > 0; }
  // The first section of the zone, or null.
  const char* first_section() noexcept {
    const char* first = nullptr;
    for (const char* const line :
         {zone().elements.line, zone().points.line, zone().markers.empty() ? nullptr : zone().markers[0].elements.line,
          marker_count_line_, open_tag_ ? open_tag_->line : nullptr}) {
      if (line != nullptr && (first == nullptr || line < first)) first = line;
    }
    return first;
  }

  void begin_zone(std::uint64_t number, const char* line) {
    su2_zone begun;
    begun.number = number;
    begun.line = line;
    begun.dimension = dimension_of_file_;
    layout_.zones.push_back(std::move(begun));
    dimension_line_ = marker_count_line_ = nullptr;
    tag_lines_ = {};
  }

  void end_zone() {
    const std::string owner = is_in_zone() ? fmt::format("zone {}", zone().number) : "the file";
    if (zone().dimension == 0) file_.fail(zone().line, "{} has no NDIME", owner);
    if (zone().elements.line == nullptr) file_.fail(zone().line, "{} has no NELEM", owner);
    if (zone().points.line == nullptr) file_.fail(zone().line, "{} has no NPOIN", owner);
    require_no_open_tag();
    if (marker_count_line_ != nullptr && marker_count_ != zone().markers.size()) {
      file_.fail(marker_count_line_, "NMARK is {}, but {} has {} markers", marker_count_, owner, zone().markers.size());
    }
  }

  // Numbers of zones are those from 1 to their count, in any order.
  void require_zone_numbers() const {
    const std::uint64_t count = layout_.zones.size();
    if (zone_count_line_ != nullptr && zone_count_ != count) {
      file_.fail(zone_count_line_, "NZONE is {}, but the file has {} zone{}", zone_count_, count,
                 count == 1 ? "" : "s");
    }
    for (const su2_zone& zone : layout_.zones) {
      if (zone.number > count) {
        file_.fail(zone.line, "IZONE is {}, but the file has {} zone{}", zone.number, count, count == 1 ? "" : "s");
      }
    }
  }

  void require_first(const su2_keyword& word, const char* before) const {
    if (before == nullptr) return;
    file_.fail(word.line, "{} appears twice: also in line {}", printable(word.key), file_.line_of(before));
  }

  // SU2 ignores such a keyword, and would then miss the section.
  void require_capitals(const su2_keyword& word) const {
    std::string capitals(word.key);
    for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    if (is_known(capitals)) file_.fail(word.line, "{}= is not the keyword {}=", printable(word.key), capitals);
  }

  void require_no_lines(const su2_keyword& word, std::string_view body) const {
    const char* const line = find_su2_line(body, su2_line::numbers);
    if (line == body.data() + body.size()) return;
    file_.fail(line, "'{}' follows {}, which has no lines of its own", printable(rest_of_line(line, file_.end())),
               printable(word.key));
  }

  // In front of the first zone it is that of all zones that do not say theirs.
  void take_dimension(const su2_keyword& word, std::string_view body) {
    require_first(word, dimension_line_);
    const std::uint64_t dimension = whole_numbers_of(file_, word, 1)[0];
    if (dimension != 2 && dimension != 3) {
      file_.fail(word.line, "NDIME is {}, neither 2 nor 3", dimension);
    }
    require_no_lines(word, body);
    zone().dimension = static_cast<int>(dimension);
    if (!is_in_zone()) dimension_of_file_ = zone().dimension;
    dimension_line_ = word.line;
  }

  // Returns how many numbers the keyword has; the first is the count.
  std::size_t take_section(const su2_keyword& word, std::string_view body, su2_section& section,
                           std::size_t most_numbers) {
    require_first(word, section.line);
    const std::vector<std::uint64_t> numbers = whole_numbers_of(file_, word, most_numbers);
    section = {word.line, numbers[0], body};
    return numbers.size();
  }

  void take_points(const su2_keyword& word, std::string_view body) {
    su2_section& points = zone().points;
    zone().points_have_two_numbers = take_section(word, body, points, 2) == 2;
    if (points.count > most_nodes) {
      file_.fail(word.line, "NPOIN is {}, more than the 2^32 points that are read", points.count);
    }
  }

  void take_marker_count(const su2_keyword& word, std::string_view body) {
    require_first(word, marker_count_line_);
    marker_count_ = whole_numbers_of(file_, word, 1)[0];
    marker_count_line_ = word.line;
    require_no_lines(word, body);
  }

  void take_tag(const su2_keyword& word, std::string_view body) {
    require_no_open_tag();
    std::string name = marker_name(word.value);
    if (name.empty()) file_.fail(word.line, "{} has no name", word.key);
    if (name == "SEND_RECEIVE") refuse_exchange(word);
    const auto [before, is_new] = tag_lines_.emplace(name, word.line);
    if (!is_new) {
      file_.fail(word.line, "marker '{}' appears twice: also in line {}", printable(name),
                 file_.line_of(before->second));
    }
    require_no_lines(word, body);
    open_tag_ = {word.line, std::move(name)};
  }

  void take_marker_elements(const su2_keyword& word, std::string_view body) {
    if (!open_tag_) file_.fail(word.line, "MARKER_ELEMS follows no MARKER_TAG");
    su2_marker_section marker{open_tag_->name, {}};
    take_section(word, body, marker.elements, 1);
    zone().markers.push_back(std::move(marker));
    open_tag_.reset();
  }

  void require_no_open_tag() const {
    if (open_tag_) {
      file_.fail(open_tag_->line, "marker '{}' has no MARKER_ELEMS", printable(open_tag_->name));
    }
  }

  [[noreturn]] void refuse_exchange(const su2_keyword& word) const {
    file_.fail(word.line, "{}: a part of a mesh that exchanges nodes with others is not read; only whole meshes are",
               word.key == "SEND_RECV" ? "SEND_RECV" : "marker SEND_RECEIVE");
  }

  void take_zone_count(const su2_keyword& word, std::string_view body) {
    require_first(word, zone_count_line_);
    zone_count_ = whole_numbers_of(file_, word, 1)[0];
    if (zone_count_ == 0) file_.fail(word.line, "NZONE is 0: a mesh has at least one zone");
    zone_count_line_ = word.line;
    require_no_lines(word, body);
  }

  void take_zone(const su2_keyword& word, std::string_view body) {
    const std::uint64_t number = whole_numbers_of(file_, word, 1)[0];
    if (number == 0) file_.fail(word.line, "IZONE is 0: zones are counted from 1");
    const auto [before, is_new] = zone_lines_.emplace(number, word.line);
    if (!is_new) {
      file_.fail(word.line, "IZONE {} appears twice: also in line {}", number, file_.line_of(before->second));
    }
    require_no_lines(word, body);
    if (is_in_zone()) {
      end_zone();
    } else {
      if (const char* const section = first_section()) {
        file_.fail(section, "'{}' stands before the first IZONE, in line {}, so it is in no zone",
                   printable(rest_of_line(section, file_.end())), file_.line_of(word.line));
      }
      layout_.zones.clear();
    }
    begin_zone(number, word.line);
  }

  struct tag {
    const char* line;
    std::string name;
  };

  const named_text& file_;
  su2_layout layout_;
  int dimension_of_file_ = 0;
  const char* zone_count_line_ = nullptr;
  std::uint64_t zone_count_ = 0;
  std::unordered_map<std::uint64_t, const char*> zone_lines_;
  // Of the zone.
  const char* dimension_line_ = nullptr;
  const char* marker_count_line_ = nullptr;
  std::uint64_t marker_count_ = 0;
  std::optional<tag> open_tag_;
  std::unordered_map<std::string, const char*> tag_lines_;
};

std::string_view between(const char* first, const char* last) noexcept {
  return {first, static_cast<std::size_t>(last - first)};
}

[[noreturn]] void refuse_numbers_in_front(const named_text& file, const char* line) {
  file.fail(line, "'{}' stands before the first keyword of an SU2 file", printable(rest_of_line(line, file.end())));
}

}  // namespace

void require_su2_front(const named_text& front) {
  const char* first = front.text.data();
  for (;;) {
    first = skip_blanks(first, front.end());
    const su2_line kind = kind_of_su2_line(first, front.end());
    if (first == front.end() || (kind != su2_line::blank && kind != su2_line::comment)) break;
    first = next_line(first, front.end());
  }
  const std::string_view rest = between(first, front.end());
  // A line that the front ends in may go on.
  if (rest.find('\n') == std::string_view::npos) return;
  if (kind_of_su2_line(first, front.end()) == su2_line::numbers) refuse_numbers_in_front(front, first);
  read_su2_keyword(front, first);
}

su2_layout read_su2_layout(const named_text& file, std::uint64_t part_bytes, int threads) {
  const std::vector<const char*> lines = su2_lines_of_words(file.text, part_bytes, threads);
  const char* const first = lines.empty() ? file.end() : lines.front();
  const std::string_view before = between(file.text.data(), first);
  if (const char* const line = find_su2_line(before, su2_line::numbers); line != first) {
    refuse_numbers_in_front(file, line);
  }
  layout_reader reader(file);
  bool ignores_words = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // Sections that say nothing of the mesh have lines of any form: those of FFD boxes begin with a marker's name.
    if (ignores_words && !find_su2_keyword(file, lines[i])) continue;
    const su2_keyword word = read_su2_keyword(file, lines[i]);
    ignores_words = !is_known(word.key);
    const char* const next = i + 1 < lines.size() ? lines[i + 1] : file.end();
    reader.take(word, between(next_line(word.line, file.end()), next));
  }
  return reader.end();
}

}  // namespace sheaf::io
