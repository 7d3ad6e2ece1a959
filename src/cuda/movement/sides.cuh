#pragma once

#include "cuda/movement/copy/records.cuh"
#include "cuda/movement/memory_cost.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

// What differs between a gather and a scatter, for the variants that are one technique in two directions.
namespace sheaf::cuda {

template <direction Direction>
using problem_of =
    std::conditional_t<Direction == direction::gather, primitives::gather_problem, primitives::scatter_problem>;
template <direction Direction>
using buffers_of =
    std::conditional_t<Direction == direction::gather, primitives::gather_buffers, primitives::scatter_buffers>;

/// The arguments of a call's kernels, which report bad indices as the call's.
template <direction Direction>
move_arguments arguments_of(const context& ctx, const problem_of<Direction>& problem,
                            const buffers_of<Direction>& buffers) {
  if constexpr (Direction == direction::gather) {
    const index_guard guard = state_of(ctx).guard(primitives::gather_wording, problem.index, problem.indexed_count);
    return arguments_of(problem, buffers.table.data, buffers.out.data, buffers.index, guard);
  } else {
    const index_guard guard = state_of(ctx).guard(primitives::scatter_wording, problem.index, problem.indexed_count);
    return arguments_of(problem, buffers.in.data, buffers.out.data, buffers.index, guard);
  }
}

/// Why records that move at once, in no order, cannot do what is asked; null if they can.
inline const char* order_rejection(const primitives::gather_problem&) { return nullptr; }
inline const char* order_rejection(const primitives::scatter_problem& p) {
  return p.duplicates == duplicates::last ? "any writer may win" : nullptr;
}

/// The cost of a movement's accesses, and of those in passes over the index (memory_cost.hpp).
template <direction Direction>
memory_cost cost_of(const primitives::movement& p, const machine& m) {
  return Direction == direction::gather ? gather_cost(p, m) : scatter_cost(p, m);
}
template <direction Direction>
plan::planned plan_of(const memory_cost& cost, const machine& m) {
  return to_plan(cost, m, Direction == direction::scatter);
}

}  // namespace sheaf::cuda
