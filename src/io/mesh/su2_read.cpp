#include <algorithm>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <omp.h>
#include <sheaf/error.hpp>

#include "core/host.hpp"
#include "core/printable.hpp"
#include "io/input_file.hpp"
#include "io/mesh/su2.hpp"
#include "io/mesh/su2_lines.hpp"
#include "io/mesh/su2_sections.hpp"
#include "io/text/gzip.hpp"

namespace sheaf::io {
namespace {

// Large enough that what is kept of a part is little beside it; small enough that threads end together.
constexpr std::uint64_t least_part_bytes = std::uint64_t{1} << 16;
constexpr std::uint64_t most_part_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t parts_per_thread = 8;

// What some editors write before the first character of a file in UTF-8.
std::string_view without_byte_order_mark(std::string_view text) noexcept {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

unstructured_mesh read_text(const named_text& file, const su2_options& options) {
  const int threads = options.threads > 0 ? options.threads : omp_get_max_threads();
  const std::uint64_t usual = file.text.size() / (static_cast<std::uint64_t>(threads) * parts_per_thread);
  const su2_reading how{
      file, options.part_bytes > 0 ? options.part_bytes : std::clamp(usual, least_part_bytes, most_part_bytes),
      threads};
  const su2_layout layout = read_su2_layout(file, how.part_bytes, threads);
  unstructured_mesh mesh;
  mesh.dimension = layout.dimension;
  mesh.coordinates = read_su2_points(how, layout);
  mesh.elements = read_su2_elements(how, layout.elements, layout.dimension, mesh.nodes(), "elements");
  for (const su2_marker_section& marker : layout.markers) {
    mesh.markers.push_back(
        {marker.name, read_su2_elements(how, marker.elements, layout.dimension - 1, mesh.nodes(),
                                        fmt::format("elements of marker '{}'", core::printable(marker.name)))});
  }
  return mesh;
}

}  // namespace

unstructured_mesh parse_su2(std::span<const std::byte> file, const std::string& origin, const su2_options& options) {
  try {
    std::optional<inflated_text> inflated;
    if (starts_as_gzip(file)) {
      const std::uint64_t most =
          options.most_text_bytes > 0 ? options.most_text_bytes : core::host_available_bytes() / 2;
      inflated.emplace(inflate_gzip(file, origin, most, [&](std::string_view front) {
        require_su2_front(named_text{without_byte_order_mark(front), origin});
      }));
    }
    const std::string_view text =
        inflated ? inflated->text() : std::string_view(reinterpret_cast<const char*>(file.data()), file.size());
    return read_text({without_byte_order_mark(text), origin}, options);
  } catch (const std::bad_alloc&) {
    throw error(error_code::out_of_memory, fmt::format("{}: no memory for the mesh", origin));
  }
}

unstructured_mesh read_su2(const std::string& path, const su2_options& options) {
  const input_file file(path);
  return parse_su2({file.data(), file.size()}, path, options);
}

}  // namespace sheaf::io
