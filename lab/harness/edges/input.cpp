#include "lab/harness/edges/input.hpp"

#include <sheaf/sort.hpp>

#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/mesh/box_function.hpp"
#include "apps/sheaf/mesh/repeated.hpp"
#include "core/startable.hpp"
#include "cpu/edges/tile_build.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::bench {

edge_input read_edges(const context& cpu, const std::string& path) {
  io::unstructured_mesh mesh = io::read_su2(path, {.threads = cpu.threads()});
  edge_input in{.name = path, .nodes = mesh.nodes(), .dimensions = static_cast<std::uint32_t>(mesh.dimension)};
  try {
    in.edges = mesh::edges_of(cpu, mesh);
  } catch (const error& e) {
    throw mesh::file_error(e, path, 0, cpu, mesh);
  }
  in.coordinates = std::move(mesh.coordinates);
  return in;
}

edge_input edges_of_box(const context& cpu, const mesh::box& of) {
  edge_input in{.nodes = mesh::box_nodes(of)};
  in.edges = mesh::make_box_edges(cpu, of);
  in.coordinates.resize(3 * in.nodes);
  const std::uint64_t rows = (of.cells[1] + 1) * (of.cells[2] + 1);
#pragma omp parallel for num_threads(core::startable(cpu.threads())) schedule(static)
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

namespace {

/// The graph whose node renamed[i] is node i of this one; the order of the edges stays.
edge_input with_nodes_renamed(const edge_input& in, const std::vector<std::uint32_t>& renamed) {
  edge_input out{.name = in.name, .nodes = in.nodes, .dimensions = in.dimensions};
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

}  // namespace

edge_input with_nodes_at_random(const edge_input& in, std::uint64_t seed) {
  std::vector<std::uint32_t> renamed(in.nodes);
  for (std::uint64_t i = 0; i < in.nodes; ++i) {
    renamed[i] = static_cast<std::uint32_t>(inputs::permute(i, in.nodes, seed));
  }
  return with_nodes_renamed(in, renamed);
}

edge_input in_prepared_order(const context& cpu, const edge_input& in) {
  primitives::prepare_edge_sum_problem p;
  p.sum.nodes = in.nodes;
  p.dimensions = in.dimensions;
  std::vector<std::uint32_t> order(in.nodes);
  cpu::order_by_place(cpu, p, in.coordinates.data(), order.data());
  std::vector<std::uint32_t> renamed(in.nodes);
  for (std::uint64_t k = 0; k < in.nodes; ++k) renamed[order[k]] = static_cast<std::uint32_t>(k);
  edge_input out = with_nodes_renamed(in, renamed);
  std::vector<std::uint64_t> keys(out.edges.size());
  for (std::uint64_t e = 0; e < keys.size(); ++e) {
    keys[e] = std::uint64_t{out.edges[e].first} << 32 | out.edges[e].second;
  }
  std::vector<std::uint64_t> sorted(keys.size());
  sort_keys(cpu, keys, sorted);
  cpu.wait();
  for (std::uint64_t e = 0; e < keys.size(); ++e) {
    out.edges[e] = {static_cast<std::uint32_t>(sorted[e] >> 32), static_cast<std::uint32_t>(sorted[e])};
  }
  return out;
}

std::uint64_t bytes_of_prepared_order(const mesh::box& of) {
  // Edges before and after, their keys before and after, and what the sort takes.
  constexpr std::uint64_t words_of_edge = 7;
  return mesh::box_edges(of) * words_of_edge * sizeof(mesh::edge) + mesh::box_nodes(of) * 8 * sizeof(double);
}

std::uint64_t bytes_of_sums(const mesh::box& of, std::uint32_t components, std::uint64_t value_bytes) {
  // Edges are there four times: as given, for a peer, in a preparation, and in the scratch that makes it. So are values
  // of nodes, and the numbers by which nodes are brought into tiles. Exact sums have 64 bytes each.
  constexpr std::uint64_t copies = 4;
  const std::uint64_t exact = mesh::box_nodes(of) * components * 64;
  const std::uint64_t of_node = 3 * sizeof(double) + 2 * components * value_bytes + 2 * sizeof(std::uint64_t);
  return exact + copies * (mesh::box_edges(of) * sizeof(mesh::edge) + mesh::box_nodes(of) * of_node);
}

}  // namespace sheaf::bench
