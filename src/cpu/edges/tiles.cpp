#include <omp.h>

#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "cpu/edges/cost.hpp"
#include "cpu/edges/ends.hpp"
#include "cpu/edges/tile_build.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "plan/choose.hpp"
#include "primitives/edges/node_order.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

struct tile_sizes {
  std::uint64_t tile_nodes = 1;
  std::uint64_t threads = 1;
};

/// out[k] = values[from[k]], in records of some bytes.
template <std::uint64_t Bytes>
void gather_records(const std::byte* values, const std::uint32_t* from, std::uint64_t count, std::byte* out) {
  for (std::uint64_t k = 0; k < count; ++k) std::memcpy(out + k * Bytes, values + from[k] * Bytes, Bytes);
}
template <std::uint64_t Bytes>
void scatter_records(const std::byte* sums, const std::uint32_t* to, std::uint64_t count, std::byte* result) {
  for (std::uint64_t k = 0; k < count; ++k) std::memcpy(result + to[k] * Bytes, sums + k * Bytes, Bytes);
}

/// Calls body with the bytes of a node as a constant, which are 1 to 8 words of 4 or 8 bytes.
template <class Body>
auto with_bytes(std::uint64_t bytes, Body body) {
  switch (bytes) {
    case 4: return body(std::integral_constant<std::uint64_t, 4>{});
    case 8: return body(std::integral_constant<std::uint64_t, 8>{});
    case 12: return body(std::integral_constant<std::uint64_t, 12>{});
    case 16: return body(std::integral_constant<std::uint64_t, 16>{});
    case 20: return body(std::integral_constant<std::uint64_t, 20>{});
    case 24: return body(std::integral_constant<std::uint64_t, 24>{});
    case 28: return body(std::integral_constant<std::uint64_t, 28>{});
    case 32: return body(std::integral_constant<std::uint64_t, 32>{});
    case 40: return body(std::integral_constant<std::uint64_t, 40>{});
    case 48: return body(std::integral_constant<std::uint64_t, 48>{});
    case 56: return body(std::integral_constant<std::uint64_t, 56>{});
    default: return body(std::integral_constant<std::uint64_t, 64>{});
  }
}

/// The local values and sums of a tile, in scratch.
struct tile_memory {
  std::uint64_t values_bytes;
  std::uint64_t bytes;

  tile_memory(const edge_sum_problem& p, const edge_tiles& tiles)
      : values_bytes(core::scratch_aligned(tiles.most_nodes * p.node_bytes())),
        bytes(values_bytes + core::scratch_aligned(tiles.most_nodes * p.result_bytes())) {}
};

/// A run over one tile: values come in, edges are summed in cache, sums of the tile's own nodes go out.
void run_tile(const edge_sum_problem& problem, const edge_sum_buffers& buffers, const edge_tiles& tiles,
              const detail::host_edge_function& function, std::uint64_t tile, std::byte* values, std::byte* sums) {
  const std::uint64_t begin = tile * tiles.tile_nodes;
  const std::uint64_t own = std::min(tiles.tile_nodes, tiles.nodes - begin);
  const auto* const halo_begins = tiles.halo_begins.as<std::uint64_t>();
  const std::uint64_t halo = halo_begins[tile + 1] - halo_begins[tile];
  const auto* const order = tiles.order.as<std::uint32_t>() + begin;
  with_bytes(problem.node_bytes(), [&](auto bytes) {
    const auto* const from = static_cast<const std::byte*>(buffers.values);
    gather_records<bytes>(from, order, own, values);
    gather_records<bytes>(from, tiles.halo.as<std::uint32_t>() + halo_begins[tile], halo, values + own * bytes);
  });
  std::memset(sums, 0, (own + halo) * problem.result_bytes());
  const std::uint64_t first_edge = tiles.edge_begins.as<std::uint64_t>()[tile];
  const std::uint64_t end_bytes = tiles.ends_are_wide ? 4 : 2;
  const host_edge_list edges{tiles.edge_begins.as<std::uint64_t>()[tile + 1] - first_edge,
                             tiles.first.data() + first_edge * end_bytes,
                             tiles.second.data() + first_edge * end_bytes,
                             1,
                             static_cast<std::uint32_t>(end_bytes),
                             buffers.weights,
                             problem.weight_components,
                             tiles.numbers.as<std::uint32_t>() + first_edge};
  function.sum(function.function, edges, values, sums, {0, own + halo}, true);
  with_bytes(problem.result_bytes(),
             [&](auto bytes) { scatter_records<bytes>(sums, order, own, static_cast<std::byte*>(buffers.result)); });
}

class tiled_edges final : public prepared_edges {
 public:
  explicit tiled_edges(edge_tiles tiles) : tiles_(std::move(tiles)) {}

