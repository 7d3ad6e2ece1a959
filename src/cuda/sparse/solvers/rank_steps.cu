#include "primitives/sparse/rank_steps.hpp"

#include "cuda/sparse/solvers/system_kernels.cuh"

// What conjugate gradient between ranks does with the vectors of one rank. A warp sums a block of rows; one block of
// threads adds the sums of all ranks' blocks, whose number and order follow from the size of the whole system, and
// decides what follows. So all ranks, on any number of devices, come to the same scalars.
namespace sheaf::cuda {
namespace {

using primitives::conjugate_gradient_goals;
using primitives::most_rank_sums;
using primitives::rank_block_rows;
using primitives::rank_state;
using primitives::rank_sums;
using primitives::rank_system;

/// The vectors of one rank, whose tiles are its blocks. They have neither sums nor scalars of their own.
template <class Value>
system_vectors<Value> vectors_of(const rank_system& system) {
  system_vectors<Value> vectors{};
  vectors.b = static_cast<const Value*>(system.b);
  for (int i = 0; i < 2; ++i) vectors.x[i] = static_cast<Value*>(system.x[i]);
  vectors.r = static_cast<Value*>(system.r);
  vectors.p = static_cast<Value*>(system.p);
  vectors.q = static_cast<Value*>(system.q);
  if (system.has_jacobi) vectors.inverse = static_cast<Value*>(system.inverse);
  vectors.rows = system.product.rows;
  vectors.tile_rows = rank_block_rows;
  vectors.tiles = system.blocks;
  return vectors;
}

/// Sums the blocks of a rank, and writes the first `count` sums of each side by side.
template <unsigned Most, class Value, class OfRow>
__device__ __forceinline__ void sum_blocks(const system_vectors<Value>& v, unsigned count, double* to, OfRow of_row) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * warps_of_a_block;
  for (std::uint64_t block = first; block < v.tiles; block += std::uint64_t{gridDim.x} * warps_of_a_block) {
    for_tile_sums<block_threads, Most>(v, block, min(v.tiles, block + warps_of_a_block), of_row,
                                       [&](std::uint64_t of, const row_sums<Most>& sums) {
#pragma unroll
                                         for (unsigned k = 0; k < Most; ++k) {
                                           if (k < count) to[of * count + k] = sums.sum[k];
                                         }
                                       });
  }
}

/// Of b, x and the diagonal, whose inverse takes its place.
template <class Value>
__global__ void __launch_bounds__(block_threads)
    sum_start_values(const __grid_constant__ system_vectors<Value> v, double* to) {
  sum_blocks<most_rank_sums>(v, most_rank_sums, to, [&](std::uint64_t i) {
    const row_sums<3> of_vectors = sums_of_start(v, i);
    double is_bad = 0;
    if (v.inverse != nullptr) {
      const Value diagonal = v.inverse[i];
      v.inverse[i] = Value{1} / diagonal;
      is_bad = diagonal > 0 ? 0 : 1;
    }
    return row_sums<most_rank_sums>{{of_vectors.sum[0], of_vectors.sum[1], of_vectors.sum[2], is_bad}};
  });
}

/// Of a residual that was made by others; at the start p = z.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    sum_given_residual(const __grid_constant__ system_vectors<Value> v, const Value* residual, bool starts,
                       unsigned count, double* to) {
  sum_blocks<2>(v, count, to, [&](std::uint64_t i) {
    if (starts) v.p[i] = static_cast<Value>(z_at<Sum>(v, i));
    return sums_of_residual<Sum>(v, residual[i], i);
  });
}

template <class Value>
__global__ void __launch_bounds__(block_threads)
    sum_curvature_of_blocks(const __grid_constant__ system_vectors<Value> v, const rank_state* state, double* to) {
  if (state->waits_for_host()) return;
  sum_blocks<1>(v, 1, to, [&](std::uint64_t i) {
    return row_sums<1>{{static_cast<double>(v.p[i]) * static_cast<double>(v.q[i])}};
  });
}

/// r -= alpha q, and its sums.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    step_residual_of_blocks(const __grid_constant__ system_vectors<Value> v, const rank_state* state, unsigned count,
                            double* to) {
  if (state->waits_for_host()) return;
  const double alpha = state->steps.alpha();
  sum_blocks<2>(v, count, to, [&](std::uint64_t i) { return step_residual_at<Sum>(v, alpha, v.q[i], i); });
}

constexpr unsigned adding_threads = 1024;

