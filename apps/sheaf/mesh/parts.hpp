#pragma once

#include <initializer_list>

#include "apps/sheaf/files/mesh/arrays.hpp"
#include "apps/sheaf/mesh/edges.hpp"

namespace sheaf::mesh {

using io::element_type;

/// A face of an element: places of its nodes in the element, counter-clockwise as seen from outside. In the plane a
/// face is an edge of the element that goes around it counter-clockwise.
struct element_face {
  std::array<std::uint8_t, 4> nodes{};
  std::uint8_t count = 0;
};

/// An edge of an element, from a node to a later one. Faces of an element in space meet at it: the left one goes around
/// along the edge, the right one against it.
struct element_edge {
  std::uint8_t first = 0;
  std::uint8_t second = 0;
  std::uint8_t left = 0;
  std::uint8_t right = 0;
};

/// Edges and faces of elements whose volume is positive: the base goes around counter-clockwise as seen from the nodes
/// above it. For a mirrored element left is right, and outside is inside.
struct element_shape {
  std::array<element_face, 6> faces{};
  std::array<element_edge, 12> edges{};
  std::uint8_t face_count = 0;
  std::uint8_t edge_count = 0;
};

namespace shapes {

constexpr void add_face(element_shape& shape, std::initializer_list<std::uint8_t> nodes) {
  element_face& face = shape.faces[shape.face_count++];
  for (const std::uint8_t node : nodes) face.nodes[face.count++] = node;
}

/// The face that goes from `first` to `second`.
constexpr std::uint8_t face_along(const element_shape& shape, std::uint8_t first, std::uint8_t second) {
  for (std::uint8_t f = 0; f < shape.face_count; ++f) {
    const element_face& face = shape.faces[f];
    for (std::uint8_t n = 0; n < face.count; ++n) {
      if (face.nodes[n] == first && face.nodes[(n + 1) % face.count] == second) return f;
    }
  }
  return 255;
}

constexpr element_shape polygon(std::uint8_t nodes) {
  element_shape shape;
  for (std::uint8_t n = 0; n < nodes; ++n) {
    const auto next = static_cast<std::uint8_t>((n + 1) % nodes);
    add_face(shape, {n, next});
    shape.edges[shape.edge_count++] = {n, next, n, n};
  }
  return shape;
}

constexpr element_shape polyhedron(std::initializer_list<std::initializer_list<std::uint8_t>> faces,
                                   std::uint8_t nodes) {
  element_shape shape;
  for (const auto& face : faces) add_face(shape, face);
  for (std::uint8_t first = 0; first < nodes; ++first) {
    for (auto second = static_cast<std::uint8_t>(first + 1); second < nodes; ++second) {
      const std::uint8_t left = face_along(shape, first, second);
      if (left != 255) shape.edges[shape.edge_count++] = {first, second, left, face_along(shape, second, first)};
    }
  }
  return shape;
}

constexpr std::array<element_shape, io::element_types> all{
    element_shape{},
    polygon(3),
    polygon(4),
    polyhedron({{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}, 4),
    polyhedron({{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}}, 8),
    polyhedron({{0, 2, 1}, {3, 4, 5}, {0, 1, 4, 3}, {1, 2, 5, 4}, {2, 0, 3, 5}}, 6),
    polyhedron({{0, 3, 2, 1}, {0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}}, 5)};

}  // namespace shapes

constexpr const element_shape& shape_of(element_type type) { return shapes::all[static_cast<std::size_t>(type)]; }

static_assert(shape_of(element_type::triangle).edge_count == 3);
static_assert(shape_of(element_type::quadrilateral).edge_count == 4);
static_assert(shape_of(element_type::tetrahedron).edge_count == 6);
static_assert(shape_of(element_type::hexahedron).edge_count == 12);
static_assert(shape_of(element_type::prism).edge_count == 9);
static_assert(shape_of(element_type::pyramid).edge_count == 8);

// Edges and faces as elements have them, numbered through all elements of all types: type after type, element after
// element. Several elements share an edge or a face, and a sort by nodes brings these together.

/// An edge or a face of one element.
struct element_part {
  element_type type;
  std::uint64_t element;  ///< among those of its type
  std::uint8_t part;      ///< edge or face of the element's shape
};

/// The numbers that edges, or faces, of elements have.
class part_numbers {
 public:
  static part_numbers of_edges(const io::element_lists& elements) {
    return {elements, [](element_type type) { return shape_of(type).edge_count; }};
  }
  static part_numbers of_faces(const io::element_lists& elements) {
    return {elements, [](element_type type) { return shape_of(type).face_count; }};
  }

  std::uint64_t count() const noexcept { return begins_.back(); }
  std::uint64_t begin(element_type type) const noexcept { return begins_[static_cast<std::size_t>(type)]; }
  element_part operator[](std::uint64_t number) const noexcept {
    std::size_t type = 0;
    while (begins_[type + 1] <= number) ++type;
    const std::uint64_t in_type = number - begins_[type];
    return {static_cast<element_type>(type), in_type / per_element_[type],
            static_cast<std::uint8_t>(in_type % per_element_[type])};
  }

 private:
  template <class Count>
  part_numbers(const io::element_lists& elements, Count count_of) {
    for (std::size_t type = 0; type < io::element_types; ++type) {
      const auto of = static_cast<element_type>(type);
      per_element_[type] = count_of(of);
      begins_[type + 1] = begins_[type] + elements.count(of) * per_element_[type];
    }
  }

  std::array<std::uint64_t, io::element_types + 1> begins_{};
  std::array<std::uint64_t, io::element_types> per_element_{};
};

/// The unique edges of a mesh, and the elements' edges that each stands for: numbers[begins[e]] to
/// numbers[begins[e + 1] - 1] for edge e, ascending.
template <class Number>
struct edge_incidence {
  std::vector<edge> edges;
  std::vector<std::uint64_t> begins;
  std::vector<Number> numbers;
};

/// Number is std::uint32_t where part_numbers::count() is at most 2^32. ctx is a CPU context, the mesh is checked.
template <class Number>
edge_incidence<Number> incidence_of(const context& ctx, const unstructured_mesh& mesh, const part_numbers& parts);

/// A face of the boundary.
struct boundary_face {
  static constexpr std::uint32_t no_marker = ~std::uint32_t{0};

  std::uint64_t number;  ///< of the one element's face that it is
  std::uint32_t marker;  ///< that covers it, or no_marker
};

struct boundary {
  std::vector<boundary_face> faces;   ///< by marker, those of no marker last; inside a marker by their numbers
  std::vector<std::string> warnings;  ///< of markers with elements inside the mesh, or with faces of other markers
};

/// Faces of one element alone, each of the first marker that covers it. Elements of markers differ within a marker.
/// @throws error(bad_argument) naming the element where three share a face, or a marker's element is not a face
boundary boundary_of(const context& ctx, const unstructured_mesh& mesh, const part_numbers& faces);

/// @throws error(bad_argument) unless ctx is of the CPU
void require_cpu(const context& ctx);

/// Asks for memory before it is taken. @param bytes_beside  that may be wanted, too
/// @throws error(out_of_memory) saying what for
void require_memory(std::uint64_t bytes, std::string_view what, std::uint64_t bytes_beside = 0);

}  // namespace sheaf::mesh
