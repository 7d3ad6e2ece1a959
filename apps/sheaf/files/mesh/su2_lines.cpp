#include "apps/sheaf/files/mesh/su2_lines.hpp"

#include <cmath>

#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/text/number.hpp"
#include "core/parallel_tasks.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

using core::printable;

// Reads lines of numbers of a part of a section; throws bad_line.
class line_reader {
 public:
  explicit line_reader(std::string_view part) : at_(part.data()), line_(at_), end_(at_ + part.size()) {}

  // Goes to the next line of numbers; false if there is none.
  bool begin_line() {
    at_ = skip_blanks(at_, end_);
    while (at_ != end_ && (*at_ == '\n' || *at_ == '%')) at_ = skip_blanks(next_line(at_, end_), end_);
    line_ = at_;
    return at_ != end_;
  }
  const char* line() const noexcept { return line_; }

  // Whether the line has no more words.
  bool is_at_end() {
    at_ = skip_blanks(at_, end_);
    return at_ == end_ || *at_ == '\n' || *at_ == '%';
  }

  // The next word as a whole number, if it is one.
  std::optional<std::uint64_t> whole() {
    const char* place = at_ = skip_blanks(at_, end_);
    std::uint64_t number = 0;
    if (!read_digits(place, end_, number) || (place != end_ && !ends_word(*place))) return std::nullopt;
    at_ = place;
    return number;
  }

  double coordinate() {
    at_ = skip_blanks(at_, end_);
    double value = 0;
    const char* const word = at_;
    switch (read_real(at_, end_, value)) {
      case number_status::good: break;
      case number_status::past_range: fail("coordinate '{}' is past the range of f64");
      default: fail("coordinate '{}' is not a number");
    }
    if (std::isfinite(value)) return value;
    at_ = word;
    fail("coordinate '{}' is not finite");
  }

  // A number of any kind, which nobody needs.
  void skip_number() {
    if (!whole()) coordinate();
  }

  void skip_line() { at_ = next_line(at_, end_); }

  // Skips up to `most` whole numbers, and what may be a comment.
  void end_line(int most, const char* what) {
    for (; most > 0 && !is_at_end(); --most) {
      if (!whole()) fail("'{}', which follows the line's numbers, is not a whole number");
    }
    if (!is_at_end()) {
      throw bad_line{line_, fmt::format("'{}' follows the {}", printable(rest_of_line(at_, end_)), what)};
    }
    skip_line();
  }

  // With the word that the reader is at.
  [[noreturn]] void fail(const char* format) const {
    throw bad_line{line_, fmt::format(fmt::runtime(format), printable(word_at(at_, end_)))};
  }
  [[noreturn]] void fail_with(std::string what) const { throw bad_line{line_, std::move(what)}; }

 private:
  const char* at_;
  const char* line_;
  const char* end_;
};

// Calls read(lines) for every line of a part, up to the first that is wrong.
template <class Read>
part_outcome read_part(std::string_view part, Read&& read) {
  part_outcome outcome;
  line_reader lines(part);
  try {
    for (; lines.begin_line(); ++outcome.lines) read(lines);
  } catch (bad_line& error) {
    outcome.error = std::move(error);
  }
  return outcome;
}

announced_lines announced(const su2_section& section, const std::string& what) {
  return {section.count,
          section.line,
          fmt::format("the {} {}", section.count, what),
          section.body.data() + section.body.size(),
          fmt::format("the {} end", what),
          fmt::format("the {}", section.count)};
}

void read_point(line_reader& lines, int dimension, int most_numbers, double* to) {
  for (int axis = 0; axis < dimension; ++axis) {
    if (lines.is_at_end()) lines.fail_with(fmt::format("the line ends after {} of {} coordinates", axis, dimension));
    to[axis] = lines.coordinate();
  }
  // Writers that know only points in space give those of the plane a third coordinate.
  if (dimension == 2 && !lines.is_at_end()) lines.skip_number();
  lines.end_line(most_numbers, "point");
}

using type_counts = std::array<std::uint64_t, element_types>;
std::uint64_t& of_type(type_counts& counts, element_type type) { return counts[static_cast<std::size_t>(type)]; }

constexpr std::uint64_t vertex_code = 1;

// What the line begins with, if the section may have such an element.
struct line_type {
  std::optional<element_type> type;
  bool is_vertex = false;
};

line_type type_of_line(line_reader& line, const su2_element_lines& of) {
  const auto code = line.whole();
  const auto type = code ? type_of_su2_code(*code) : std::nullopt;
  if (type && dimension_of(*type) == of.dimension) return {type, false};
  return {std::nullopt, of.are_of_marker && code == vertex_code};
}

[[noreturn]] void refuse_type(const char* line, const char* end, int dimension) {
  line_reader lines({line, static_cast<std::size_t>(end - line)});
  lines.begin_line();
  const auto code = lines.whole();
  if (!code) lines.fail("element type '{}' is not a whole number");
  if (const auto type = type_of_su2_code(*code)) {
    lines.fail_with(fmt::format("element type {} is a {}, which has {} dimensions, not {}", *code, name(*type),
                                dimension_of(*type), dimension));
  }
  // SU2's finite element solver has those of higher order, whose numbers are higher by hundreds.
  constexpr std::uint64_t order_factor = 100;
  if (const auto type = type_of_su2_code(*code % order_factor);
      type && *code > order_factor && *code < 10 * order_factor) {
    lines.fail_with(fmt::format("element type {} is a {} of order {}, and those of order 1 are read", *code,
                                name(*type), *code / order_factor + 1));
  }
  std::string known;
  for (const element_type type : all_element_types) {
    if (dimension_of(type) == dimension) {
      known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", su2_code(type), name(type));
    }
  }
  lines.fail_with(fmt::format("element type {} is not one of {}", *code, known));
}

