#pragma once

#include "cuda/sparse/solvers/system.hpp"
#include "cuda/sparse/sums/row_products.cuh"

// Steps of conjugate gradient over vectors, as parts of kernels. Sums are of f64 whatever the values are.
namespace sheaf::cuda {

/// What kernels know of vectors; passed by value.
template <class Value>
struct system_vectors {
  static constexpr std::uint64_t most_sums = 6;  ///< of a phase and of the next

  const Value* b;
  Value* x[2];  ///< the caller's, and another for an x that is not the best
  Value* r;
  Value* p;
  Value* q;
  Value* inverse;  ///< of the diagonal; null without a preconditioner
  double* sums;    ///< most_sums arrays, one number for each tile
  std::uint64_t rows;
  std::uint64_t tile_rows;
  std::uint64_t tiles;
  solver_memory* memory;
  primitives::conjugate_gradient_goals goals;

  __device__ solver_state& state() const { return memory->state; }
  __device__ double* sum(int i) const { return sums + static_cast<std::uint64_t>(i) * tiles; }
};

/// The vectors of a system, which lie in scratch but for the caller's.
/// @param tile_rows  rows of a tile
template <class Value>
system_vectors<Value> vectors_in(const conjugate_gradient_problem& problem, const conjugate_gradient_buffers& buffers,
                                 std::uint64_t tile_rows, core::scratch_arrays& place) {
  system_vectors<Value> vectors{};
  vectors.rows = problem.product.rows;
  vectors.tile_rows = tile_rows;
  vectors.tiles = ceil_div(vectors.rows, tile_rows);
  vectors.goals = buffers.goals;
  vectors.memory = place.take<solver_memory>(1);
  vectors.b = static_cast<const Value*>(buffers.b);
  vectors.r = place.take<Value>(vectors.rows);
  vectors.p = place.take<Value>(vectors.rows);
  vectors.q = place.take<Value>(vectors.rows);
  vectors.x[0] = static_cast<Value*>(buffers.x);
  if (!problem.keeps_last) vectors.x[1] = place.take<Value>(vectors.rows);
  if (problem.has_jacobi) vectors.inverse = place.take<Value>(vectors.rows);
  vectors.sums = place.take<double>(vectors.most_sums * vectors.tiles);
  return vectors;
}

/// Takes the vectors' place, for a plan.
inline void take_vectors(const conjugate_gradient_problem& p, std::uint64_t tile_rows, core::scratch_arrays& place) {
  with_product_types(p.product,
                     [&]<class Types>(Types) { vectors_in<typename Types::value>(p, {}, tile_rows, place); });
}

/// Whether something is wrong with the matrix.
__device__ inline bool is_faulty(const solver_state& s) {
  return (s.is_faulty[solver_state::diagonal] | s.is_faulty[solver_state::start] |
          s.is_faulty[solver_state::iterations]) != 0;
}

/// Whether kernels have nothing more to do.
__device__ inline bool is_over(const solver_state& s) { return is_faulty(s) || s.steps.is_done(); }

/// Notes whether the next product is wanted.
__device__ inline void note_products(solver_state& s) {
  s.skips_products = is_over(s) || s.steps.wants_confirmation() ? 1 : 0;
}

/// fma in the type of the sums, spelt out, because a value that two threads compute must have the same bits.
template <class Sum, class Value>
__device__ __forceinline__ Value added(double factor, Value times, Sum to) {
  return static_cast<Value>(fma(static_cast<Sum>(factor), static_cast<Sum>(times), to));
}

/// z[i], the residual with its preconditioner.
template <class Sum, class Value>
__device__ __forceinline__ Sum z_at(const system_vectors<Value>& v, std::uint64_t i) {
  const Sum r = static_cast<Sum>(v.r[i]);
  return v.inverse == nullptr ? r : r * static_cast<Sum>(v.inverse[i]);
}

/// z[i] + beta p[i]; with beta 0 p is not read.
template <class Sum, class Value>
__device__ __forceinline__ Value next_direction(const system_vectors<Value>& v, const Value* p, double beta,
                                                std::uint64_t i) {
  const Sum z = z_at<Sum>(v, i);
  return beta == 0 ? static_cast<Value>(z) : added<Sum>(beta, p[i], z);
}

/// What is summed of a row.
template <unsigned Count>
struct row_sums {
  double sum[Count];
};

/// Sums of the tiles [first, last), which are a block's: a warp for each tile. of_row(row) does a row's work and
/// returns what is to be summed; one lane has take(tile, sums).
template <unsigned Threads, unsigned Count, class Value, class OfRow, class Take>
__device__ __forceinline__ void for_tile_sums(const system_vectors<Value>& vectors, std::uint64_t first,
                                              std::uint64_t last, OfRow of_row, Take take) {
  const unsigned lane = threadIdx.x % 32;
  for (std::uint64_t tile = first + threadIdx.x / 32; tile < last; tile += Threads / 32) {
    const std::uint64_t begin = tile * vectors.tile_rows;
    const std::uint64_t end = min(vectors.rows, begin + vectors.tile_rows);
    row_sums<Count> sums{};
#pragma unroll 4
    for (std::uint64_t row = begin + lane; row < end; row += 32) {
      const row_sums<Count> found = of_row(row);
#pragma unroll
      for (unsigned k = 0; k < Count; ++k) sums.sum[k] += found.sum[k];
    }
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) sums.sum[k] = sum_of_lanes<32>(sums.sum[k]);
    if (lane == 0) take(tile, sums);
  }
}

