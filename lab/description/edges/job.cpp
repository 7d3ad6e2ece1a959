#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sheaf/edge_sum.hpp>
#include <sheaf/memory.hpp>

#include "lab/description/edges/graph.hpp"
#include "lab/description/edges/items.hpp"
#include "lab/description/job.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "primitives/words.hpp"

// The job of edge_sum: boxes of tetrahedra whose nodes lie in the order of a pattern, and graphs whose ends are entries
// of one. The check compares sums over all nodes with sums over all edges, each with the factors of its nodes.
namespace sheaf::jobs {
namespace {

using primitives::components_of_node;
using primitives::nodes_of_graph;

edge_source source_of(const problem_spec& p, std::uint64_t copy) {
  const std::uint64_t nodes = nodes_of_graph(p);
  return {.order = pattern_of_copy(p, copy),
          .nodes = nodes,
          .side = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::lround(std::cbrt(nodes)))),
          .is_mesh = is_distinct(p.pattern),
          .type = p.value,
          .index_bytes = bytes(p.index),
          .edges = p.count,
          .is_packed = p.is_packed,
          .components = components_of_node(p),
          .function = p.of_edges,
          .has_weights = p.has_weights};
}

array_shapes shapes(const problem_spec& p) {
  const std::uint64_t nodes = nodes_of_graph(p);
  const std::string of_nodes = fmt::format("{} {} of {} {}", components_of_node(p), primitives::name(p.value), nodes,
                                           primitives::text_of(p.of_edges, primitives::edge_functions));
  array_shapes all;
  all[places::source] = {nodes, p.record_bytes, array_role::input, "nodes " + of_nodes};
  all[places::index] = {p.count, 2 * bytes(p.index), array_role::input,
                        fmt::format("edges {} {} {} of {}{}", inputs::name(p.pattern), primitives::name(p.index),
                                    p.count, nodes, p.is_packed ? " in pairs" : "")};
  all[places::target] = {nodes, p.record_bytes, array_role::output};
  if (p.has_weights) {
    all[edge_places::weights] = {p.count, bytes(p.value), array_role::input,
                                 fmt::format("weights {} of {}", primitives::name(p.value), p.count)};
  }
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) {
  const std::uint64_t edge_bytes = 2 * bytes(p.index) + (p.has_weights ? bytes(p.value) : 0);
  return p.count * edge_bytes + 2 * nodes_of_graph(p) * p.record_bytes;
}

/// About as many edges as the node has that has most.
std::uint64_t most_edges_of_a_node(const problem_spec& p) {
  if (is_distinct(p.pattern)) return 2 * (p.count / nodes_of_graph(p) + 14);
  if (p.pattern.kind == inputs::pattern_kind::uniform) return 16 * (p.count / nodes_of_graph(p) + 4);
  return p.count;
}

std::string unchecked(const problem_spec& p) {
  if (p.count > 0 && nodes_of_graph(p) == 0) return "edges of no nodes";
  if (bytes(p.index) == 4 && nodes_of_graph(p) >> (p.index == index_type::i32 ? 31 : 32) != 0) {
    return "ends are too narrow for the nodes";
  }
  constexpr std::uint64_t most_contribution = 4 * 3 * 14;  // in quarters
  const std::uint64_t most_exact = std::uint64_t{1} << (p.value == value_type::f32 ? 24 : 53);
  const bool is_exact = p.count == 0 || most_edges_of_a_node(p) < most_exact / most_contribution;
  return is_exact ? "" : "sums are too large to be exact";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  const edge_source source = source_of(p, copy);
  switch (place) {
    case places::source: over_items(ctx, source.nodes, fill_node_values{source, array.data}); break;
    case places::index: over_items(ctx, p.count, fill_edges{source, array.data}); break;
    case edge_places::weights: over_items(ctx, p.count, fill_edge_weights{source, array.data}); break;
    default: wipe(ctx, array);
  }
}

struct views {
  edge_view edges;
  const_values nodes;
  const_values weights;
  values result;

  views(const problem_spec& p, const array_set& arrays) {
    const std::byte* const ends = arrays[places::index].data;
    const std::uint64_t second = bytes(p.index) * (p.is_packed ? 1 : p.count);
    if (ends != nullptr) edges = edge_view(ends, ends + second, p.count, p.is_packed ? 2 : 1, p.index);
    edges.type = p.index;
    const std::uint64_t count = nodes_of_graph(p) * components_of_node(p);
    nodes = {arrays[places::source].data, count, p.value};
    weights = {arrays[edge_places::weights].data, p.has_weights ? p.count : 0, p.value};
    result = {arrays[places::target].data, count, p.value};
  }
};

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const views v(p, arrays);
  edge_sum(ctx, v.edges, v.nodes, v.weights, v.result, components_of_node(p), p.of_edges,
           {.pattern = p.access, .order = p.order, .variant = settings.variant});
}

prepared_run prepare(const context& ctx, const problem_spec& p, const array_set& arrays, std::uint64_t expected_runs) {
  const views v(p, arrays);
  // The nodes of a mesh have coordinates.
  const edge_source source = source_of(p, 0);
  const std::uint64_t coordinates = source.is_mesh ? 3 * source.nodes : 0;
  const buffer at(ctx, std::max<std::uint64_t>(1, coordinates) * sizeof(float));
  if (coordinates > 0) over_items(ctx, source.nodes, fill_coordinates{source, at.as<float>()});
  const prepared_edge_sum prepared =
      prepare_edge_sum(ctx, v.edges, nodes_of_graph(p), components_of_node(p), expected_runs,
                       {.coordinates = {at.data(), coordinates, value_type::f32},
                        .value = p.value,
                        .function = p.of_edges,
                        .edge_weights = p.has_weights ? 1U : 0U,
                        .pattern = p.access,
                        .order = p.order});
  return {[prepared, v, function = p.of_edges] { prepared.run(v.nodes, v.weights, v.result, function); },
          preparation_of(prepared.report(), p.access)};
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const edge_source source = source_of(p, 0);
  const tally found = over_items(ctx, source.nodes, checksum_nodes{source, arrays[places::target].data});
  const std::uint64_t expected = over_items(ctx, p.count, checksum_edges{source}).sum;
  return found.mismatches + (found.sum != expected ? 1 : 0);
}

constexpr sample samples[] = {{"edge_sum/identity/r12/u32+f32"},
                              {"edge_sum/permutation/r12/u32+f32"},
                              {"edge_sum/permutation/r12/u32+f32", true},
                              {"edge_sum/permutation/r12/u32+f32+inverse_square+weights"},
                              {"edge_sum/permutation/r40/i32+f64+weights+pairs"},
                              {"edge_sum/uniform/r8/u64+f64+unordered"}};

}  // namespace

extern const job edge_sum_job{.primitive = "edge_sum",
                              .samples = samples,
                              .shapes = shapes,
                              .moved_bytes = moved_bytes,
                              .unchecked = unchecked,
                              .fill = fill_array,
                              .run = run,
                              .count_mistakes = mistakes,
                              .plain_loop = plain_edge_sum,
                              .prepare = prepare};

}  // namespace sheaf::jobs
