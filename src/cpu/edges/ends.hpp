#pragma once

#include "core/cpu_state.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "primitives/edges/ends.hpp"

namespace sheaf::cpu {

using detail::host_edge_list;
using detail::host_node_range;
using graph::end_arrays;
using graph::with_ends;

/// The function that contributes: the caller's, or the built-in one of the problem.
detail::host_edge_function function_of(const primitives::edge_sum_problem& problem,
                                       const primitives::edge_sum_buffers& buffers);

/// Edges that are looked at together, before they are summed.
constexpr std::uint64_t chunk_edges = 256;

constexpr std::uint64_t no_edge = ~std::uint64_t{0};

/// The run of a sum: sum(ends) -> the first edge that has a bad end, which is reported.
template <class Sum>
void sum_checked(const context& ctx, const primitives::edge_sum_problem& problem,
                 const primitives::edge_sum_buffers& buffers, Sum sum) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const std::uint64_t bad = with_ends(problem, buffers.edges, sum);
  if (bad != no_edge) state.keep_first(bad_end_of(problem, buffers.edges, bad, primitives::edge_call::edge_sum, call));
}

/// Edges whose contributions are made and added together.
template <class Node>
class edge_chunk {
 public:
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t room() const noexcept { return chunk_edges - count_; }
  void clear() noexcept { count_ = 0; }
  /// Adds an edge where `is_kept`; there is room.
  void put_if(bool is_kept, Node from, Node to, std::uint32_t offset) noexcept {
    first_[count_] = from;
    second_[count_] = to;
    offset_[count_] = offset;
    count_ += is_kept ? 1 : 0;
  }
  const Node* first() const noexcept { return first_; }
  const Node* second() const noexcept { return second_; }
  const std::uint32_t* offset() const noexcept { return offset_; }

 private:
  // One more than there is room for: an edge that is not kept is written there, too.
  alignas(line_bytes) Node first_[chunk_edges + 1];
  alignas(line_bytes) Node second_[chunk_edges + 1];
  alignas(line_bytes) std::uint32_t offset_[chunk_edges + 1];
  std::uint64_t count_ = 0;
};

/// The weights of an edge and of those that follow it, in the caller's array.
inline const void* weights_from(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b,
                                std::uint64_t edge) {
  if (b.weights == nullptr) return nullptr;
  return static_cast<const std::byte*>(b.weights) + edge * p.weight_components * p.value_bytes();
}

/// The edges of a chunk as a list, with weights from edge `base` on.
template <class Node>
host_edge_list list_of(const primitives::edge_sum_problem& p, const primitives::edge_sum_buffers& b,
                       const edge_chunk<Node>& chunk, std::uint64_t base) {
  return {chunk.count(),       chunk.first(), chunk.second(), 1, sizeof(Node), weights_from(p, b, base),
          p.weight_components, chunk.offset()};
}

/// Edges in the caller's arrays as a list. Their ends are nodes.
template <class End>
host_edge_list list_of(const primitives::edge_sum_problem& problem, const primitives::edge_sum_buffers& buffers,
                       const end_arrays<End>& ends, std::uint64_t begin, std::uint64_t end) {
  return {end - begin, ends.first + begin * ends.stride,      ends.second + begin * ends.stride, ends.stride,
          sizeof(End), weights_from(problem, buffers, begin), problem.weight_components,         nullptr};
}

}  // namespace sheaf::cpu
