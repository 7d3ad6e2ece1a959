#pragma once

#include "apps/sheaf/mesh/box.hpp"
#include "core/host_device.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::mesh {

/// A node by where it lies.
struct lattice_point {
  std::uint64_t x;
  std::uint64_t y;
  std::uint64_t z;
};

SHEAF_HOST_DEVICE inline bool is_plane(const box& of) { return of.cells[2] == 0; }

SHEAF_HOST_DEVICE inline std::uint64_t box_nodes(const box& of) {
  return (of.cells[0] + 1) * (of.cells[1] + 1) * (of.cells[2] + 1);
}
SHEAF_HOST_DEVICE inline std::uint64_t box_elements(const box& of) {
  return is_plane(of) ? 2 * of.cells[0] * of.cells[1] : 6 * of.cells[0] * of.cells[1] * of.cells[2];
}

/// The number of a node in the order of the box.
SHEAF_HOST_DEVICE inline std::uint32_t box_node(const box& of, lattice_point at) {
  const std::uint64_t natural = at.x + (of.cells[0] + 1) * (at.y + (of.cells[1] + 1) * at.z);
  return static_cast<std::uint32_t>(of.order == node_order::natural ? natural
                                                                    : inputs::permute(natural, box_nodes(of), of.seed));
}

/// The edges that nodes of a row have to later nodes, where `axes` of y and z go on behind the row: each node joins all
/// corners of the cell that it is the lowest corner of.
SHEAF_HOST_DEVICE inline std::uint64_t box_row_edges(const box& of, unsigned axes) {
  const std::uint64_t without_x = std::uint64_t{1} << axes;
  return of.cells[0] * (2 * without_x - 1) + without_x - 1;
}
/// Those of a layer of rows, which others follow or not.
SHEAF_HOST_DEVICE inline std::uint64_t box_layer_edges(const box& of, bool goes_on) {
  const unsigned axes = goes_on ? 1 : 0;
  return of.cells[1] * box_row_edges(of, axes + 1) + box_row_edges(of, axes);
}
SHEAF_HOST_DEVICE inline std::uint64_t box_edges(const box& of) {
  return of.cells[2] * box_layer_edges(of, true) + box_layer_edges(of, false);
}

/// Edge `number` of a box, below box_edges(of). Edges are in ascending order of their nodes' natural numbers.
SHEAF_HOST_DEVICE inline edge box_edge(const box& of, std::uint64_t number) {
  const auto least = [](std::uint64_t a, std::uint64_t b) { return a < b ? a : b; };
  lattice_point at{};
  at.z = least(number / box_layer_edges(of, true), of.cells[2]);
  number -= at.z * box_layer_edges(of, true);
  const unsigned z_goes_on = at.z < of.cells[2] ? 1 : 0;
  at.y = least(number / box_row_edges(of, z_goes_on + 1), of.cells[1]);
  number -= at.y * box_row_edges(of, z_goes_on + 1);
  const unsigned y_goes_on = at.y < of.cells[1] ? 1 : 0;
  const std::uint64_t edges_of_node = (std::uint64_t{2} << (y_goes_on + z_goes_on)) - 1;
  at.x = least(number / edges_of_node, of.cells[0]);
  number -= at.x * edges_of_node;
  // The corners behind a node, as bits of x, y and z: number + 1 says which of the axes that go on are taken.
  const unsigned x_goes_on = at.x < of.cells[0] ? 1 : 0;
  std::uint64_t taken = number + 1;
  lattice_point to = at;
  to.x += x_goes_on & taken;
  taken >>= x_goes_on;
  to.y += y_goes_on & taken;
  taken >>= y_goes_on;
  to.z += z_goes_on & taken;
  const std::uint32_t a = box_node(of, at);
  const std::uint32_t b = box_node(of, to);
  return a < b ? edge{a, b} : edge{b, a};
}

/// Node `corner` of element `number`, below box_elements(of): of three or four.
SHEAF_HOST_DEVICE inline std::uint32_t box_element_node(const box& of, std::uint64_t number, unsigned corner) {
  const std::uint64_t parts = is_plane(of) ? 2 : 6;
  const auto part = static_cast<unsigned>(number % parts);
  const std::uint64_t cell = number / parts;
  // Corners of the cell, three bits each, the first lowest: a path along the axes in one of their orders. Where this
  // order is an odd permutation of x, y, z, two are exchanged.
  constexpr std::uint16_t triangles[2] = {03'1'0, 02'3'0};
  constexpr std::uint16_t tetrahedra[6] = {07'3'1'0, 07'1'5'0, 07'2'3'0, 07'6'2'0, 07'5'4'0, 07'4'6'0};
  const unsigned path = is_plane(of) ? triangles[part] : tetrahedra[part];
  const unsigned bits = path >> (3 * corner) & 7;
  const std::uint64_t row = cell / of.cells[0];
  return box_node(
      of, {cell % of.cells[0] + (bits & 1), row % of.cells[1] + (bits >> 1 & 1), row / of.cells[1] + (bits >> 2)});
}

}  // namespace sheaf::mesh
