#include <algorithm>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/files/text/lines.hpp"
#include "apps/sheaf/files/text/pieces.hpp"
#include "core/printable.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf::io {
namespace {

void require_names(const unstructured_mesh& mesh) {
  std::vector<std::string_view> names;
  for (const mesh_marker& marker : mesh.markers) {
    const auto no_letter = [](char c) { return ends_word(c) || c == '%'; };
    if (marker.name.empty() || marker.name == "SEND_RECEIVE" || std::ranges::any_of(marker.name, no_letter)) {
      throw_error(error_code::bad_argument, "mesh: '{}' cannot be the name of a marker in an SU2 file",
                  core::printable(marker.name));
    }
    names.push_back(marker.name);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    throw_error(error_code::bad_argument, "mesh: marker '{}' appears twice", core::printable(*twice));
  }
}

void write_elements(const element_lists& elements, piece_writer& out) {
  for (const element_type type : all_element_types) {
    for (std::uint64_t i = 0; i < elements.count(type); ++i) {
      out.number(su2_code(type));
      const std::uint32_t* const nodes = elements.element(type, i);
      for (std::uint64_t n = 0; n < nodes_of(type); ++n) {
        out.mark(' ');
        out.number(nodes[n]);
      }
      out.end_line();
    }
  }
}

void write_points(const unstructured_mesh& mesh, piece_writer& out) {
  for (std::uint64_t i = 0; i < mesh.nodes(); ++i) {
    for (int axis = 0; axis < mesh.dimension; ++axis) {
      if (axis > 0) out.mark(' ');
      out.number(mesh.node(i)[axis]);
    }
    out.end_line();
  }
}

}  // namespace

void format_su2(const unstructured_mesh& mesh, const std::function<void(std::string_view)>& take) {
  require_mesh(mesh);
  require_names(mesh);
  piece_writer out(take);
  out.keyword(fmt::format("NDIME= {}", mesh.dimension));
  out.keyword(fmt::format("NELEM= {}", mesh.elements.count()));
  write_elements(mesh.elements, out);
  out.keyword(fmt::format("NPOIN= {}", mesh.nodes()));
  write_points(mesh, out);
  out.keyword(fmt::format("NMARK= {}", mesh.markers.size()));
  for (const mesh_marker& marker : mesh.markers) {
    out.keyword(fmt::format("MARKER_TAG= {}", marker.name));
    out.keyword(fmt::format("MARKER_ELEMS= {}", marker.elements.count()));
    write_elements(marker.elements, out);
  }
  out.flush();
}

void write_su2(const std::string& path, const unstructured_mesh& mesh) {
  require_mesh(mesh);
  require_names(mesh);
  output_file file(path, 0);
  format_su2(mesh, [&](std::string_view piece) { file.write(piece.data(), piece.size()); });
  file.commit();
}

}  // namespace sheaf::io
