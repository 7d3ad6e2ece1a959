#pragma once

#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/sparse/prepared/sliced_ell.hpp"

// What the preparation cuda.sliced_ell looks at before it lays a matrix out: whether columns are right, how many are
// near the diagonal, which rows are long, and which columns come often.
namespace sheaf::cuda {

constexpr unsigned length_classes = 10;  ///< long rows of 2^15 entries, of 2^14 and more, ... of 2^6 and more

/// What a look at all entries finds.
struct entry_facts {
  std::uint64_t entries;  ///< of all rows; rows may share some
  std::uint64_t near;     ///< entries of rows that are sorted, with near columns
  std::uint64_t long_rows[length_classes];
  std::uint64_t has_bad_columns;  ///< not 0 if a column was bad, which was reported
};

__device__ __forceinline__ unsigned class_of_length(std::uint64_t entries) {
  return static_cast<unsigned>(__clzll(static_cast<long long>(entries)) - (63 - 15));
}

/// Checks all columns and counts the near ones of each row. A group of lanes takes a row, all lanes of a warp a long
/// one.
template <unsigned Lanes, class Column>
__global__ void __launch_bounds__(block_threads)
    look_at_entries(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                    const Column* columns, std::uint64_t limit, std::uint64_t column_count, std::uint64_t longest,
                    std::uint32_t* near_of_row, entry_facts* facts) {
  constexpr unsigned rows_of_warp = 32 / Lanes;
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * warps_of_a_block;
  unsigned long long entries = 0;
  unsigned long long near_entries = 0;
  const auto is_right = [&](std::uint64_t place, std::uint64_t row) {
    if (columns[place] < limit) return true;
    report_column(guard, columns, limit, place, place + 1, row);
    facts->has_bad_columns = 1;
    return false;
  };
  for (std::uint64_t base = (std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32) * rows_of_warp;
       base < rows.rows; base += warps * rows_of_warp) {
    const std::uint64_t row = base + lane / Lanes;
    row_range r{0, 0};
    if (row < rows.rows) r = {rows.begin(row), rows.end(row)};
    const bool is_long = r.length() > longest;
    unsigned near = 0;
    if (!is_long) {
      const std::uint64_t first =
          row < rows.rows ? first_near_column(row / ell_window_rows, rows.rows, column_count) : 0;
      for (std::uint64_t place = r.begin + lane % Lanes; place < r.end; place += Lanes) {
        if (is_right(place, row) && columns[place] - first < near_columns_of_window) ++near;
      }
    }
#pragma unroll
    for (unsigned step = Lanes / 2; step > 0; step /= 2) near += __shfl_xor_sync(~0U, near, step);
    if (lane % Lanes == 0 && row < rows.rows) {
      near_of_row[row] = near;
      near_entries += near;
      entries += r.length();
      if (is_long) {
        atomicAdd(reinterpret_cast<unsigned long long*>(facts->long_rows + class_of_length(r.length())), 1ULL);
      }
    }
    for (unsigned left = __ballot_sync(~0U, is_long && lane % Lanes == 0 ? 1 : 0); left != 0; left &= left - 1) {
      const int from = __ffs(static_cast<int>(left)) - 1;
      const std::uint64_t begin = __shfl_sync(~0U, r.begin, from);
      const std::uint64_t end = __shfl_sync(~0U, r.end, from);
      for (std::uint64_t place = begin + lane; place < end; place += 32) is_right(place, base + from / Lanes);
    }
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    entries += __shfl_xor_sync(~0U, entries, other);
    near_entries += __shfl_xor_sync(~0U, near_entries, other);
  }
  if (lane != 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&facts->entries), entries);
  atomicAdd(reinterpret_cast<unsigned long long*>(&facts->near), near_entries);
}

/// Counts the columns of 32 places in each 32 * hot_sample, of which some may belong to no row.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    count_columns(const Column* columns, std::uint64_t places, std::uint64_t limit, std::uint32_t* counts) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t place = i / 32 * (32 * hot_sample) + i % 32;
  if (place >= places) return;
  const Column column = columns[place];
  if (column < limit) atomicAdd(counts + column, 1U);
}

/// @param to  0
static __global__ void __launch_bounds__(block_threads)
    count_counts(const std::uint32_t* counts, std::uint64_t columns, column_counts* to) {
  __shared__ unsigned long long of_columns[count_bins];
  __shared__ unsigned long long of_entries[count_bins];
  for (unsigned bin = threadIdx.x; bin < count_bins; bin += block_threads) of_columns[bin] = of_entries[bin] = 0;
  __syncthreads();
  for (std::uint64_t column = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; column < columns;
       column += std::uint64_t{gridDim.x} * block_threads) {
    const std::uint32_t count = counts[column];
    if (count == 0) continue;
    atomicAdd(of_columns + bin_of_count(count), 1ULL);
    atomicAdd(of_entries + bin_of_count(count), static_cast<unsigned long long>(count));
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < count_bins; bin += block_threads) {
    if (of_columns[bin] == 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(to->columns + bin), of_columns[bin]);
    atomicAdd(reinterpret_cast<unsigned long long*>(to->entries + bin), of_entries[bin]);
  }
}

/// Lists hot columns in any order, which changes no sum, and puts what entries have in the place of counts.
static __global__ void __launch_bounds__(block_threads)
    list_hot_columns(std::uint32_t* counts, std::uint64_t columns, unsigned least_bin, std::uint32_t* taken,
                     std::uint32_t* hot_columns) {
  const std::uint64_t column = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (column >= columns) return;
  auto of_entries = static_cast<std::uint32_t>(column);
  if (bin_of_count(counts[column]) >= least_bin) {
    const std::uint32_t number = atomicAdd(taken, 1U);
    hot_columns[number] = static_cast<std::uint32_t>(column);
    of_entries = is_hot | number;
  }
  counts[column] = of_entries;
}

}  // namespace sheaf::cuda