/// The same, where the sums of a tile go to the arrays `into`, `into` + 1, ...
template <unsigned Threads, unsigned Count, class Value, class OfRow>
__device__ __forceinline__ void sum_tiles_of(const system_vectors<Value>& v, int into, std::uint64_t first,
                                             std::uint64_t last, OfRow of_row) {
  for_tile_sums<Threads, Count>(v, first, last, of_row, [&](std::uint64_t tile, const row_sums<Count>& sums) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) v.sum(into + static_cast<int>(k))[tile] = sums.sum[k];
  });
}

/// The sums of all tiles of the arrays `from`, `from` + 1, ..., in every block in one order. Thread 0 has them.
template <unsigned Threads, unsigned Count, class Value>
__device__ __forceinline__ row_sums<Count> total_of_tiles(const system_vectors<Value>& vectors, int from) {
  constexpr unsigned warps = Threads / 32;
  __shared__ double of_warp[Count][warps];
  row_sums<Count> sums{};
#pragma unroll 8
  for (std::uint64_t tile = threadIdx.x; tile < vectors.tiles; tile += Threads) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) sums.sum[k] += __ldcg(vectors.sum(from + static_cast<int>(k)) + tile);
  }
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < Count; ++k) {
    sums.sum[k] = sum_of_lanes<32>(sums.sum[k]);
    if (threadIdx.x % 32 == 0) of_warp[k][threadIdx.x / 32] = sums.sum[k];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned k = 0; k < Count; ++k) {
      sums.sum[k] = 0;
#pragma unroll
      for (unsigned w = 0; w < warps; ++w) sums.sum[k] += of_warp[k][w];
    }
  }
  __syncthreads();
  return sums;
}

/// The residual's own sums: r.r and r.z.
template <class Sum, class Value>
__device__ __forceinline__ row_sums<2> sums_of_residual(const system_vectors<Value>& v, Value r, std::uint64_t i) {
  const double squared = static_cast<double>(r) * static_cast<double>(r);
  return {{squared, v.inverse == nullptr ? squared : squared * static_cast<double>(v.inverse[i])}};
}

/// r -= alpha q of row i, and its sums.
template <class Sum, class Value>
__device__ __forceinline__ row_sums<2> step_residual_at(const system_vectors<Value>& v, double alpha, Value q,
                                                        std::uint64_t i) {
  const Value r = added<Sum>(-alpha, q, static_cast<Sum>(v.r[i]));
  v.r[i] = r;
  return sums_of_residual<Sum>(v, r, i);
}

/// The numbers of a vector that are not 0, and squares of b.
template <class Value>
__device__ __forceinline__ row_sums<3> sums_of_start(const system_vectors<Value>& v, std::uint64_t i) {
  const auto b = static_cast<double>(v.b[i]);
  return {{b * b, b != 0 ? 1.0 : 0.0, v.x[0][i] != 0 ? 1.0 : 0.0}};
}

// What one thread decides once sums are complete.

template <class Value>
__device__ void take_start_sums(const system_vectors<Value>& v, solver_state& s, const row_sums<3>& sums) {
  s.steps = primitives::conjugate_gradient_steps(v.goals, sums.sum[0]);
  s.b_squared = sums.sum[0];
  s.b_is_zero = sums.sum[1] == 0 ? 1 : 0;
  s.x_is_zero = sums.sum[2] == 0 ? 1 : 0;
}

/// After the residual of the start value, if b is not 0.
__device__ inline void take_start_residual(solver_state& s, const row_sums<2>& sums) {
  if (s.b_is_zero != 0) return s.steps.end(stop_reason::converged);
  const bool has_bad_diagonal = s.has_bad_diagonal != 0;
  s.steps.start(s.b_squared, sums.sum[0], has_bad_diagonal ? 0 : sums.sum[1]);
  if (has_bad_diagonal && !s.steps.is_done()) s.steps.end(stop_reason::not_positive_definite);
}

template <class Value>
__device__ void keep_history(const system_vectors<Value>& v, const solver_state& s) {
  v.memory->history[s.steps.iterations() % history_entries] = s.steps.norm();
}

}  // namespace sheaf::cuda