/// Adds the sums of all blocks: each thread every so manieth, then lanes, then warps in their order.
template <unsigned Count>
__global__ void __launch_bounds__(adding_threads)
    take_sums(const double* sums, std::uint64_t blocks, rank_sums what,
              const __grid_constant__ conjugate_gradient_goals goals, rank_state* state) {
  constexpr unsigned warps = adding_threads / 32;
  __shared__ double of_warp[Count][warps];
  row_sums<Count> own{};
#pragma unroll 8
  for (std::uint64_t block = threadIdx.x; block < blocks; block += adding_threads) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) own.sum[k] += sums[block * Count + k];
  }
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < Count; ++k) {
    own.sum[k] = sum_of_lanes<32>(own.sum[k]);
    if (threadIdx.x % 32 == 0) of_warp[k][threadIdx.x / 32] = own.sum[k];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  double all[most_rank_sums]{};
#pragma unroll
  for (unsigned k = 0; k < Count; ++k) {
    for (unsigned w = 0; w < warps; ++w) all[k] += of_warp[k][w];
  }
  if (Count == 1) all[1] = all[0];  // z = r
  state->take(what, goals, all);
}

template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    step_vectors_of_rank(const __grid_constant__ system_vectors<Value> v, const rank_state* state) {
  const bool has_step = state->has_step != 0;
  const bool has_direction = state->has_direction != 0;
  if (!has_step && !has_direction) return;
  const double alpha = state->alpha;
  const double beta = state->beta;
  const Value* const from = v.x[state->from];
  Value* const to = v.x[state->to];
  for_rows(v, [&](std::uint64_t i) {
    const Value direction = v.p[i];
    if (has_step) to[i] = added<Sum>(alpha, direction, static_cast<Sum>(from[i]));
    if (!has_direction) return;
    const Sum z = z_at<Sum>(v, i);
    v.p[i] = beta == 0 ? static_cast<Value>(z) : added<Sum>(beta, direction, z);
  });
}

/// A warp for each row.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    read_diagonal_of_rows(const __grid_constant__ row_offsets rows, const Column* columns, const Value* values,
                          std::uint64_t first_row, Value* diagonal) {
  const std::uint64_t row = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (row >= rows.rows) return;
  Value sum = 0;
  for (std::uint64_t place = rows.begin(row) + threadIdx.x % 32, end = rows.end(row); place < end; place += 32) {
    if (columns[place] == first_row + row) sum += values[place];
  }
  __syncwarp();
  sum = sum_of_lanes<32>(sum);
  if (threadIdx.x % 32 == 0) diagonal[row] = sum;
}

void read_diagonal(const context& ctx, const rank_system& system, const csr_view& a, std::uint64_t first_row) {
  if (system.blocks == 0) return;
  const device_scope scope(ctx.device());
  with_product_types(system.product, [&]<class Types>(Types) {
    using value = typename Types::value;
    using column = typename Types::column;
    launch(ctx, read_diagonal_of_rows<value, column>, ceil_div(a.rows, warps_of_a_block), offsets_of(system.product, a),
           static_cast<const column*>(a.column_indices.data), static_cast<const value*>(a.values.data), first_row,
           static_cast<value*>(system.inverse));
  });
}

void sum(const context& ctx, const rank_system& system, rank_sums what) {
  if (system.blocks == 0) return;
  const device_scope scope(ctx.device());
  const auto count = static_cast<unsigned>(system.count_of(what));
  double* const to = system.sums + system.first_block * count;
  const rank_state* const state = system.state;
  with_product_types(system.product, [&]<class Types>(Types) {
    using value = typename Types::value;
    using sum = typename Types::sum;
    const auto v = vectors_of<value>(system);
    switch (what) {
      case rank_sums::start_values: return queue_over_tiles(ctx, sum_start_values<value>, v, to);
      case rank_sums::curvature: return queue_over_tiles(ctx, sum_curvature_of_blocks<value>, v, state, to);
      case rank_sums::residual: return queue_over_tiles(ctx, step_residual_of_blocks<sum, value>, v, state, count, to);
      default: {
        const bool starts = what == rank_sums::start_residual;
        const value* const residual = what == rank_sums::result ? v.q : v.r;
        return queue_over_tiles(ctx, sum_given_residual<sum, value>, v, residual, starts, count, to);
      }
    }
  });
}

void take(const context& ctx, const rank_system& system, rank_sums what) {
  const device_scope scope(ctx.device());
  const std::uint64_t count = system.count_of(what);
  const auto kernel = count == 1 ? take_sums<1> : count == 2 ? take_sums<2> : take_sums<most_rank_sums>;
  launch_blocks(ctx, kernel, 1, adding_threads, static_cast<const double*>(system.sums), system.all_blocks, what,
                system.goals, system.state);
}

void queue_step(const context& ctx, const rank_system& system) {
  if (system.blocks == 0) return;
  const device_scope scope(ctx.device());
  with_product_types(system.product, [&]<class Types>(Types) {
    using value = typename Types::value;
    queue_over_rows(ctx, step_vectors_of_rank<typename Types::sum, value>, vectors_of<value>(system),
                    static_cast<const rank_state*>(system.state));
  });
}

}  // namespace

constinit const primitives::rank_steps steps_of_rank{read_diagonal, sum, take, queue_step};

}  // namespace sheaf::cuda
