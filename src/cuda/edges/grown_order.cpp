#include <new>

#include <fmt/format.h>

#include "core/scratch_offsets.hpp"
#include "cuda/device/state.hpp"
#include "cuda/edges/cost.hpp"
#include "cuda/edges/node_order.hpp"
#include "primitives/edges/node_order.hpp"

namespace sheaf::cuda {
namespace {

using primitives::edge_sum_problem;

/// Where the arrays begin in host memory.
struct host_layout {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t order = 0;
  std::uint64_t scratch = 0;
  std::uint64_t bytes = 0;

  host_layout(const edge_sum_problem& problem, std::uint64_t extent, bool are_pairs) noexcept {
    core::scratch_offsets place;
    first = place.take(extent);
    second = are_pairs ? first + sheaf::bytes(problem.index) : place.take(extent);
    order = place.take(problem.nodes * sizeof(std::uint32_t));
    scratch = place.take(graph::order_scratch_bytes(problem));
    bytes = place.bytes();
  }
};

std::unique_ptr<std::byte[]> host_memory(std::uint64_t bytes) {
  std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[bytes]);
  if (memory != nullptr) return memory;
  throw error(error_code::out_of_memory,
              fmt::format("{}: ends of the edges and neighbours of the nodes take {} bytes of host memory, which are "
                          "not available",
                          primitives::prepare_edge_sum_call, bytes));
}

struct grown_order_tuning {
  // Of one thread: it reads the ends twice, counts and writes both at random, and follows them at random. 10^7 edges
  // whose nodes are at random take 64 to 82 ns each on an AMD EPYC; a launch takes 9.7 us in the profile of an H200,
  // and of more edges less is in cache.
  double edges_per_launch = 100;
};

}  // namespace

bool is_order_grown(const primitives::prepare_edge_sum_problem& p) noexcept {
  return p.dimensions == 0 && !is_local(p.sum);
}

void grow_node_order(const context& ctx, const edge_sum_problem& problem, const edge_view& edges,
                     std::uint64_t part_nodes, std::uint32_t* order) {
  const std::uint64_t end_bytes = bytes(problem.index);
  const auto* const first = static_cast<const std::byte*>(edges.first);
  const bool are_pairs = edges.stride == 2 && edges.second == first + end_bytes;
  // From the first end of an array to the last. Of pairs, the other end of the last edge lies behind it.
  const std::uint64_t extent = ((problem.edges - 1) * edges.stride + (are_pairs ? 2 : 1)) * end_bytes;
  const host_layout layout(problem, extent, are_pairs);
  const std::unique_ptr<std::byte[]> memory = host_memory(layout.bytes);
  core::context_state& state = ctx.state();
  state.copy(memory.get() + layout.first, edges.first, extent);
  if (!are_pairs) state.copy(memory.get() + layout.second, edges.second, extent);
  const edge_view on_host(memory.get() + layout.first, memory.get() + layout.second, problem.edges, edges.stride,
                          problem.index);
  auto* const grown = reinterpret_cast<std::uint32_t*>(memory.get() + layout.order);
  graph::grow_order(problem, on_host, part_nodes, memory.get() + layout.scratch, grown);
  state.copy(order, grown, problem.nodes * sizeof(std::uint32_t));
}

double grown_order_seconds(const edge_sum_problem& p, const machine& m) {
  return static_cast<double>(p.edges) * m.launch_seconds / grown_order_tuning{}.edges_per_launch;
}

}  // namespace sheaf::cuda
