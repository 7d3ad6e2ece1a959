#include "bench/edges/input.hpp"

#include <algorithm>
#include <cmath>

#include "inputs/pattern_function.hpp"
#include "io/mesh/su2.hpp"
#include "mesh/box_function.hpp"

namespace sheaf::bench {

edge_input read_edges(const context& cpu, const std::string& path) {
  io::unstructured_mesh mesh = io::read_su2(path, {.threads = cpu.threads()});
  edge_input in{.name = path, .nodes = mesh.nodes(), .dimensions = static_cast<std::uint32_t>(mesh.dimension)};
  in.edges = mesh::edges_of(cpu, mesh);
  in.coordinates = std::move(mesh.coordinates);
  return in;
}

edge_input edges_of_box(const context& cpu, const mesh::box& of) {
  edge_input in{.nodes = mesh::box_nodes(of)};
  in.edges = mesh::make_box_edges(cpu, of);
  in.coordinates.resize(3 * in.nodes);
  const std::uint64_t rows = (of.cells[1] + 1) * (of.cells[2] + 1);
#pragma omp parallel for num_threads(cpu.threads()) schedule(static)
  for (std::uint64_t row = 0; row < rows; ++row) {
    mesh::lattice_point at{0, row % (of.cells[1] + 1), row / (of.cells[1] + 1)};
    for (; at.x <= of.cells[0]; ++at.x) {
      double* const to = in.coordinates.data() + 3 * std::uint64_t{mesh::box_node(of, at)};
      to[0] = static_cast<double>(at.x);
      to[1] = static_cast<double>(at.y);
      to[2] = static_cast<double>(at.z);
    }
  }
  return in;
}

mesh::box box_of_nodes(std::uint64_t nodes) {
  const auto side = static_cast<std::uint64_t>(std::llround(std::cbrt(static_cast<double>(nodes))));
  const std::uint64_t cells = std::max<std::uint64_t>(side, 2) - 1;
  return {.cells = {cells, cells, cells}};
}

edge_input with_nodes_at_random(const edge_input& in, std::uint64_t seed) {
  edge_input out{.name = in.name, .nodes = in.nodes, .dimensions = in.dimensions};
  std::vector<std::uint32_t> renamed(in.nodes);
  for (std::uint64_t i = 0; i < in.nodes; ++i) {
    renamed[i] = static_cast<std::uint32_t>(inputs::permute(i, in.nodes, seed));
  }
  out.edges.reserve(in.edges.size());
  for (const mesh::edge& e : in.edges) {
    const std::uint32_t a = renamed[e.first];
    const std::uint32_t b = renamed[e.second];
    out.edges.push_back({std::min(a, b), std::max(a, b)});
  }
  out.coordinates.resize(in.coordinates.size());
  for (std::uint64_t i = 0; i < in.nodes; ++i) {
    std::copy_n(in.coordinates.begin() + static_cast<std::ptrdiff_t>(i * in.dimensions), in.dimensions,
                out.coordinates.begin() + static_cast<std::ptrdiff_t>(renamed[i] * std::uint64_t{in.dimensions}));
  }
  return out;
}

std::uint64_t bytes_of_sums(const mesh::box& of, std::uint32_t components, std::uint64_t value_bytes) {
  // Edges are there three times: as given, in a preparation, and in the scratch that makes it. So are values of nodes,
  // and the numbers by which nodes are brought into tiles.
  constexpr std::uint64_t copies = 3;
  const std::uint64_t of_node = 3 * sizeof(double) + 2 * components * value_bytes + 2 * sizeof(std::uint64_t);
  return copies * (mesh::box_edges(of) * sizeof(mesh::edge) + mesh::box_nodes(of) * of_node);
}

}  // namespace sheaf::bench
