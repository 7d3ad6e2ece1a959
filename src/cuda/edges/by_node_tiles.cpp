#include "core/scratch_offsets.hpp"
#include "cuda/edges/bad_ends.hpp"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/lists.hpp"
#include "cuda/edges/node_order.hpp"
#include "cuda/edges/tile_build.hpp"
#include "plan/choose.hpp"

// The preparations. cuda.by_node: the edges of each node in a list, both ends of an edge in the lists of both, in the
// order of the edges. A run sums each list by a group of lanes. cuda.tiles: nodes that are near each other are brought
// into tiles, whose values a run holds in shared memory. An end is in the list of its node alone, so that no sum has
// two writers.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr const char* by_node = "cuda.by_node";
constexpr const char* tiles_name = "cuda.tiles";

/// What cuda.by_node prepares: lists of entries, or in rows.
class listed_edges final : public prepared_edges {
 public:
  /// @param edges  empty: `others` has entries
  listed_edges(buffer begins, buffer others, buffer edges, bool has_long_lists)
      : begins_(std::move(begins)),
        others_(std::move(others)),
        edges_(std::move(edges)),
        has_long_lists_(has_long_lists) {}

  void run(const context& ctx, const edge_sum_problem& problem, const edge_sum_buffers& buffers) override {
    const run_scope scope(ctx, by_node);
    const std::uint64_t entries = 2 * problem.edges;
    const std::uint64_t scratch_bytes = has_long_lists_ ? piece_sum_bytes(problem, entries) : 0;
    const core::scratch scratch = plan::take_scratch(ctx, prepared_edge_sum_call, by_node, scratch_bytes);
    const edge_sum_kernels kernels(problem, buffers);
    edge_kernels::list_arguments lists{};
    lists.views = views_of(problem, buffers);
    lists.begins = begins_.as<std::uint64_t>();
    if (edges_.size() == 0) {
      lists.entries = others_.as<edge_kernels::list_entry>();
      lists.lanes = lanes_of_list(problem, entries);
    } else {
      lists.others = others_.as<std::uint32_t>();
      lists.edges = edges_.as<std::uint32_t>();
    }
    lists.nodes = problem.nodes;
    lists.count = entries;
    lists.piece_sums = scratch_bytes == 0 ? nullptr : scratch.data();
    queue_list_sums(ctx, kernels, lists);
  }
  std::uint64_t kept_bytes() const override { return begins_.size() + others_.size() + edges_.size(); }
  std::string_view run_variant() const override { return by_node; }

 private:
  buffer begins_;
  buffer others_;
  buffer edges_;
  bool has_long_lists_;
};

struct by_node_arrays {
  unsigned long long* first_bad;
  unsigned long long* longest;
  list_scratch lists;
  list_outputs outputs;

  by_node_arrays(const prepare_edge_sum_problem& p, core::scratch_arrays& arrays)
      : by_node_arrays(p, suits_rows(p.sum), arrays) {}
  /// @param has_outputs  lists are made in scratch, because others are made of them; else where they are kept
  by_node_arrays(const prepare_edge_sum_problem& p, bool has_outputs, core::scratch_arrays& arrays)
      : first_bad(arrays.take<unsigned long long>(1)),
        longest(arrays.take<unsigned long long>(1)),
        lists(p.sum, listed_ends::both, arrays),
        outputs{arrays.take<edge_kernels::list_entry>(has_outputs ? 2 * p.sum.edges : 0),
                arrays.take<std::uint64_t>(has_outputs ? p.sum.nodes + 1 : 0)} {}
};

