#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "apps/sheaf/files/mesh/arrays.hpp"

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

}  // namespace sheaf::mesh