  void run(const context& ctx, const edge_sum_problem& problem, const edge_sum_buffers& buffers) override {
    core::cpu_state& state = core::cpu(ctx);
    state.begin_call();
    const tile_memory memory(problem, tiles_);
    const std::uint64_t threads = std::min(parts_worth(problem.edges * (problem.edge_bytes() + problem.node_bytes()),
                                                       static_cast<std::uint64_t>(state.threads)),
                                           tiles_.tiles);
    const core::scratch scratch = plan::take_scratch(ctx, prepared_edge_sum_call, "cpu.tiles", threads * memory.bytes);
    const detail::host_edge_function function = function_of(problem, buffers);
    for_each_task(tiles_.tiles, threads, [&](std::uint64_t tile) {
      const std::uint64_t thread = threads == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num());
      std::byte* const values = scratch.data() + thread * memory.bytes;
      run_tile(problem, buffers, tiles_, function, tile, values, values + memory.values_bytes);
    });
  }
  std::uint64_t kept_bytes() const override { return tiles_.kept_bytes(); }
  std::string_view run_variant() const override { return "cpu.tiles"; }

 private:
  edge_tiles tiles_;
};

// Nodes of a tile are near each other, so that most edges have both ends in it. A run brings the values of a tile's
// nodes, and of those that its edges reach beyond it, into cache, in one random access each; all edges then find their
// ends there. An edge between two tiles is computed in both: in a box of tetrahedra, with
// 7 edges a node, a tile of n nodes has 1.7 n^(-1/3) more edges and 6 n^(-1/3) more nodes than its own. No sum has two
// writers, and each is made in the order of the edges.
plan::planned plan_tiles(const prepare_edge_sum_problem& problem, const plan::scope& scope) {
  const edge_sum_problem& sum = problem.sum;
  if (sum.nodes >> 32 != 0 || sum.edges >> 31 != 0) return plan::rejected("its tiles hold numbers of edges of 31 bits");
  if (sum.nodes == 0 || sum.edges == 0) return plan::rejected("there is nothing to put in order");
  const machine& machine = scope.machine;
  tile_sizes sizes;
  sizes.threads = threads_worth(sum, machine);
  constexpr std::uint64_t least_nodes = 256;
  constexpr std::uint64_t most_nodes = std::uint64_t{1} << 14;
  constexpr std::uint64_t tiles_per_thread = 4;
  const std::uint64_t share = sum.nodes / (tiles_per_thread * sizes.threads);
  sizes.tile_nodes = std::clamp(std::min(own_cache_bytes(machine) / 4 / (sum.node_bytes() + sum.result_bytes()), share),
                                least_nodes, most_nodes);
  const auto edges = static_cast<double>(sum.edges);
  const auto nodes = static_cast<double>(sum.nodes);
  const double more_edges = 1.2;
  const double more_nodes = 1.5;
  const double access = machine.random_reads(1, sum.node_bytes(), sum.nodes * sum.node_bytes()) * more_nodes +
                        machine.random_writes(1, sum.result_bytes(), sum.nodes * sum.result_bytes());
  const double streamed = edges * more_edges * (8 + static_cast<double>(sum.weight_components * sum.value_bytes())) /
                          machine.copy_bytes_per_second;
  const double run_seconds =
      machine.launch_seconds + machine.step_seconds +
      std::max(nodes * access + streamed, more_edges * contribution_seconds(sum, machine, sizes.threads));
  // The order of the nodes: four passes over keys, or three over the edges by one thread, at random. Then edges are
  // dealt to tiles by two passes that look up both ends, and once more to find their local numbers.
  const double look_up = machine.random_reads(1, 4, sum.nodes * 4) * machine.parallelism;
  plan::planned plan;
  plan.decided.set(prepare_edge_sum_decision{run_seconds});
  plan.inner_calls = std::make_shared<const tile_sizes>(sizes);
  plan.add("order", problem.dimensions > 0 ? nodes * 12 * digit_seconds(machine) : 4 * edges * look_up);
  plan.add("tiles", edges * (4 * look_up + 8 * digit_seconds(machine)) / static_cast<double>(sizes.threads));
  plan.add("runs", static_cast<double>(problem.expected_runs) * run_seconds);
  return plan;
}

void run_tiles(const context& ctx, const prepare_edge_sum_problem& problem, const plan::planned& plan,
               const prepare_edge_sum_buffers& buffers, std::byte*) {
  core::cpu_state& state = core::cpu(ctx);
  const tile_sizes sizes = plan.inner<tile_sizes>();
  const std::uint64_t call = state.begin_call();
  const std::uint64_t bad = find_bad_end(problem.sum, buffers.edges, sizes.threads);
  if (bad != no_edge) {
    return state.keep_first(bad_end_of(problem.sum, buffers.edges, bad, edge_call::prepare_edge_sum, call));
  }
  buffer order = edge_memory(ctx, "numbers of the nodes", problem.sum.nodes * 4);
  if (problem.dimensions > 0) {
    order_by_place(ctx, problem, buffers.coordinates, order.as<std::uint32_t>());
  } else {
    const buffer memory = edge_memory(ctx, "neighbours of the nodes", graph::order_scratch_bytes(problem.sum));
    graph::grow_order(problem.sum, buffers.edges, sizes.tile_nodes, memory.data(), order.as<std::uint32_t>());
  }
  *buffers.made = std::make_shared<tiled_edges>(
      build_tiles(ctx, problem.sum, buffers.edges, std::move(order), sizes.tile_nodes, sizes.threads));
}

}  // namespace

extern constinit const prepare_edge_sum_variant prepare_edge_sum_tiles{"cpu.tiles", backend_kind::cpu, plan_tiles,
                                                                       run_tiles};

}  // namespace sheaf::cpu
