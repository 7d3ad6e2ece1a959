#pragma once

#include "primitives/edges/edge_sum.hpp"

// What sums over edges cost on a CUDA device, from the rates of its profile.
namespace sheaf::cuda {

/// Whether the caller says that neighbours in the list of edges are near each other in memory.
bool is_local(const primitives::edge_sum_problem& problem) noexcept;

/// Seconds to read `count` values of nodes that ends name.
double value_seconds(const primitives::edge_sum_problem& problem, std::uint64_t count, const machine& machine);
/// Values from a node's sum to the next's, to which atomics add: as many as f32 of three components and more take in
/// atomics of four words, if there are enough edges, else the components.
std::uint32_t atomic_sum_values(const primitives::edge_sum_problem& problem) noexcept;
/// Seconds of the atomics of all edges.
double atomic_seconds(const primitives::edge_sum_problem& problem, const machine& machine);
/// Seconds to make and add `count` contributions with all values at hand.
double contribution_seconds(const primitives::edge_sum_problem& problem, std::uint64_t count, const machine& machine);
/// Seconds to read the weights of `count` entries that name edges.
double weight_seconds(const primitives::edge_sum_problem& problem, std::uint64_t count, const machine& machine);

}  // namespace sheaf::cuda
