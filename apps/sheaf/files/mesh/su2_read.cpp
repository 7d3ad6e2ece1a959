#include <algorithm>
#include <unordered_map>

#include <omp.h>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/files/mesh/su2_lines.hpp"
#include "apps/sheaf/files/mesh/su2_sections.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/files/text/gzip.hpp"
#include "core/printable.hpp"

namespace sheaf::io {
namespace {

// What some editors write before the first character of a file in UTF-8.
std::string_view without_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

su2_reading reading_of(const named_text& file, const su2_options& options) {
  const int threads = options.threads > 0 ? options.threads : omp_get_max_threads();
  return {file, options.part_bytes > 0 ? options.part_bytes : usual_part_bytes(file.text.size(), threads), threads};
}

// All zones, or the one that is asked for.
std::vector<su2_zone> zones_to_read(const su2_reading& how, const su2_options& options) {
  su2_layout layout = read_su2_layout(how.file, how.part_bytes, how.threads);
  if (options.zone == 0) return std::move(layout.zones);
  for (su2_zone& zone : layout.zones) {
    // The only zone of a file may have no number.
    if (std::max<std::uint64_t>(zone.number, 1) == options.zone) return {std::move(zone)};
  }
  const std::uint64_t count = layout.zones.size();
  throw_error(error_code::bad_argument, "{}: zone {} is wanted, but the file has {} zone{}", how.file.origin,
              options.zone, count, count == 1 ? "" : "s");
}

// Puts zones one behind the other, in one mesh.
class zone_joiner {
 public:
  zone_joiner(const su2_reading& how, std::vector<std::string>* warnings) : how_(how), warnings_(warnings) {}

  void add(const su2_zone& zone) {
    require_dimension(zone);
    const std::uint64_t first_node = mesh_.nodes();
    std::vector<double> coordinates = read_su2_points(how_, zone);
    const std::uint64_t points = coordinates.size() / static_cast<std::uint64_t>(zone.dimension);
    if (points > most_nodes - first_node) {
      how_.file.fail(zone.points.line,
                     "the zones up to this one have {} points, more than the 2^32 that "
                     "are read",
                     first_node + points);
    }
    append(zone.points, std::move(coordinates), mesh_.coordinates, "points");
    su2_element_lines lines{zone.elements, zone.dimension, points, static_cast<std::uint32_t>(first_node),
                            false,         "elements"};
    append(lines, mesh_.elements);
    for (const su2_marker_section& marker : zone.markers) {
      const std::string words = fmt::format("marker '{}'", core::printable(marker.name));
      const std::uint64_t vertices =
          append({marker.elements, zone.dimension - 1, points, lines.first_node, true, "elements of " + words},
                 elements_of(marker.name));
      if (vertices > 0) warn(words, vertices);
    }
  }

  unstructured_mesh joined() { return std::move(mesh_); }

 private:
  void require_dimension(const su2_zone& zone) {
    if (first_zone_ && zone.dimension != mesh_.dimension) {
      how_.file.fail(zone.line, "zone {} has {} dimensions, but zone {} has {}: together they are not a mesh",
                     zone.number, zone.dimension, *first_zone_, mesh_.dimension);
    }
    if (!first_zone_) first_zone_ = zone.number;
    mesh_.dimension = zone.dimension;
  }

  // Of the marker of this name, which other zones may have, too.
  element_lists& elements_of(const std::string& name) {
    const auto [place, is_new] = markers_.emplace(name, mesh_.markers.size());
    if (is_new) mesh_.markers.push_back({name, {}});
    return mesh_.markers[place->second].elements;
  }

  template <class Number>
  void append(const su2_section& section, std::vector<Number> more, std::vector<Number>& to, const std::string& what) {
    if (to.empty()) {
      to = std::move(more);
      return;
    }
    // What grows may take twice what it needs, beside what it was.
    how_.file.require_memory(section.line, (3 * to.size() + 2 * more.size()) * sizeof(Number),
                             [&] { return fmt::format("the {} take", what); });
    to.insert(to.end(), more.begin(), more.end());
  }

  // Returns how many vertices were left out.
  std::uint64_t append(const su2_element_lines& lines, element_lists& to) {
    su2_elements read = read_su2_elements(how_, lines);
    for (const element_type type : all_element_types) {
      append(lines.section, std::move(read.lists.nodes(type)), to.nodes(type), lines.what);
    }
    return read.vertices;
  }

  // Without a line: counting lines for each marker would take longer than reading the file.
  void warn(const std::string& marker, std::uint64_t vertices) {
    if (warnings_ == nullptr) return;
    warnings_->push_back(fmt::format("{}: {}: {} left out, which cover{} no part of the boundary", how_.file.origin,
                                     marker, vertices == 1 ? "1 vertex is" : fmt::format("{} vertices are", vertices),
                                     vertices == 1 ? "s" : ""));
  }

  const su2_reading& how_;
  std::vector<std::string>* warnings_;
  unstructured_mesh mesh_;
  std::optional<std::uint64_t> first_zone_;
  std::unordered_map<std::string, std::size_t> markers_;
};

// Calls read(text) for the text of a file, without what some editors put in front of it.
template <class Read>
auto with_su2(std::span<const std::byte> file, const std::string& origin, const su2_options& options, Read&& read) {
  const auto bare = [](const named_text& text) { return named_text{without_byte_order_mark(text.text), text.origin}; };
  return with_text(
      file, origin, options.most_text_bytes, "mesh", [&](const named_text& front) { require_su2_front(bare(front)); },
      [&](const named_text& text) { return read(bare(text)); });
}

// The section's line of that element, or null, with `element` less by those that the section has.
const char* find_element(const std::vector<su2_zone>& zones, const su2_element_name& of) {
  std::uint64_t element = of.element;
  const char* line = nullptr;
  for (const su2_zone& zone : zones) {
    if (of.marker.empty()) line = find_su2_element(zone.elements, of.type, element);
    for (const su2_marker_section& marker : zone.markers) {
      if (marker.name == of.marker) line = find_su2_element(marker.elements, of.type, element);
    }
    if (line != nullptr) break;
  }
  return line;
}

}  // namespace

unstructured_mesh parse_su2(std::span<const std::byte> file, const std::string& origin, const su2_options& options) {
  return with_su2(file, origin, options, [&](const named_text& text) {
    const su2_reading how = reading_of(text, options);
    zone_joiner zones(how, options.warnings);
    for (const su2_zone& zone : zones_to_read(how, options)) zones.add(zone);
    return zones.joined();
  });
}

unstructured_mesh read_su2(const std::string& path, const su2_options& options) {
  const input_file file = open_input(path);
  return parse_su2({file.data(), file.size()}, file.path(), options);
}

std::uint64_t line_of_su2_element(const std::string& path, const su2_element_name& element,
                                  const su2_options& options) {
  const input_file file = open_input(path);
  return with_su2({file.data(), file.size()}, file.path(), options, [&](const named_text& text) -> std::uint64_t {
    const char* const line = find_element(zones_to_read(reading_of(text, options), options), element);
    return line == nullptr ? 0 : text.line_of(line);
  });
}

}  // namespace sheaf::io
