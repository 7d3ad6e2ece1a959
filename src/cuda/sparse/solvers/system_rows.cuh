#pragma once

#include "cuda/sparse/solvers/matrix_rows.cuh"
#include "cuda/sparse/solvers/system.cuh"
#include "cuda/sparse/sums/row_products.cuh"

// Products by the rows of a system's matrix, as parts of kernels. A row belongs to a group of lanes as in cuda.rows; a
// long one is its block's.
namespace sheaf::cuda {

template <class Value, class Column>
struct system_matrix {
  product_arguments<Value, Column> a;  ///< without x and y
  std::uint32_t lanes;                 ///< threads of a row

  /// Rows from these entries on are summed by a block.
  __device__ std::uint64_t long_entries() const { return std::uint64_t{128} * lanes; }
};

/// Sums the rows [first, last), at most as a block's, and gives each sum to take(row, sum) in one thread. of_entry has
/// the row, the column and the value. All threads of a block call this. Sets is_faulty where something is wrong with
/// the matrix, after a report.
template <unsigned Threads, class Sum, class Value, class Column, class OfEntry, class Take>
__device__ __forceinline__ void for_row_sums(const matrix_rows<Value, Column>& rows,
                                             const system_matrix<Value, Column>& m, std::uint32_t& is_faulty,
                                             std::uint64_t first, std::uint64_t last, OfEntry of_entry, Take take) {
  constexpr unsigned warps = Threads / 32;
  __shared__ unsigned long_rows[Threads];
  __shared__ unsigned long_count;
  __shared__ Sum of_warp[warps];
  const product_arguments<Value, Column>& a = m.a;
  const unsigned lanes = m.lanes;
  const unsigned groups = Threads / lanes;
  const unsigned lane = threadIdx.x % lanes;
  for (std::uint64_t base = first; base < last; base += groups) {
    const std::uint64_t row = base + threadIdx.x / lanes;
    const bool is_row = row < last;
    row_range r = is_row ? rows.range(row) : row_range{0, 0};
    if (!a.rows.is_row(r)) {
      if (lane == 0) {
        report_row(a.guard, a.rows, row);
        is_faulty = 1;
      }
      r = {0, 0};
    }
    const bool is_long = r.length() >= m.long_entries();
    bool is_bad = false;
    Sum sum = 0;
    if (!is_long) {
      sum = rows.template sum<Sum>(
          r, lane, lanes, [&](Column c, Sum value) { return of_entry(row, c, value); }, is_bad);
    }
    if (is_bad) {
      report_column(a.guard, a.columns, a.column_limit, r.begin, r.end, row);
      is_faulty = 1;
    }
    __syncwarp();
    for (unsigned d = lanes / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0U, sum, d, lanes);
    if (is_row && lane == 0 && !is_long) take(row, sum);
    if (__syncthreads_or(is_long ? 1 : 0) == 0) continue;
    if (threadIdx.x == 0) long_count = 0;
    __syncthreads();
    if (is_long && lane == 0) long_rows[atomicAdd(&long_count, 1U)] = static_cast<unsigned>(row - base);
    __syncthreads();
    for (unsigned i = 0; i < long_count; ++i) {
      const std::uint64_t of = base + long_rows[i];
      const row_range places = rows.range(of);
      bool is_bad_here = false;
      Sum part = rows.template sum<Sum>(
          places, threadIdx.x, Threads, [&](Column c, Sum value) { return of_entry(of, c, value); }, is_bad_here);
      if (is_bad_here) {
        report_column(a.guard, a.columns, a.column_limit, places.begin, places.end, of);
        is_faulty = 1;
      }
      __syncwarp();
      part = sum_of_lanes<32>(part);
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = part;
      __syncthreads();
      if (threadIdx.x == 0) {
        Sum all = 0;
        for (const Sum w : of_warp) all += w;
        take(of, all);
      }
      __syncthreads();
    }
  }
}

/// Reads the inverse of the diagonal of the rows [first, last); entries of a place that occur several times are added.
/// Checks all of the rows.
template <unsigned Threads, class Sum, class Value, class Column>
__device__ __forceinline__ void read_inverse(const matrix_rows<Value, Column>& rows,
                                             const system_matrix<Value, Column>& m, const system_vectors<Value>& v,
                                             std::uint32_t& is_faulty, std::uint64_t first, std::uint64_t last) {
  for_row_sums<Threads, Sum>(
      rows, m, is_faulty, first, last,
      [](std::uint64_t row, Column column, Sum value) { return column == row ? value : Sum{0}; },
      [&](std::uint64_t row, Sum sum) {
        const auto diagonal = static_cast<Value>(sum);
        v.inverse[row] = Value{1} / diagonal;
        if (!(diagonal > 0)) v.state().has_bad_diagonal = 1;
      });
}

/// to = b - A x of the rows [first, last).
template <unsigned Threads, class Sum, class Value, class Column>
__device__ __forceinline__ void make_residual(const matrix_rows<Value, Column>& rows,
                                              const system_matrix<Value, Column>& m, const system_vectors<Value>& v,
                                              std::uint32_t& is_faulty, const Value* x, Value* to, std::uint64_t first,
                                              std::uint64_t last) {
  for_row_sums<Threads, Sum>(
      rows, m, is_faulty, first, last,
      [&](std::uint64_t, Column column, Sum value) { return value * static_cast<Sum>(x[column]); },
      [&](std::uint64_t row, Sum sum) { to[row] = static_cast<Value>(static_cast<Sum>(v.b[row]) - sum); });
}

/// The inverse of the diagonal, by tiles.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    check_diagonal(const __grid_constant__ system_vectors<Value> v,
                   const __grid_constant__ system_matrix<Value, Column> m) {
  const matrix_rows<Value, Column> rows(m.a);
  for (std::uint64_t tile = blockIdx.x; tile < v.tiles; tile += gridDim.x) {
    const std::uint64_t first = tile * v.tile_rows;
    read_inverse<block_threads, Value>(rows, m, v, v.state().is_faulty[solver_state::diagonal], first,
                                       min(v.rows, first + v.tile_rows));
  }
}

template <class Value, class Column>
system_matrix<Value, Column> matrix_of(const primitives::conjugate_gradient_problem& p,
                                       const primitives::conjugate_gradient_buffers& b, const csr_guard& guard) {
  return {arguments_of<Value, Column>(p.product, {b.a}, guard), lanes_of_row(p.product)};
}

}  // namespace sheaf::cuda