std::uint64_t read_node(line_reader& line, std::uint64_t points) {
  const auto node = line.whole();
  if (!node) line.fail("node '{}' is not a whole number");
  if (*node >= points) line.fail_with(fmt::format("node {} is not below the {} points", *node, points));
  return *node;
}

void read_nodes(line_reader& line, element_type type, const su2_element_lines& of, std::uint32_t* to) {
  const std::uint64_t count = nodes_of(type);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (line.is_at_end()) {
      line.fail_with(fmt::format("the line ends after {} of the {} nodes of a {}", i, count, name(type)));
    }
    to[i] = static_cast<std::uint32_t>(read_node(line, of.points));
  }
  if (const std::uint64_t twice = repeated_node(to, count); twice != count) {
    line.fail_with(fmt::format("node {} of a {} appears twice", to[twice], name(type)));
  }
  for (std::uint64_t i = 0; i < count; ++i) to[i] += of.first_node;
  line.end_line(1, "element");
}

void skip_vertex(line_reader& line, std::uint64_t points) {
  if (line.is_at_end()) line.fail_with("the line ends after 0 of the 1 nodes of a vertex");
  read_node(line, points);
  line.end_line(1, "element");
}

}  // namespace

std::vector<double> read_su2_points(const su2_reading& how, const su2_zone& zone) {
  const su2_section& section = zone.points;
  const auto dimension = static_cast<std::uint64_t>(zone.dimension);
  const std::vector<std::string_view> parts = cut_at_line_ends(section.body, how.part_bytes);
  // What is announced is not believed: lines are counted before memory is taken, so each part knows its place.
  std::vector<std::uint64_t> first_points(parts.size() + 1, 0);
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(how.threads),
                      [&](std::uint64_t part) { first_points[part + 1] = count_filled_lines(parts[part]); });
  for (std::size_t part = 0; part < parts.size(); ++part) first_points[part + 1] += first_points[part];
  how.file.require_memory(section.line, first_points.back() * dimension * sizeof(double),
                          [] { return "the points take"; });
  std::vector<double> coordinates(first_points.back() * dimension);
  std::vector<part_outcome> outcomes(parts.size());
  progress_step step("reading points of " + how.file.origin, progress_unit::bytes,
                     static_cast<double>(section.body.size()));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(how.threads), [&](std::uint64_t part) {
    double* to = coordinates.data() + first_points[part] * dimension;
    outcomes[part] = read_part(parts[part], [&](line_reader& lines) {
      read_point(lines, zone.dimension, zone.points_have_two_numbers ? 2 : 1, to);
      to += dimension;
    });
    step.add(parts[part].size());
  });
  require_all(how.file, announced(section, "points"), parts, outcomes);
  return coordinates;
}

su2_elements read_su2_elements(const su2_reading& how, const su2_element_lines& lines) {
  const std::vector<std::string_view> parts = cut_at_line_ends(lines.section.body, how.part_bytes);
  std::vector<type_counts> firsts(parts.size(), type_counts{});
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(how.threads), [&](std::uint64_t part) {
    read_part(parts[part], [&](line_reader& line) {
      if (const auto type = type_of_line(line, lines).type) ++of_type(firsts[part], *type);
      line.skip_line();
    });
  });
  su2_elements read;
  std::uint64_t wanted = 0;
  type_counts sums{};
  for (const element_type type : all_element_types) {
    for (type_counts& first : firsts) {
      const std::uint64_t count = of_type(first, type);
      of_type(first, type) = of_type(sums, type);
      of_type(sums, type) += count;
    }
    wanted += of_type(sums, type) * nodes_of(type) * sizeof(std::uint32_t);
  }
  how.file.require_memory(lines.section.line, wanted, [&] { return fmt::format("the {} take", lines.what); });
  for (const element_type type : all_element_types) read.lists.nodes(type).resize(of_type(sums, type) * nodes_of(type));
  std::vector<part_outcome> outcomes(parts.size());
  std::vector<std::uint64_t> vertices(parts.size(), 0);
  progress_step step(fmt::format("reading {} of {}", lines.what, how.file.origin), progress_unit::bytes,
                     static_cast<double>(lines.section.body.size()));
  core::for_each_task(parts.size(), static_cast<std::uint64_t>(how.threads), [&](std::uint64_t part) {
    outcomes[part] = read_part(parts[part], [&](line_reader& line) {
      const auto [type, is_vertex] = type_of_line(line, lines);
      if (is_vertex) {
        skip_vertex(line, lines.points);
        ++vertices[part];
        return;
      }
      if (!type) refuse_type(line.line(), how.file.end(), lines.dimension);
      const std::uint64_t place = of_type(firsts[part], *type)++;
      read_nodes(line, *type, lines, read.lists.nodes(*type).data() + place * nodes_of(*type));
    });
    step.add(parts[part].size());
  });
  require_all(how.file, announced(lines.section, lines.what), parts, outcomes);
  for (const std::uint64_t count : vertices) read.vertices += count;
  return read;
}

const char* find_su2_element(const su2_section& section, element_type type, std::uint64_t& element) {
  line_reader line(section.body);
  for (; line.begin_line(); line.skip_line()) {
    if (line.whole() == su2_code(type) && element-- == 0) return line.line();
  }
  return nullptr;
}

}  // namespace sheaf::io
