#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include "core/scratch_offsets.hpp"
#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/by_node.hpp"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/node_order.hpp"
#include "cuda/edges/tile_build.hpp"
#include "primitives/edges/prepare.hpp"

// The preparation cuda.tiles: nodes that are near each other are brought into tiles, whose values a run holds in shared
// memory. An end is in the list of its node alone, so that no sum has two writers.
namespace sheaf::cuda {
namespace {

using primitives::edge_sum_buffers;
using primitives::edge_sum_problem;
using primitives::prepare_edge_sum_buffers;
using primitives::prepare_edge_sum_problem;

constexpr const char* tiles_name = "cuda.tiles";

class tiled_edges final : public primitives::prepared_edges {
 public:
  explicit tiled_edges(edge_tiles tiles) : tiles_(std::move(tiles)) {}

  void run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) override {
    const run_scope scope(ctx, tiles_name);
    const edge_sum_kernels kernels(p, b);
    const edge_kernels::tile_arguments a{views_of(p, b),
                                         tiles_.ids.as<std::uint32_t>(),
                                         tiles_.id_begins.as<std::uint64_t>(),
                                         tiles_.entries.as<std::uint32_t>(),
                                         tiles_.edges.as<uint2>(),
                                         tiles_.slice_begins.as<std::uint64_t>(),
                                         tiles_.nodes,
                                         tiles_.tile_nodes,
                                         tiles_.most_nodes};
    require(kernels->sum_tiles(ctx.stream(), kernels->f, a), ctx);
  }
  std::uint64_t kept_bytes() const override { return tiles_.kept_bytes(); }
  std::string_view run_variant() const override { return tiles_name; }

 private:
  edge_tiles tiles_;
};

struct tiles_layout {
  std::uint32_t tile_nodes = least_tile_nodes;
  std::uint64_t first_bad = 0;
  std::uint64_t longest = 0;
  std::uint64_t order = 0;
  std::uint64_t place = 0;
  std::uint64_t begins = 0;
  std::uint64_t entries = 0;
  node_order_layout node_order;
  list_layout lists;
  tile_build_layout build;
};

/// Nodes of a tile: its values and those of its halo leave room for three blocks in a multiprocessor.
std::uint32_t tile_nodes_of(const edge_sum_problem& p) {
  constexpr std::uint64_t bytes_of_own_nodes = std::uint64_t{40} << 10;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_floor(bytes_of_own_nodes / p.node_bytes()),
                                                              least_tile_nodes, most_tile_nodes));
}

// A run reads 4 bytes an edge (2 for each end), 4 bytes and the value of each node of a tile and of its halo, and
// writes each sum once. In a box of tetrahedra with 7 edges a node, a tile of n nodes has a halo of 6 n^(2/3); halos of
// tiles that run side by side are in L2. Both ends compute the contribution of their edge: twice the arithmetic is the
// price of sums that have one writer and one order.
double tiles_seconds(const edge_sum_problem& p, const machine& m) {
  constexpr double more_nodes = 1.5;
  constexpr double more_entries = 1.1;
  const auto entries = static_cast<double>(2 * p.edges);
  const auto nodes = static_cast<double>(p.nodes);
  const auto bytes = static_cast<std::uint64_t>(entries * more_entries * 2 + nodes * more_nodes * 4);
  const auto halo_bytes = nodes * (more_nodes - 1) * static_cast<double>(std::max<std::uint64_t>(32, p.node_bytes()));
  const double memory = m.streamed(bytes, bytes) + value_seconds(p, p.nodes, m) +
                        m.random_writes(p.nodes, p.result_bytes(), p.nodes * p.result_bytes()) +
                        halo_bytes / m.cached_bytes_per_second + weight_seconds(p, 2 * p.edges, m);
  return m.launch_seconds + std::max(memory, contribution_seconds(p, 2 * p.edges, m));
}

plan::planned plan_tiles(const prepare_edge_sum_problem& p, const plan::scope& scope) {
  const edge_sum_problem& s = p.sum;
  if (const char* reason = list_rejection(s)) return plan::rejected(reason);
  if (s.nodes == 0 || s.edges == 0) return plan::rejected("there is nothing to bring into order");
  const machine& m = scope.machine;
  core::scratch_offsets place;
  tiles_layout layout;
  layout.tile_nodes = tile_nodes_of(s);
  layout.first_bad = place.take(bad_end_report::bytes);
  layout.longest = place.take(sizeof(unsigned long long));
  layout.order = place.take(s.nodes * sizeof(std::uint32_t));
  layout.place = place.take(s.nodes * sizeof(std::uint32_t));
  layout.begins = place.take((s.nodes + 1) * sizeof(std::uint64_t));
  layout.entries = place.take(2 * s.edges * sizeof(edge_kernels::list_entry));
  layout.node_order = node_order_layout(p, place);
  layout.lists = list_layout(s, listed_ends::both, place);
  layout.build = tile_build_layout(s.nodes, layout.tile_nodes, place);
  const double run_seconds = tiles_seconds(s, m);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.inner_calls = std::make_shared<const tiles_layout>(layout);
  plan.decided.set(primitives::prepare_edge_sum_decision{run_seconds});
  plan.add("order", node_order_seconds(p, m));
  add_list_cost(s, listed_ends::both, m, plan);
  const std::uint64_t entries = 2 * s.edges;
  const std::uint64_t built = entries * 22;
  plan.add("tiles", 4 * m.step_seconds + m.random_reads(entries, 4, s.nodes * 4) + m.streamed(built, built));
  plan.add("runs", static_cast<double>(p.expected_runs) * run_seconds);
  return plan;
}

void run_tiles(const context& ctx, const prepare_edge_sum_problem& p, const plan::planned& plan,
               const prepare_edge_sum_buffers& b, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto& layout = plan.inner<tiles_layout>();
  const edge_sum_problem& s = p.sum;
  const edge_kernels::end_arrays edges = ends_of(s, b.edges);
  const bad_end_report bad_ends(ctx, s, primitives::edge_call::prepare_edge_sum, scratch + layout.first_bad);
  auto* const order = reinterpret_cast<std::uint32_t*>(scratch + layout.order);
  auto* const place = reinterpret_cast<std::uint32_t*>(scratch + layout.place);
  queue_node_order(ctx, p, b, layout.tile_nodes, layout.node_order, scratch, order, place);
  const list_outputs lists{reinterpret_cast<edge_kernels::list_entry*>(scratch + layout.entries),
                           reinterpret_cast<std::uint64_t*>(scratch + layout.begins)};
  queue_lists(ctx, s, edges, listed_ends::both, place, layout.lists, scratch, lists, bad_ends.first_bad());
  bad_ends.queue(ctx, edges);
  edge_tiles tiles;
  const tile_inputs in{order, lists.begins, lists.entries, 2 * s.edges};
  if (build_tiles(ctx, s.nodes, layout.tile_nodes, in, layout.build, scratch, tiles)) {
    *b.made = std::make_shared<tiled_edges>(std::move(tiles));
    return;
  }
  *b.made = make_by_node(ctx, s, edges, layout.lists, scratch, bad_ends.first_bad(),
                         reinterpret_cast<unsigned long long*>(scratch + layout.longest));
}

}  // namespace

extern constinit const primitives::prepare_edge_sum_variant prepare_edge_sum_tiles{"cuda.tiles", backend_kind::cuda,
                                                                                   plan_tiles, run_tiles};

}  // namespace sheaf::cuda
