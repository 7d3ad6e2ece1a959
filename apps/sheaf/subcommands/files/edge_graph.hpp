#pragma once

#include "apps/sheaf/files/arrays/contents.hpp"
#include "apps/sheaf/files/mesh/arrays.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/mesh/dual.hpp"
#include "apps/sheaf/mesh/edges.hpp"

// What `sheaf edges` reads: a mesh or an array of edges, values of its nodes and weights of its edges.
namespace sheaf::cli {

struct edge_files {
  std::string mesh;
  std::string values;      ///< empty: the positions of the mesh's nodes
  std::string weights;     ///< empty: ones
  std::uint64_t zone = 0;  ///< of the mesh; 0: all
  bool has_dual = false;   ///< whether the mesh's median dual is wanted

  bool are_edges_alone() const { return io::names_array(mesh); }
};

/// @throws error(bad_argument) where an option needs a mesh and there is none
void require_mesh_where_needed(const edge_files& files);

/// A graph in host memory, read from a file of either kind.
struct edge_graph {
  std::optional<io::unstructured_mesh> mesh;
  std::vector<mesh::edge> of_mesh;
  std::optional<mesh::dual_mesh> dual;  ///< which has the edges then
  std::optional<io::index_file> pairs;
  std::vector<std::string> warnings;  ///< of what was read but is not in the graph
  io::held_memory held;               ///< of a mesh and what is made of it

  index_span ends() const {
    if (pairs) return pairs->indices();
    const std::vector<mesh::edge>& edges = dual ? dual->edges : of_mesh;
    return {edges.data(), 2 * edges.size(), index_type::u32};
  }
};

/// @param what  of an array of edges; a mesh is always read
/// @throws error(bad_input) naming what is wrong with the graph, and the lines of an element that is there twice;
/// error(bad_argument) for a zone that the mesh does not have, or if there are no values
edge_graph read_edge_graph(const edge_files& files, int threads, io::reading what = io::reading::all);

/// How many nodes there are, and components of each.
struct node_shape {
  std::uint64_t nodes = 0;
  std::uint32_t components = 0;
};
/// Reads headers alone. @throws error(bad_input) naming the file of values
node_shape shape_of_nodes(const edge_files& files, const edge_graph& graph);
/// Refuses weights by the header of their file. @throws error(bad_input)
void look_at_weights(const edge_files& files, std::uint64_t edges);

/// Values of the nodes.
template <class Value>
struct node_numbers : node_shape {
  std::vector<Value> values;
};

/// Value is float or double. @throws error(bad_input), also for a number that is finite and would become infinite
template <class Value>
node_numbers<Value> read_node_numbers(const edge_files& files, const edge_graph& graph);

/// Empty where no file was named. @throws error(bad_input)
template <class Value>
std::vector<Value> read_edge_weights(const edge_files& files, std::uint64_t edges);

}  // namespace sheaf::cli
