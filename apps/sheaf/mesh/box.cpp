#include "apps/sheaf/mesh/box.hpp"

#include <new>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/mesh/box_function.hpp"
#include "apps/sheaf/mesh/parts.hpp"
#include "core/startable.hpp"
#include "primitives/views.hpp"

namespace sheaf::mesh {
namespace {

std::string size_of(const box& of) {
  return is_plane(of) ? fmt::format("{} x {} cells", of.cells[0], of.cells[1])
                      : fmt::format("{} x {} x {} cells", of.cells[0], of.cells[1], of.cells[2]);
}

constexpr const char* axis_names[] = {"x", "y", "z"};

// A side of a box in space: two triangles for each square, which go around as seen from outside.
void add_square(const box& of, lattice_point lowest, int axis, bool is_far, std::vector<std::uint32_t>& nodes) {
  const auto moved = [&](bool along_second, bool along_third) {
    std::uint64_t at[3] = {lowest.x, lowest.y, lowest.z};
    at[(axis + 1) % 3] += along_second ? 1 : 0;
    at[(axis + 2) % 3] += along_third ? 1 : 0;
    return box_node(of, {at[0], at[1], at[2]});
  };
  const std::uint32_t corners[2][3] = {{moved(false, false), moved(true, false), moved(true, true)},
                                       {moved(false, false), moved(true, true), moved(false, true)}};
  for (const auto& triangle : corners) {
    nodes.push_back(triangle[0]);
    nodes.push_back(triangle[is_far ? 1 : 2]);
    nodes.push_back(triangle[is_far ? 2 : 1]);
  }
}

io::mesh_marker side_of_space(const box& of, int axis, bool is_far) {
  io::mesh_marker side{fmt::format("{}_{}", axis_names[axis], is_far ? "max" : "min"), {}};
  std::vector<std::uint32_t>& nodes = side.elements.nodes(element_type::triangle);
  const int second = (axis + 1) % 3;
  const int third = (axis + 2) % 3;
  nodes.reserve(6 * of.cells[second] * of.cells[third]);
  std::uint64_t at[3] = {};
  at[axis] = is_far ? of.cells[axis] : 0;
  for (at[third] = 0; at[third] < of.cells[third]; ++at[third]) {
    for (at[second] = 0; at[second] < of.cells[second]; ++at[second]) {
      add_square(of, {at[0], at[1], at[2]}, axis, is_far, nodes);
    }
  }
  return side;
}

io::mesh_marker side_of_plane(const box& of, int axis, bool is_far) {
  io::mesh_marker side{fmt::format("{}_{}", axis_names[axis], is_far ? "max" : "min"), {}};
  std::vector<std::uint32_t>& nodes = side.elements.nodes(element_type::line);
  const int along = 1 - axis;
  std::uint64_t at[2] = {};
  at[axis] = is_far ? of.cells[axis] : 0;
  // The box is on the left of its sides.
  const bool is_forward = is_far == (axis == 0);
  for (std::uint64_t i = 0; i < of.cells[along]; ++i) {
    at[along] = is_forward ? i : i + 1;
    nodes.push_back(box_node(of, {at[0], at[1], 0}));
    at[along] = is_forward ? i + 1 : i;
    nodes.push_back(box_node(of, {at[0], at[1], 0}));
  }
  return side;
}

void fill_coordinates(int threads, const box& of, unstructured_mesh& mesh) {
  const auto dimension = static_cast<std::uint64_t>(mesh.dimension);
  mesh.coordinates.resize(box_nodes(of) * dimension);
  const std::uint64_t rows = (of.cells[1] + 1) * (of.cells[2] + 1);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t y = row % (of.cells[1] + 1);
    const std::uint64_t z = row / (of.cells[1] + 1);
    for (std::uint64_t x = 0; x <= of.cells[0]; ++x) {
      double* const to = mesh.coordinates.data() + box_node(of, {x, y, z}) * dimension;
      to[0] = static_cast<double>(x);
      to[1] = static_cast<double>(y);
      if (dimension == 3) to[2] = static_cast<double>(z);
    }
  }
}

}  // namespace

void require_box(const box& of) {
  if (of.cells[0] == 0 || of.cells[1] == 0) primitives::refuse("box: {} are not a mesh", size_of(of));
  std::uint64_t nodes = 1;
  bool is_past = false;
  for (const std::uint64_t cells : of.cells) {
    is_past = is_past || cells >= io::most_nodes || __builtin_mul_overflow(nodes, cells + 1, &nodes);
  }
  if (is_past || nodes > io::most_nodes) primitives::refuse("box: {} have more than 2^32 nodes", size_of(of));
}

unstructured_mesh make_box(const context& ctx, const box& of) {
  require_cpu(ctx);
  require_box(of);
  unstructured_mesh mesh;
  mesh.dimension = is_plane(of) ? 2 : 3;
  const auto corners = static_cast<unsigned>(mesh.dimension) + 1;
  const std::uint64_t elements = box_elements(of);
  require_memory(box_nodes(of) * sizeof(double) * static_cast<std::uint64_t>(mesh.dimension) +
                     elements * corners * sizeof(std::uint32_t),
                 fmt::format("nodes and elements of {}", size_of(of)));
  try {
    fill_coordinates(ctx.threads(), of, mesh);
    std::vector<std::uint32_t>& nodes =
        mesh.elements.nodes(is_plane(of) ? element_type::triangle : element_type::tetrahedron);
    nodes.resize(elements * corners);
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static)
    for (std::uint64_t i = 0; i < elements; ++i) {
      for (unsigned corner = 0; corner < corners; ++corner) {
        nodes[i * corners + corner] = box_element_node(of, i, corner);
      }
    }
    for (int axis = 0; axis < mesh.dimension; ++axis) {
      for (const bool is_far : {false, true}) {
        mesh.markers.push_back(is_plane(of) ? side_of_plane(of, axis, is_far) : side_of_space(of, axis, is_far));
      }
    }
  } catch (const std::bad_alloc&) {
    io::throw_error(error_code::out_of_memory, "box: no memory for {}", size_of(of));
  }
  return mesh;
}

std::vector<edge> make_box_edges(const context& ctx, const box& of) {
  require_cpu(ctx);
  require_box(of);
  const std::uint64_t count = box_edges(of);
  require_memory(count * sizeof(edge), fmt::format("edges of {}", size_of(of)));
  try {
    std::vector<edge> edges(count);
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static)
    for (std::uint64_t i = 0; i < count; ++i) edges[i] = box_edge(of, i);
    return edges;
  } catch (const std::bad_alloc&) {
    io::throw_error(error_code::out_of_memory, "box: no memory for edges of {}", size_of(of));
  }
}

}  // namespace sheaf::mesh
