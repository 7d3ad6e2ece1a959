#pragma once

#include "cuda/sparse/sliced.hpp"
#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/sparse/sums/x_slice.cuh"

// The product by a sliced matrix: a block goes through the slices of x with the sums of its rows in shared memory. It
// streams the matrix, with columns of 16 bits, and reads x from L2 as often as there are blocks, in order, where
// products by rows read a sector of 32 bytes for each entry.
namespace sheaf::cuda {

constexpr unsigned sliced_threads = 1024;

template <class Value>
struct alignas(2 * sizeof(Value)) two_values {
  Value first;
  Value second;
};

/// Sums the rows of a block, and returns how many there are from its first row on; sums[i] is that of row i of them.
/// Groups of lanes take the rows of a slice in turn, pipelined by software: while a group sums a row, the first entries
/// of its next row, of this slice or the next, and the range of the row after that are being loaded. All threads of the
/// block call this; a barrier makes the sums visible.
/// @param shared  sliced_block_bytes; the sums are the last row_sums_bytes
template <class Sum, class Value>
__device__ __forceinline__ unsigned sum_rows_of_block(const sliced_arrays<Value>& m, const sliced_shape& shape,
                                                      const Value* x, std::byte* shared) {
  constexpr unsigned pairs = lane_entries / 2;
  auto* const slice = reinterpret_cast<Value*>(shared);
  auto* const sums = reinterpret_cast<Sum*>(shared + x_slice_bytes);
  const unsigned first_row = m.block_rows[blockIdx.x];
  const unsigned rows = m.block_rows[blockIdx.x + 1] - first_row;
  const sliced_range* const ranges = m.ranges + std::uint64_t{shape.slices} * first_row;
  const unsigned lanes = shape.lanes;
  const unsigned lane = threadIdx.x % lanes;
  const unsigned group = threadIdx.x / lanes;
  const unsigned groups = sliced_threads / lanes;

  struct chunk {
    two_values<Value> values[pairs];
    ushort2 columns[pairs];
  };
  unsigned ahead_slice = 0;
  unsigned ahead_row = group;
  const auto next_range = [&] {
    sliced_range r{0, 0};
    if (ahead_slice < shape.slices && ahead_row < rows) r = ranges[std::uint64_t{ahead_slice} * rows + ahead_row];
    ahead_row += groups;
    if (ahead_row - group >= rows) {
      ahead_row = group;
      ++ahead_slice;
    }
    return r;
  };
  // A pair may end behind its range, in a place that was filled up.
  const auto read = [&](sliced_range r) {
    chunk c;
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
      const unsigned i = r.begin + 2 * (lane + k * lanes);
      c.values[k] = {};
      c.columns[k] = {};
      if (i < r.end) {
        c.values[k] = *reinterpret_cast<const two_values<Value>*>(m.values + i);
        c.columns[k] = *reinterpret_cast<const ushort2*>(m.columns + i);
      }
    }
    return c;
  };
  const auto product = [&](Value value, unsigned column) {
    return static_cast<Sum>(value) * static_cast<Sum>(slice[column]);
  };
  sliced_range own = next_range();
  sliced_range next = next_range();
  chunk ahead = read(own);
  for (unsigned s = 0; s < shape.slices && rows > 0; ++s) {
    const unsigned first_column = s * shape.slice_columns;
    __syncthreads();
    begin_copy_of_slice<sliced_threads>(slice, x + first_column,
                                        min(shape.slice_columns, shape.columns - first_column));
    __pipeline_wait_prior(0);
    __syncthreads();
    for (unsigned row = group; row - group < rows; row += groups) {
      const chunk c = ahead;
      const sliced_range r = own;
      own = next;
      next = next_range();
      ahead = read(own);
      Sum sum = 0;
      // Padding has value 0, and 0 times infinity is not 0.
#pragma unroll
      for (unsigned k = 0; k < pairs; ++k) {
        const unsigned i = r.begin + 2 * (lane + k * lanes);
        if (i < r.end) sum += product(c.values[k].first, c.columns[k].x);
        if (i + 1 < r.end) sum += product(c.values[k].second, c.columns[k].y);
      }
      for (unsigned i = r.begin + 2 * pairs * lanes + lane; i < r.end; i += lanes) {
        sum += product(m.values[i], m.columns[i]);
      }
      __syncwarp();
      for (unsigned d = lanes / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0U, sum, d, static_cast<int>(lanes));
      if (lane == 0 && row < rows) sums[row] = s == 0 ? sum : sums[row] + sum;
    }
  }
  return rows;
}

template <class Sum, class Value>
__global__ void __launch_bounds__(sliced_threads, 1)
    sum_slices(const __grid_constant__ product_arguments<Value, unsigned> a,
               const __grid_constant__ sliced_arrays<Value> m, const __grid_constant__ sliced_shape shape) {
  extern __shared__ __align__(16) std::byte shared[];
  const unsigned rows = sum_rows_of_block<Sum>(m, shape, a.x, shared);
  __syncthreads();
  const auto* const sums = reinterpret_cast<const Sum*>(shared + x_slice_bytes);
  const std::uint64_t first_row = m.block_rows[blockIdx.x];
  for (unsigned row = threadIdx.x; row < rows; row += sliced_threads) write_result(a, first_row + row, sums[row]);
}

template <class Value>
void multiply_sliced(const context& ctx, const primitives::spmv_problem& p, const sliced_arrays<Value>& m,
                     const sliced_shape& shape, const primitives::spmv_buffers& b) {
  const auto multiply = [&]<class Sum>(Sum) {
    launch_shared(ctx, sum_slices<Sum, Value>, shape.blocks, sliced_threads, sliced_block_bytes,
                  arguments_of<Value, unsigned>(p, b, csr_guard{}), m, shape);
  };
  if constexpr (sizeof(Value) == 8) {
    multiply(double{});
  } else if (p.sums == spmv_sums::f64) {
    multiply(double{});
  } else {
    multiply(float{});
  }
}

}  // namespace sheaf::cuda