/// Makes the executor of cuda.by_node, which waits for the device.
std::shared_ptr<prepared_edges> make_by_node(const context& ctx, const edge_sum_problem& problem,
                                             const edge_kernels::end_arrays& edges, const by_node_arrays& at) {
  constexpr const char* what = "edges of the nodes";
  const std::uint64_t entries = at.lists.count;
  buffer begins = edge_memory(ctx, "offsets of the nodes' edges", (problem.nodes + 1) * sizeof(std::uint64_t));
  if (!suits_rows(problem)) {
    buffer listed = edge_memory(ctx, what, entries * sizeof(edge_kernels::list_entry));
    queue_lists(ctx, problem, edges, listed_ends::both, nullptr, at.lists,
                {listed.as<edge_kernels::list_entry>(), begins.as<std::uint64_t>()}, at.first_bad);
    queue_longest(ctx, begins.as<std::uint64_t>(), problem.nodes, at.longest);
    unsigned long long most = 0;
    ctx.state().copy(&most, at.longest, sizeof most);  // waits
    return std::make_shared<listed_edges>(std::move(begins), std::move(listed), buffer(),
                                          most >= edge_kernels::long_list);
  }
  buffer others = edge_memory(ctx, what, entries * sizeof(std::uint32_t));
  buffer numbers = edge_memory(ctx, what, entries * sizeof(std::uint32_t));
  queue_lists(ctx, problem, edges, listed_ends::both, nullptr, at.lists, at.outputs, at.first_bad);
  auto* const longest = reinterpret_cast<std::uint32_t*>(at.longest);
  queue_rows(ctx, at.outputs, problem.nodes,
             {others.as<std::uint32_t>(), numbers.as<std::uint32_t>(), begins.as<std::uint64_t>(), longest});
  std::uint32_t most = 0;
  ctx.state().copy(&most, longest, sizeof most);  // waits
  return std::make_shared<listed_edges>(std::move(begins), std::move(others), std::move(numbers),
                                        most >= edge_kernels::long_list);
}

// A run reads 8 bytes an edge, 16 with weights, and a value at random for each end. There are no halos and no tiles, so
// that any graph will do.
plan::planned plan_by_node(const prepare_edge_sum_problem& problem, const plan::scope& scope) {
  const edge_sum_problem& sum = problem.sum;
  if (const char* reason = list_rejection(sum)) return plan::rejected(reason);
  if (sum.nodes == 0 || sum.edges == 0) return plan::rejected("there is nothing to put in order");
  const machine& machine = scope.machine;
  const double run_seconds = machine.launch_seconds + (suits_rows(sum) ? row_sum_seconds(sum, machine)
                                                                       : list_sum_seconds(sum, 2 * sum.edges, machine));
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<by_node_arrays>(problem);
  plan.decided.set(prepare_edge_sum_decision{run_seconds});
  add_list_cost(sum, listed_ends::both, machine, plan);
  if (suits_rows(sum)) add_row_cost(sum, 2 * sum.edges, machine, plan);
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_by_node(const context& ctx, const prepare_edge_sum_problem& problem, const plan::planned&,
                 const prepare_edge_sum_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto at = core::arrays_in<by_node_arrays>(scratch, problem);
  const edge_kernels::end_arrays edges = ends_of(problem.sum, buffers.edges);
  const bad_end_report bad_ends(ctx, problem.sum, edge_call::prepare_edge_sum, at.first_bad);
  *buffers.made = make_by_node(ctx, problem.sum, edges, at);
  bad_ends.queue(ctx, edges);
}

/// What cuda.tiles prepares.
class tiled_edges final : public prepared_edges {
 public:
  explicit tiled_edges(edge_tiles tiles) : tiles_(std::move(tiles)) {}

  void run(const context& ctx, const edge_sum_problem& p, const edge_sum_buffers& b) override {
    const run_scope scope(ctx, tiles_name);
    const edge_sum_kernels kernels(p, b);
    const edge_kernels::tile_arguments args{views_of(p, b),
                                            tiles_.ids.as<std::uint32_t>(),
                                            tiles_.id_begins.as<std::uint64_t>(),
                                            tiles_.entries.as<std::uint32_t>(),
                                            tiles_.edges.as<uint2>(),
                                            tiles_.slice_begins.as<std::uint64_t>(),
                                            tiles_.nodes,
                                            tiles_.tile_nodes,
                                            tiles_.most_nodes};
    require(kernels->sum_tiles(ctx.stream(), kernels->function, args), ctx);
  }
  std::uint64_t kept_bytes() const override { return tiles_.kept_bytes(); }
  std::string_view run_variant() const override { return tiles_name; }

 private:
  edge_tiles tiles_;
};

/// Nodes of a tile: its values and those of its halo leave room for three blocks in a multiprocessor.
std::uint32_t tile_nodes_of(const edge_sum_problem& p) {
  constexpr std::uint64_t bytes_of_own_nodes = std::uint64_t{40} << 10;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(std::bit_floor(bytes_of_own_nodes / p.node_bytes()),
                                                              least_tile_nodes, most_tile_nodes));
}

struct tiles_arrays : by_node_arrays {
  std::uint32_t tile_nodes;
  std::uint32_t* order;
  std::uint32_t* place;
  node_order_scratch node_order;
  tile_build_scratch build;

