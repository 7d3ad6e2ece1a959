#include "opengl/edges/incidence.hpp"

#include "core/scratch_offsets.hpp"
#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

using primitives::edge_sum_problem;

constexpr program_files files_of(bool is_wide, bool has_weights) {
  if (has_weights) return {"pixels.vert", "", is_wide ? "weighted_wide_edge_nodes.frag" : "weighted_edge_nodes.frag"};
  return {"pixels.vert", "", is_wide ? "wide_edge_nodes.frag" : "edge_nodes.frag"};
}

// Nodes of more edges are summed by several draws (draw_loops).
constexpr std::uint32_t edges_of_a_loop = std::uint32_t{1} << 15;

struct edge_range {
  std::uint32_t begin;
  std::uint32_t end;
};

std::uint64_t range_bytes(const edge_sum_problem& p) noexcept {
  return core::scratch_aligned(p.nodes * sizeof(edge_range));
}

// Of a number for each end of all edges.
std::uint64_t list_bytes(const edge_sum_problem& p) noexcept {
  return core::scratch_aligned(2 * p.edges * sizeof(std::uint32_t));
}

}  // namespace

const program& node_program(opengl_state& state, const edge_sum_problem& p, bool has_weights) {
  return state.program_of(files_of(p.components > 4, has_weights));
}

std::uint64_t incidence::scratch_bytes(const edge_sum_problem& p, edge_numbers numbers) noexcept {
  return range_bytes(p) + (numbers == edge_numbers::kept ? 2 : 1) * list_bytes(p);
}

incidence::incidence(const opengl_state& state, const edge_sum_problem& problem, const edge_view& edges,
                     edge_numbers numbers, std::byte* scratch)
    : rows_(state, "edge_sum: the nodes", pair_texels, problem.nodes),
      others_(state, "edge_sum: the other ends", texel_format{}, 2 * problem.edges) {
  auto* const ranges = reinterpret_cast<edge_range*>(scratch);
  auto* const others = reinterpret_cast<std::uint32_t*>(scratch + range_bytes(problem));
  auto* const edge_of = reinterpret_cast<std::uint32_t*>(scratch + range_bytes(problem) + list_bytes(problem));
  // A counting sort of both ends by node: counts, where nodes begin, and the edges in their order.
  std::fill_n(ranges, problem.nodes, edge_range{0, 0});
  const auto skip = [](std::uint64_t) {};
  first_bad_ = for_each_edge(
      problem, edges, 0, problem.edges,
      [&](std::uint64_t, const node_pair& ends) {
        ++ranges[ends.first].end;
        ++ranges[ends.second].end;
      },
      skip);
  std::uint32_t placed = 0;
  for (std::uint64_t n = 0; n < problem.nodes; ++n) {
    const std::uint32_t count = ranges[n].end;
    most_edges_ = std::max<std::uint64_t>(most_edges_, count);
    ranges[n] = {placed, placed};
    placed += count;
  }
  const bool keeps_numbers = numbers == edge_numbers::kept;
  const auto place = [&](std::uint32_t node, std::uint32_t other, std::uint64_t e) {
    const std::uint32_t at = ranges[node].end++;
    others[at] = other;
    if (keeps_numbers) edge_of[at] = static_cast<std::uint32_t>(e);
  };
  for_each_edge(
      problem, edges, 0, problem.edges,
      [&](std::uint64_t e, const node_pair& ends) {
        place(ends.first, ends.second, e);
        place(ends.second, ends.first, e);
      },
      skip);
  std::fill(others + placed, others + 2 * problem.edges, 0);
  rows_.upload(ranges);
  others_.upload(others);
  if (!keeps_numbers) return;
  std::fill(edge_of + placed, edge_of + 2 * problem.edges, 0);
  numbers_.emplace(state, "edge_sum: the numbers of edges", texel_format{}, 2 * problem.edges).upload(edge_of);
}

void incidence::draw(opengl_state& state, const edge_sum_problem& problem, const node_values& values,
                     const source_array& weights, const node_sums& sums) const {
  const program& nodes = node_program(state, problem, weights.exists());
  nodes.use();
  values.bind(nodes);
  rows_.bind(1, nodes, "rows");
  others_.bind(2, nodes, "others");
  std::optional<layered_texture> weight_texels;
  if (weights.exists()) {
    weight_texels.emplace(state, "edge_sum: the weights", float_texels, problem.edges).upload(weights);
    numbers_->bind(3, nodes, "numbers");
    weight_texels->bind(4, nodes, "weights");
  }
  sums.for_each_target(nodes, [&] { draw_loops(nodes, most_edges_, edges_of_a_loop); });
  require_no_error("edge_sum: draws of nodes");
}

}  // namespace sheaf::opengl
