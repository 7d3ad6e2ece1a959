#include "apps/sheaf/subcommands/files/edge_graph.hpp"

#include <sheaf/edge_sum.hpp>

#include "apps/sheaf/files/failure.hpp"
#include "apps/sheaf/files/mesh/su2.hpp"
#include "apps/sheaf/files/progress.hpp"
#include "apps/sheaf/files/streams.hpp"
#include "apps/sheaf/mesh/repeated.hpp"
#include "apps/sheaf/subcommands/files/vector_file.hpp"
#include "primitives/views.hpp"

namespace sheaf::cli {
namespace {

io::index_file read_pairs(const edge_files& files, io::reading what) {
  io::index_file pairs(files.mesh, std::nullopt, "the header of an .npy file", what);
  const auto shape = pairs.shape();
  if (shape.size() != 2 || shape[1] != 2) {
    io::fail(files.mesh, "edges have shape (E, 2), one row of two nodes for each");
  }
  return pairs;
}

void find_edges(const edge_files& files, const context& cpu, edge_graph& graph) {
  const io::progress_step step(files.has_dual ? "building the dual mesh" : "finding the edges of the mesh");
  try {
    if (files.has_dual) {
      graph.dual = mesh::median_dual(cpu, *graph.mesh);
    } else {
      graph.of_mesh = mesh::edges_of(cpu, *graph.mesh);
    }
  } catch (const error& e) {
    throw mesh::file_error(e, files.mesh, files.zone, cpu, *graph.mesh);
  }
}

template <class Item>
std::uint64_t bytes_of_list(const std::vector<Item>& list) {
  return list.size() * sizeof(Item);
}

std::uint64_t bytes_of_elements(const io::element_lists& lists) {
  std::uint64_t bytes = 0;
  for (const io::element_type type : io::all_element_types) bytes += bytes_of_list(lists.nodes(type));
  return bytes;
}

std::uint64_t bytes_of_mesh(const edge_graph& graph) {
  std::uint64_t bytes =
      bytes_of_list(graph.mesh->coordinates) + bytes_of_elements(graph.mesh->elements) + bytes_of_list(graph.of_mesh);
  for (const io::mesh_marker& marker : graph.mesh->markers) bytes += bytes_of_elements(marker.elements);
  if (!graph.dual) return bytes;
  return bytes + bytes_of_list(graph.dual->edges) + bytes_of_list(graph.dual->edge_normals) +
         bytes_of_list(graph.dual->volumes);
}

/// Numbers as Value, float or double. @throws error(bad_input) for one that is finite and would become infinite;
/// `place` says where it is
template <class Value, class Place>
std::vector<Value> all_narrowed(std::vector<double> numbers, const Place& place) {
  if constexpr (std::is_same_v<Value, double>) {
    return numbers;
  } else {
    const io::held_memory held("numbers as f64", bytes_of_list(numbers));
    std::vector<Value> narrow(numbers.size());
    for (std::uint64_t i = 0; i < numbers.size(); ++i) {
      narrow[i] = narrowed<Value>(numbers[i], error_code::bad_input, [&] { return place(i); });
    }
    return narrow;
  }
}

}  // namespace

void require_mesh_where_needed(const edge_files& files) {
  const char* const option = files.has_dual ? "--dual" : files.zone > 0 ? "--zone" : nullptr;
  if (option != nullptr && files.are_edges_alone()) {
    primitives::refuse("{} needs a mesh, but {} has only edges", option, io::shown_input(files.mesh));
  }
}

edge_graph read_edge_graph(const edge_files& files, int threads, io::reading what) {
  edge_graph graph;
  if (files.are_edges_alone()) {
    graph.pairs.emplace(read_pairs(files, what));
    if (files.values.empty())
      primitives::refuse("VALUES is needed: {} has no positions of nodes", io::shown_input(files.mesh));
    return graph;
  }
  graph.mesh = io::read_su2(files.mesh, {.threads = threads, .zone = files.zone, .warnings = &graph.warnings});
  find_edges(files, context::cpu(threads), graph);
  graph.held = io::held_memory("the mesh and its edges", bytes_of_mesh(graph));
  if (graph.dual) {
    for (const std::string& warning : graph.dual->warnings) {
      graph.warnings.push_back(fmt::format("{}: {}", io::shown_input(files.mesh), warning));
    }
  }
  return graph;
}

node_shape shape_of_nodes(const edge_files& files, const edge_graph& graph) {
  if (files.values.empty()) return {graph.mesh->nodes(), static_cast<std::uint32_t>(graph.mesh->dimension)};
  const io::record_file file(files.values, 0, "the header of an .npy file");
  const std::span<const std::uint64_t> shape = file.shape();
  const std::uint64_t nodes = shape.empty() ? 1 : shape[0];
  const std::uint64_t components = shape.size() < 2 ? 1 : shape[1];
  if (shape.size() > 2 || components < 1 || components > most_edge_components) {
    io::fail(files.values, "values have shape (N) or (N, C), with 1 to {} components C", most_edge_components);
  }
  if (graph.mesh && graph.mesh->nodes() != nodes) {
    io::fail(files.values, "{} rows, but {} has {} nodes", nodes, io::shown_input(files.mesh), graph.mesh->nodes());
  }
  look_at_vector(files.values, nodes * components, "numbers of nodes", files.mesh);
  return {nodes, static_cast<std::uint32_t>(components)};
}

void look_at_weights(const edge_files& files, std::uint64_t edges) {
  if (!files.weights.empty()) look_at_vector(files.weights, edges, "edges", files.mesh);
}

template <class Value>
node_numbers<Value> read_node_numbers(const edge_files& files, const edge_graph& graph) {
  node_numbers<Value> numbers{shape_of_nodes(files, graph), {}};
  const std::uint64_t components = numbers.components;
  if (files.values.empty()) {
    numbers.values = all_narrowed<Value>(graph.mesh->coordinates, [&](std::uint64_t i) {
      return fmt::format("{}: node {}: coordinate {}", io::shown_input(files.mesh), i / components, i % components);
    });
    return numbers;
  }
  numbers.values = all_narrowed<Value>(
      read_vector<double>(files.values, numbers.nodes * components, "numbers of nodes", files.mesh),
      [&](std::uint64_t i) {
        return fmt::format("{}: node {}: component {}", io::shown_input(files.values), i / components, i % components);
      });
  return numbers;
}

template <class Value>
std::vector<Value> read_edge_weights(const edge_files& files, std::uint64_t edges) {
  if (files.weights.empty()) return {};
  return all_narrowed<Value>(read_vector<double>(files.weights, edges, "edges", files.mesh), [&](std::uint64_t i) {
    return fmt::format("{}: the weight of edge {}", io::shown_input(files.weights), i);
  });
}

template node_numbers<float> read_node_numbers(const edge_files&, const edge_graph&);
template node_numbers<double> read_node_numbers(const edge_files&, const edge_graph&);
template std::vector<float> read_edge_weights(const edge_files&, std::uint64_t);
template std::vector<double> read_edge_weights(const edge_files&, std::uint64_t);

}  // namespace sheaf::cli
