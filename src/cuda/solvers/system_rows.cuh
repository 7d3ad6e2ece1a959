#pragma once

#include "cuda/solvers/system.cuh"
#include "cuda/sparse/sum_rows.cuh"

// Products by the rows of a system's matrix, as parts of kernels. A row belongs to a group of lanes as in cuda.rows; a
// long one is its block's.
namespace sheaf::cuda {

template <class Value, class Column>
struct system_matrix {
  product_arguments<Value, Column> a;  ///< without x and y
  std::uint32_t lanes;                 ///< threads of a row
  std::uint64_t long_entries;          ///< rows from these entries on are summed by a block
};

/// Adds of_entry(column, value) of a lane's chunks, beginning at chunk `lane` of every `lanes`.
template <bool Keeps, class Sum, class Value, class Column, class OfEntry>
__device__ __forceinline__ Sum sum_chunks(const product_arguments<Value, Column>& a, row_range r, unsigned lane,
                                          unsigned lanes, OfEntry of_entry, bool& is_bad) {
  Sum sum = 0;
  for (std::uint64_t at = r.begin / chunk_places * chunk_places + lane * chunk_places; at < r.end;
       at += lanes * chunk_places) {
    chunk<Value, Column> c;
    c.template load<Keeps>(a, at, r);
    Sum term[chunk_places];
#pragma unroll
    for (unsigned k = 0; k < chunk_places; ++k) {
      const bool has_column = c.column[k] < a.column_limit;
      is_bad |= c.is_in[k] && !has_column;
      term[k] = c.is_in[k] && has_column ? of_entry(c.column[k], static_cast<Sum>(c.value[k])) : Sum{0};
    }
#pragma unroll
    for (unsigned k = 0; k < chunk_places; ++k) sum += term[k];
  }
  return sum;
}

/// Sums the rows [first, last), at most as a block's, and gives each sum to take(row, sum) in one thread. of_entry has
/// the row, the column and the value. All threads of a block call this. Notes faults in the word of the phase.
template <unsigned Threads, bool Keeps, class Sum, class Value, class Column, class OfEntry, class Take>
__device__ __forceinline__ void for_row_sums(const system_matrix<Value, Column>& m, std::uint32_t& is_faulty,
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
    row_range r = is_row ? row_range{a.rows.begin(row), a.rows.end(row)} : row_range{0, 0};
    if (!a.rows.is_row(r)) {
      if (lane == 0) {
        report_row(a.guard, a.rows, row);
        is_faulty = 1;
      }
      r = {0, 0};
    }
    const bool is_long = r.length() >= m.long_entries;
    bool is_bad = false;
    Sum sum = 0;
    if (!is_long) {
      sum = sum_chunks<Keeps, Sum>(
          a, r, lane, lanes, [&](Column c, Sum value) { return of_entry(row, c, value); }, is_bad);
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
      const row_range places{a.rows.begin(of), a.rows.end(of)};
      bool is_bad_here = false;
      Sum part = sum_chunks<Keeps, Sum>(
          a, places, threadIdx.x, Threads, [&](Column c, Sum value) { return of_entry(of, c, value); }, is_bad_here);
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
template <unsigned Threads, bool Keeps, class Sum, class Value, class Column>
__device__ __forceinline__ void read_inverse(const system_matrix<Value, Column>& m, const system_vectors<Value>& v,
                                             std::uint64_t first, std::uint64_t last) {
  for_row_sums<Threads, Keeps, Sum>(
      m, v.state().is_faulty[solver_state::diagonal], first, last,
      [](std::uint64_t row, Column column, Sum value) { return column == row ? value : Sum{0}; },
      [&](std::uint64_t row, Sum sum) {
        const auto diagonal = static_cast<Value>(sum);
        v.inverse[row] = Value{1} / diagonal;
        if (!(diagonal > 0)) v.state().has_bad_diagonal = 1;
      });
}

/// to = b - A x of the rows [first, last).
template <unsigned Threads, bool Keeps, class Sum, class Value, class Column>
__device__ __forceinline__ void make_residual(const system_matrix<Value, Column>& m, const system_vectors<Value>& v,
                                              std::uint32_t& is_faulty, const Value* x, Value* to, std::uint64_t first,
                                              std::uint64_t last) {
  for_row_sums<Threads, Keeps, Sum>(
      m, is_faulty, first, last,
      [&](std::uint64_t, Column column, Sum value) { return value * static_cast<Sum>(x[column]); },
      [&](std::uint64_t row, Sum sum) { to[row] = static_cast<Value>(static_cast<Sum>(v.b[row]) - sum); });
}

/// The inverse of the diagonal, by tiles.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    check_diagonal(const __grid_constant__ system_vectors<Value> v,
                   const __grid_constant__ system_matrix<Value, Column> m) {
  for (std::uint64_t tile = blockIdx.x; tile < v.tiles; tile += gridDim.x) {
    const std::uint64_t first = tile * v.tile_rows;
    read_inverse<block_threads, false, Value>(m, v, first, min(v.rows, first + v.tile_rows));
  }
}

template <class Value, class Column>
system_matrix<Value, Column> matrix_of(const primitives::conjugate_gradient_problem& p, const rows_decision& d,
                                       const primitives::conjugate_gradient_buffers& b, const csr_guard& guard) {
  return {arguments_of<Value, Column>(p.product, {b.a}, guard), d.lanes, d.long_entries};
}

}  // namespace sheaf::cuda
