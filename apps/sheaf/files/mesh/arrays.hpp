#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::io {

/// Elements of meshes. Nodes of a line, triangle or quadrilateral go around it; a tetrahedron is a triangle and its
/// apex, a pyramid a quadrilateral and its apex, a prism two triangles and a hexahedron two quadrilaterals one above
/// the other, node by node, as in VTK's files.
enum class element_type : std::uint8_t { line, triangle, quadrilateral, tetrahedron, hexahedron, prism, pyramid };

constexpr std::size_t element_types = 7;
constexpr std::array<element_type, element_types> all_element_types{
    element_type::line,       element_type::triangle, element_type::quadrilateral, element_type::tetrahedron,
    element_type::hexahedron, element_type::prism,    element_type::pyramid};

constexpr std::uint64_t nodes_of(element_type type) noexcept {
  constexpr std::array<std::uint8_t, element_types> nodes{2, 3, 4, 4, 8, 6, 5};
  return nodes[static_cast<std::size_t>(type)];
}
/// Of the element itself: 2 for a triangle, also in space.
constexpr int dimension_of(element_type type) noexcept {
  return type == element_type::line ? 1 : type <= element_type::quadrilateral ? 2 : 3;
}
constexpr std::string_view name(element_type type) noexcept {
  constexpr std::array<std::string_view, element_types> names{"line",       "triangle", "quadrilateral", "tetrahedron",
                                                              "hexahedron", "prism",    "pyramid"};
  return names[static_cast<std::size_t>(type)];
}

/// The number of an element's type in SU2's files, which is VTK's.
constexpr std::uint64_t su2_code(element_type type) noexcept {
  constexpr std::array<std::uint8_t, element_types> codes{3, 5, 9, 10, 12, 13, 14};
  return codes[static_cast<std::size_t>(type)];
}

constexpr std::optional<element_type> type_of_su2_code(std::uint64_t code) noexcept {
  for (const element_type type : all_element_types) {
    if (su2_code(type) == code) return type;
  }
  return std::nullopt;
}

/// Elements by type, each as the numbers of its nodes, element after element.
class element_lists {
 public:
  std::vector<std::uint32_t>& nodes(element_type type) noexcept { return nodes_[static_cast<std::size_t>(type)]; }
  const std::vector<std::uint32_t>& nodes(element_type type) const noexcept {
    return nodes_[static_cast<std::size_t>(type)];
  }
  std::uint64_t count(element_type type) const noexcept { return nodes(type).size() / nodes_of(type); }
  std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const element_type type : all_element_types) sum += count(type);
    return sum;
  }
  /// The nodes of element `i` of its type.
  const std::uint32_t* element(element_type type, std::uint64_t i) const noexcept {
    return nodes(type).data() + i * nodes_of(type);
  }
  friend bool operator==(const element_lists&, const element_lists&) = default;

 private:
  std::array<std::vector<std::uint32_t>, element_types> nodes_;
};

/// A part of the boundary: lines of a mesh in the plane; triangles and quadrilaterals of one in space.
struct mesh_marker {
  std::string name;
  element_lists elements;

  friend bool operator==(const mesh_marker&, const mesh_marker&) = default;
};

/// A mesh in host memory. Nodes are counted from 0, and some may belong to no element.
struct unstructured_mesh {
  int dimension = 3;                ///< 2 or 3
  std::vector<double> coordinates;  ///< node after node: x, y and, in space, z
  element_lists elements;           ///< triangles and quadrilaterals in the plane; the others but lines in space
  std::vector<mesh_marker> markers;

  std::uint64_t nodes() const noexcept { return coordinates.size() / static_cast<std::uint64_t>(dimension); }
  const double* node(std::uint64_t i) const noexcept {
    return coordinates.data() + i * static_cast<std::uint64_t>(dimension);
  }
  friend bool operator==(const unstructured_mesh&, const unstructured_mesh&) = default;
};

/// The nodes that a mesh has at most: their numbers take 32 bits.
constexpr std::uint64_t most_nodes = std::uint64_t{1} << 32;

/// The place of the first node that an element names twice, or its count of nodes where they differ.
constexpr std::uint64_t repeated_node(const std::uint32_t* nodes, std::uint64_t count) noexcept {
  for (std::uint64_t i = 1; i < count; ++i) {
    for (std::uint64_t before = 0; before < i; ++before) {
      if (nodes[before] == nodes[i]) return i;
    }
  }
  return count;
}

/// Checks that the arrays are a mesh: dimension, whole nodes and elements of types that the dimension has, node numbers
/// below the nodes and different within an element, finite coordinates.
/// @throws error(bad_argument) naming element and value
void require_mesh(const unstructured_mesh& mesh);

}  // namespace sheaf::io
