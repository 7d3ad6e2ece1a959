#pragma once

#include "cuda/sparse/solvers/system.cuh"

// Kernels of conjugate gradient over vectors, queued one after another: the block that ends last adds the tiles and
// decides what follows.
namespace sheaf::cuda {

/// Whether the blocks of a kernel end at once: the same for all threads of a block.
template <class Value>
__device__ __forceinline__ bool block_ends(const system_vectors<Value>& v, bool waits_for_confirmation = true) {
  int ends = 0;
  if (threadIdx.x == 0) {
    const solver_state& s = v.state();
    ends = is_over(s) || (waits_for_confirmation && s.steps.wants_confirmation()) ? 1 : 0;
  }
  return __syncthreads_or(ends) != 0;
}

/// Whether this block of a kernel is the last to come here; what the others wrote is there then.
__device__ inline bool is_last_block(solver_state& state) {
  __shared__ bool is_last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&state.ended_blocks, 1U) == gridDim.x - 1;
    if (is_last) state.ended_blocks = 0;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

/// Adds the tiles in the last block, and gives the sums to take(sums) in one thread.
template <unsigned Count, unsigned Threads = block_threads, class Value, class Take>
__device__ __forceinline__ void finish_sums(const system_vectors<Value>& v, int from, Take take) {
  if (!is_last_block(v.state())) return;
  const row_sums<Count> sums = total_of_tiles<Threads, Count>(v, from);
  if (threadIdx.x == 0) take(sums);
}

/// The tiles of a kernel's warps.
template <unsigned Count, class Value, class OfRow>
__device__ __forceinline__ void sum_all_tiles(const system_vectors<Value>& v, int into, OfRow of_row) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * warps_of_a_block;
  for (std::uint64_t tile = first; tile < v.tiles; tile += std::uint64_t{gridDim.x} * warps_of_a_block) {
    sum_tiles_of<block_threads, Count>(v, into, tile, min(v.tiles, tile + warps_of_a_block), of_row);
  }
}

template <class Body, class Value>
__device__ __forceinline__ void for_rows(const system_vectors<Value>& v, Body body) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * block_threads;
#pragma unroll 4
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; i < v.rows; i += step) body(i);
}

/// |b|, and whether b and x are 0.
template <class Value>
__global__ void __launch_bounds__(block_threads) begin_system(const __grid_constant__ system_vectors<Value> v) {
  sum_all_tiles<3>(v, 0, [&](std::uint64_t i) { return sums_of_start(v, i); });
  finish_sums<3>(v, 0, [&](const row_sums<3>& sums) { take_start_sums(v, v.state(), sums); });
}

/// Takes p.q once all tiles have theirs.
template <unsigned Threads, class Value>
__device__ __forceinline__ void finish_curvature(const system_vectors<Value>& v) {
  finish_sums<1, Threads>(v, 0, [&](const row_sums<1>& sums) {
    v.state().steps.take_curvature(sums.sum[0]);
    note_products(v.state());
  });
}

/// p.q, where the product was made by others.
template <class Value>
__global__ void __launch_bounds__(block_threads) sum_curvature(const __grid_constant__ system_vectors<Value> v) {
  if (block_ends(v)) return;
  sum_all_tiles<1>(
      v, 0, [&](std::uint64_t i) { return row_sums<1>{{static_cast<double>(v.p[i]) * static_cast<double>(v.q[i])}}; });
  finish_curvature<block_threads>(v);
}

/// r -= alpha q, r.r and r.z.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads) step_residual(const __grid_constant__ system_vectors<Value> vectors) {
  if (block_ends(vectors)) return;
  const double alpha = vectors.state().steps.alpha();
  sum_all_tiles<2>(vectors, 0, [&](std::uint64_t i) { return step_residual_at<Sum>(vectors, alpha, vectors.q[i], i); });
  finish_sums<2>(vectors, 0, [&](const row_sums<2>& sums) {
    solver_state& state = vectors.state();
    const bool has_step = state.steps.take_residual(sums.sum[0], sums.sum[1]);
    note_products(state);
    if (!has_step) return;
    state.has_step = 1;
    keep_history(vectors, state);
  });
}

/// x += alpha p and p = z + beta p. Before a confirmation p stays as it is.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads) step_vectors(const __grid_constant__ system_vectors<Value> vectors) {
  solver_state& state = vectors.state();
  if (state.has_step != 1) return;
  const bool steps_direction = !state.steps.wants_confirmation();
  const double alpha = state.steps.alpha();
  const double beta = state.steps.beta();
  const Value* const from = vectors.x[state.steps.current()];
  Value* const to = vectors.x[state.steps.next()];
  Value* const p = vectors.p;
  for_rows(vectors, [&](std::uint64_t i) {
    const Value direction = p[i];
    to[i] = added<Sum>(alpha, direction, static_cast<Sum>(from[i]));
    if (!steps_direction) return;
    const Sum z = z_at<Sum>(vectors, i);
    p[i] = beta == 0 ? static_cast<Value>(z) : added<Sum>(beta, direction, z);
  });
  if (!is_last_block(state) || threadIdx.x != 0) return;
  state.has_step = 0;
  if (steps_direction) state.steps.end_step();
}

/// Directions go on, or begin anew, from a residual that was confirmed.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    restart_direction(const __grid_constant__ system_vectors<Value> vectors) {
  solver_state& state = vectors.state();
  if (state.has_step != 2) return;
  const double beta = state.steps.beta();
  if (!state.steps.is_done()) {
    for_rows(vectors, [&](std::uint64_t i) { vectors.p[i] = next_direction<Sum>(vectors, vectors.p, beta, i); });
  }
  if (!is_last_block(state) || threadIdx.x != 0) return;
  state.has_step = 0;
  state.steps.end_step();
  note_products(state);
}

/// Takes the sums of the residual of the x that a step made.
__device__ inline void take_confirmation(solver_state& s, const row_sums<2>& sums) {
  s.steps.confirm(sums.sum[0], sums.sum[1]);
  s.has_step = 2;
}

static __global__ void end_system(solver_memory* memory, stop_reason reason) {
  if (!is_over(memory->state)) memory->state.steps.end(reason);
}

/// Blocks of a kernel over all rows: enough for every multiprocessor, and few where nothing is to be done.
inline std::uint64_t blocks_of_system(const context& ctx, std::uint64_t most) {
  constexpr std::uint64_t blocks_of_a_multiprocessor = 16;
  return std::min(most, blocks_of_a_multiprocessor * static_cast<std::uint64_t>(state_of(ctx).multiprocessors()));
}

/// Queues a kernel whose warps take tiles.
template <class Value, class... Parameters, class... Arguments>
void queue_over_tiles(const context& ctx, void (*kernel)(system_vectors<Value>, Parameters...),
                      const system_vectors<Value>& v, const Arguments&... arguments) {
  launch(ctx, kernel, blocks_of_system(ctx, ceil_div(v.tiles, warps_of_a_block)), v, arguments...);
}

template <class Value, class... Parameters, class... Arguments>
void queue_over_rows(const context& ctx, void (*kernel)(system_vectors<Value>, Parameters...),
                     const system_vectors<Value>& v, const Arguments&... arguments) {
  launch(ctx, kernel, blocks_of_system(ctx, ceil_div(v.rows, block_threads)), v, arguments...);
}

}  // namespace sheaf::cuda
