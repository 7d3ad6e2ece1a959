#pragma once

#include "primitives/edges/edge_sum.hpp"

// What sums over edges cost on a CPU. Constants are multiples of digit_seconds(), which is 2 ns on the machine that
// they were measured on (src/cpu/edges/README.md).
namespace sheaf::cpu {

/// Threads that the bytes of a sum are worth.
std::uint64_t threads_worth(const primitives::edge_sum_problem& problem, const machine& machine) noexcept;

/// 1 where the caller says that neighbours in the list of edges are near each other in memory, 0 where they are not,
/// and half where nobody says.
double local_share(const primitives::edge_sum_problem& problem) noexcept;

/// Seconds to stream ends, weights and the result once.
double streamed_seconds(const primitives::edge_sum_problem& problem, const machine& machine);
/// Seconds to read the values of both ends of all edges.
double value_seconds(const primitives::edge_sum_problem& problem, const machine& machine);
/// Seconds to add to the sums of both ends of all edges.
double result_seconds(const primitives::edge_sum_problem& problem, const machine& machine);
/// Seconds to make and add the contributions of all edges with values and sums in cache.
double contribution_seconds(const primitives::edge_sum_problem& problem, const machine& machine, std::uint64_t threads);
/// Seconds in which a thread asks of all edges whose ends they are.
double ownership_seconds(const primitives::edge_sum_problem& problem, const machine& machine);

}  // namespace sheaf::cpu
