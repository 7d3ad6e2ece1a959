#pragma once

#include "cuda/sparse/sliced_run.cuh"
#include "cuda/sparse/solvers/system_kernels.cuh"

// The product of cuda.sliced. A block has the sums of its rows in shared memory, so that p.q is made beside q.
namespace sheaf::cuda {

/// q = A p and p.q. Blocks begin with a tile, but for those without rows, which begin behind the last.
template <class Sum, class Value>
__global__ void __launch_bounds__(sliced_threads, 1)
    multiply_sliced_rows(const __grid_constant__ system_vectors<Value> v,
                         const __grid_constant__ sliced_arrays<Value> m, const __grid_constant__ sliced_shape shape) {
  extern __shared__ __align__(16) std::byte shared[];
  if (block_ends(v)) return;
  const unsigned rows = sum_rows_of_block<Sum>(m, shape, v.p, shared);
  __syncthreads();
  const auto* const sums = reinterpret_cast<const Sum*>(shared + x_slice_bytes);
  const std::uint64_t first_row = m.block_rows[blockIdx.x];
  sum_tiles_of<sliced_threads, 1>(v, 0, (first_row + v.tile_rows - 1) / v.tile_rows,
                                  (first_row + rows + v.tile_rows - 1) / v.tile_rows, [&](std::uint64_t i) {
                                    const auto q = static_cast<Value>(sums[i - first_row]);
                                    v.q[i] = q;
                                    return row_sums<1>{{static_cast<double>(v.p[i]) * static_cast<double>(q)}};
                                  });
  finish_curvature<sliced_threads>(v);
}

}  // namespace sheaf::cuda
