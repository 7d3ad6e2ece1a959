#include "opengl/edges/incidence.hpp"

#include <algorithm>

#include "core/scratch_offsets.hpp"
#include "opengl/device/errors.hpp"

namespace sheaf::opengl {
namespace {

using primitives::edge_sum_problem;

constexpr program_files node_files{"pixels.vert", "", "edge_nodes.frag"};
constexpr program_files wide_files{"pixels.vert", "", "wide_edge_nodes.frag"};

// A driver may take a draw of seconds for a hang, and llvmpipe ends loops after 65535 rounds.
constexpr std::uint32_t edges_of_a_loop = std::uint32_t{1} << 15;

struct edge_range {
  std::uint32_t begin;
  std::uint32_t end;
};

struct edge_of_node {
  std::uint32_t other;
  std::uint32_t edge;
};

std::uint64_t range_bytes(const edge_sum_problem& p) noexcept {
  return core::scratch_aligned(p.nodes * sizeof(edge_range));
}

}  // namespace

std::uint64_t incidence::scratch_bytes(const edge_sum_problem& p) noexcept {
  return range_bytes(p) + core::scratch_aligned(2 * p.edges * sizeof(edge_of_node));
}

incidence::incidence(const opengl_state& state, const edge_sum_problem& p, const edge_view& edges, std::byte* scratch)
    : rows_(state, "edge_sum: the nodes", pair_texels, p.nodes),
      entries_(state, "edge_sum: the edges of nodes", pair_texels, 2 * p.edges) {
  auto* const ranges = reinterpret_cast<edge_range*>(scratch);
  auto* const entries = reinterpret_cast<edge_of_node*>(scratch + range_bytes(p));
  // A counting sort of both ends by node: counts, where nodes begin, and the edges in their order.
  std::fill_n(ranges, p.nodes, edge_range{0, 0});
  const auto skip = [](std::uint64_t) {};
  first_bad_ = for_each_edge(
      p, edges, 0, p.edges,
      [&](std::uint64_t, const node_pair& ends) {
        ++ranges[ends.first].end;
        ++ranges[ends.second].end;
      },
      skip);
  std::uint32_t placed = 0;
  for (std::uint64_t n = 0; n < p.nodes; ++n) {
    const std::uint32_t count = ranges[n].end;
    most_edges_ = std::max<std::uint64_t>(most_edges_, count);
    ranges[n] = {placed, placed};
    placed += count;
  }
  for_each_edge(
      p, edges, 0, p.edges,
      [&](std::uint64_t e, const node_pair& ends) {
        entries[ranges[ends.first].end++] = {ends.second, static_cast<std::uint32_t>(e)};
        entries[ranges[ends.second].end++] = {ends.first, static_cast<std::uint32_t>(e)};
      },
      skip);
  std::fill(entries + placed, entries + 2 * p.edges, edge_of_node{0, 0});
  rows_.upload(ranges);
  entries_.upload(entries);
}

void incidence::draw(opengl_state& state, const edge_sum_problem& p, const node_values& values, const void* weights,
                     const node_sums& sums) const {
  const program& nodes = state.program_of(p.components > 4 ? wide_files : node_files);
  nodes.use();
  values.bind(nodes);
  rows_.bind(1, nodes, "rows");
  entries_.bind(2, nodes, "entries");
  nodes.set_unit("weights", 3);
  nodes.set("has_weights", weights == nullptr ? 0U : 1U);
  std::optional<layered_texture> weight_texels;
  if (weights != nullptr) {
    weight_texels.emplace(state, "edge_sum: the weights", float_texels, p.edges).upload(weights);
    weight_texels->bind(3, nodes, "weights");
  }
  nodes.set("most", edges_of_a_loop);
  begin_sums();
  sums.for_each_target(nodes, [&] {
    for (std::uint64_t skipped = 0; skipped < most_edges_; skipped += edges_of_a_loop) {
      nodes.set("skip", static_cast<std::uint32_t>(skipped));
      draw_all_pixels();
    }
  });
  end_sums();
  require_no_error("edge_sum: draws of nodes");
}

}  // namespace sheaf::opengl