  tiles_arrays(const prepare_edge_sum_problem& problem, core::scratch_arrays& arrays)
      : by_node_arrays(problem, true, arrays),
        tile_nodes(tile_nodes_of(problem.sum)),
        order(arrays.take<std::uint32_t>(problem.sum.nodes)),
        place(arrays.take<std::uint32_t>(problem.sum.nodes)),
        node_order(problem, arrays),
        build(problem.sum.nodes, tile_nodes, arrays) {}
};

// A run reads 4 bytes an edge (2 for each end), 4 bytes and the value of each node of a tile and of its halo, and
// writes each sum once. In a box of tetrahedra with 7 edges a node, a tile of n nodes has a halo of 6 n^(2/3); halos of
// tiles that run side by side are in L2. Both ends compute the contribution of their edge: twice the arithmetic is the
// price of sums that have one writer and one order.
double tiles_seconds(const edge_sum_problem& problem, const machine& machine) {
  constexpr double more_nodes = 1.5;
  constexpr double more_entries = 1.1;
  const auto entries = static_cast<double>(2 * problem.edges);
  const auto nodes = static_cast<double>(problem.nodes);
  const auto bytes = static_cast<std::uint64_t>(entries * more_entries * 2 + nodes * more_nodes * 4);
  const auto halo_bytes =
      nodes * (more_nodes - 1) * static_cast<double>(std::max<std::uint64_t>(32, problem.node_bytes()));
  const double memory =
      machine.streamed(bytes, bytes) + value_seconds(problem, problem.nodes, machine) +
      machine.random_writes(problem.nodes, problem.result_bytes(), problem.nodes * problem.result_bytes()) +
      halo_bytes / machine.cached_bytes_per_second + weight_seconds(problem, 2 * problem.edges, machine);
  return machine.launch_seconds + std::max(memory, contribution_seconds(problem, 2 * problem.edges, machine));
}

plan::planned plan_tiles(const prepare_edge_sum_problem& problem, const plan::scope& scope) {
  const edge_sum_problem& sum = problem.sum;
  if (const char* reason = list_rejection(sum)) return plan::rejected(reason);
  if (sum.nodes == 0 || sum.edges == 0) return plan::rejected("there is nothing to put in order");
  const machine& machine = scope.machine;
  const double run_seconds = tiles_seconds(sum, machine);
  plan::planned plan;
  plan.scratch_bytes = core::bytes_of<tiles_arrays>(problem);
  plan.decided.set(prepare_edge_sum_decision{run_seconds});
  plan.add("order", node_order_seconds(problem, machine));
  add_list_cost(sum, listed_ends::both, machine, plan);
  const std::uint64_t entries = 2 * sum.edges;
  const std::uint64_t built = entries * 22;
  plan.add("tiles",
           4 * machine.step_seconds + machine.random_reads(entries, 4, sum.nodes * 4) + machine.streamed(built, built));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_tiles(const context& ctx, const prepare_edge_sum_problem& problem, const plan::planned&,
               const prepare_edge_sum_buffers& buffers, std::byte* scratch) {
  const device_scope current_device(ctx.device());
  const auto at = core::arrays_in<tiles_arrays>(scratch, problem);
  const edge_sum_problem& sum = problem.sum;
  const edge_kernels::end_arrays edges = ends_of(sum, buffers.edges);
  const bad_end_report bad_ends(ctx, sum, edge_call::prepare_edge_sum, at.first_bad);
  queue_node_order(ctx, problem, buffers, at.tile_nodes, at.node_order, at.order, at.place);
  queue_lists(ctx, sum, edges, listed_ends::both, at.place, at.lists, at.outputs, at.first_bad);
  bad_ends.queue(ctx, edges);
  edge_tiles tiles;
  const tile_inputs in{at.order, at.outputs.begins, at.outputs.entries, 2 * sum.edges};
  if (build_tiles(ctx, sum.nodes, at.tile_nodes, in, at.build, tiles)) {
    *buffers.made = std::make_shared<tiled_edges>(std::move(tiles));
    return;
  }
  *buffers.made = make_by_node(ctx, sum, edges, at);
}

}  // namespace

extern constinit const prepare_edge_sum_variant prepare_edge_sum_by_node{"cuda.by_node", backend_kind::cuda,
                                                                         plan_by_node, run_by_node};
extern constinit const prepare_edge_sum_variant prepare_edge_sum_tiles{"cuda.tiles", backend_kind::cuda, plan_tiles,
                                                                       run_tiles};

}  // namespace sheaf::cuda
