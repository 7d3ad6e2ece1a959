#pragma once

#include "cuda/sparse/sliced.hpp"
#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/sparse/sums/running_sum.cuh"

// Kernels that slice a matrix whose rows lie one behind the other, and whose offsets were checked.
namespace sheaf::cuda {

constexpr unsigned slicing_threads = 1024;
constexpr unsigned entries_at_once = 8;  ///< of a row, that a lane reads before it looks at any

/// Makes ranges of counts, which are their ends, one behind the other from `start` on, by one block: all threads call
/// it between barriers.
__device__ inline void place_ranges(sliced_range* ranges, std::uint64_t count, std::uint32_t start) {
  running_sum<slicing_threads> places(start);
  for (std::uint64_t base = 0; base < count; base += slicing_threads) {
    const std::uint64_t i = base + threadIdx.x;
    const std::uint32_t own = i < count ? ranges[i].end : 0;
    const std::uint32_t begin = places.before((own + range_places - 1) / range_places * range_places);
    if (i < count) ranges[i] = {begin, begin + own};
  }
}

/// The first row of each block, and of one behind the last.
static __global__ void __launch_bounds__(block_threads)
    deal_rows(const __grid_constant__ row_offsets rows, const __grid_constant__ sliced_shape shape,
              std::uint32_t* block_rows) {
  const std::uint64_t block = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (block > shape.blocks) return;
  const std::uint64_t before = (block * shape.weight() + shape.blocks - 1) / shape.blocks;
  const std::uint64_t first = rows.begin(0);
  std::uint64_t low = 0;  // the first row that is not before
  for (std::uint64_t high = shape.rows; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (rows.begin(middle) - first + middle * shape.row_weight < before) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  low = (low + shape.row_step - 1) / shape.row_step * shape.row_step;
  block_rows[block] = static_cast<std::uint32_t>(min(low, std::uint64_t{shape.rows}));
}

/// Goes through a row. Reads entries_at_once entries a lane first, by read(k, place), then calls take(k, column, slice,
/// lanes with an entry of this slice) for the k-th of each lane. Where the slice is most_slices, the lane has no entry,
/// or one whose column is bad. All lanes of a warp call it.
template <class Column, class Read, class Take>
__device__ __forceinline__ void for_entries_by_slice(const row_range& r, const Column* columns, std::uint64_t limit,
                                                     std::uint32_t slice_columns, bool& is_bad, Read read, Take take) {
  for (std::uint64_t at = r.begin; at < r.end; at += 32 * entries_at_once) {
    Column column[entries_at_once];
#pragma unroll
    for (unsigned k = 0; k < entries_at_once; ++k) {
      const std::uint64_t place = at + k * 32 + threadIdx.x % 32;
      column[k] = place < r.end ? columns[place] : Column{0};
      if (place < r.end) read(k, place);
    }
#pragma unroll
    for (unsigned k = 0; k < entries_at_once; ++k) {
      if (at + k * 32 >= r.end) break;
      const bool is_in = at + k * 32 + threadIdx.x % 32 < r.end;
      const bool is_right = is_in && column[k] < limit;
      is_bad |= is_in && !is_right;
      const unsigned slice = is_right ? static_cast<unsigned>(column[k]) / slice_columns : most_slices;
      take(k, static_cast<unsigned>(column[k]), slice, __match_any_sync(~0U, slice));
      __syncwarp();
    }
  }
}

/// Groups the entries of a block's rows. A warp takes a row, first to count, then to place its entries.
template <class Value, class Column>
__global__ void __launch_bounds__(slicing_threads)
    slice_entries(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                  const Column* columns, const Value* values, std::uint64_t limit,
                  const __grid_constant__ sliced_shape shape, const __grid_constant__ sliced_arrays<Value> to,
                  unsigned* has_bad_columns) {
  constexpr unsigned warps = slicing_threads / 32;
  __shared__ std::uint32_t counts_of_warp[warps][most_slices];
  std::uint32_t* const count = counts_of_warp[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned before_lane = (1U << lane) - 1;
  const unsigned first_row = to.block_rows[blockIdx.x];
  const unsigned last_row = to.block_rows[blockIdx.x + 1];
  const unsigned block_rows = last_row - first_row;
  if (block_rows == 0) return;
  sliced_range* const ranges = to.ranges + std::uint64_t{shape.slices} * first_row;
  const auto range_of = [&](unsigned row) { return ranges + std::uint64_t{lane} * block_rows + (row - first_row); };
  for (unsigned row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
    const row_range r{rows.begin(row), rows.end(row)};
    bool is_bad = false;
    count[lane] = 0;
    __syncwarp();
    for_entries_by_slice(
        r, columns, limit, shape.slice_columns, is_bad, [](unsigned, std::uint64_t) {},
        [&](unsigned, unsigned, unsigned slice, unsigned alike) {
          if (slice == most_slices || (alike & before_lane) != 0) return;
          count[slice] += static_cast<unsigned>(__popc(alike));
        });
    if (lane < shape.slices) *range_of(row) = {0, count[lane]};
    if (__any_sync(~0U, is_bad ? 1 : 0) != 0 && lane == 0) {
      report_column(guard, columns, limit, r.begin, r.end, row);
      *has_bad_columns = 1;
    }
    __syncwarp();
  }
  __syncthreads();
  // An upper bound of the places of all blocks before, so that blocks need no sums over one another.
  const std::uint64_t before =
      rows.begin(first_row) - rows.begin(0) + std::uint64_t{shape.slices} * first_row * (range_places - 1);
  place_ranges(ranges, std::uint64_t{shape.slices} * block_rows,
               static_cast<std::uint32_t>((before + range_places - 1) / range_places * range_places));
  __syncthreads();
  for (unsigned row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
    const row_range r{rows.begin(row), rows.end(row)};
    bool is_bad = false;
    if (lane < shape.slices) count[lane] = range_of(row)->begin;
    __syncwarp();
    Value value[entries_at_once];
    for_entries_by_slice(
        r, columns, limit, shape.slice_columns, is_bad,
        [&](unsigned k, std::uint64_t place) { value[k] = values[place]; },
        [&](unsigned k, unsigned column, unsigned slice, unsigned alike) {
          const unsigned first = slice == most_slices ? 0 : count[slice];
          __syncwarp();
          if (slice == most_slices) return;
          const unsigned i = first + static_cast<unsigned>(__popc(alike & before_lane));
          if ((alike & before_lane) == 0) count[slice] = first + static_cast<unsigned>(__popc(alike));
          to.values[i] = value[k];
          to.columns[i] = static_cast<std::uint16_t>(column - slice * shape.slice_columns);
        });
    // Places behind a range are read with its last one, and not used.
    for (unsigned i = lane < shape.slices ? count[lane] : 0; i % range_places != 0; ++i) {
      to.values[i] = Value{0};
      to.columns[i] = 0;
    }
    __syncwarp();
  }
}

/// Queues the kernels that slice a matrix. Sets *has_bad_columns, in device memory, if a column is bad, after a report.
template <class Value, class Column>
void slice_matrix(const context& ctx, const primitives::spmv_problem& p, const csr_view& a, const csr_guard& guard,
                  const sliced_shape& shape, const sliced_arrays<Value>& to, unsigned* has_bad_columns) {
  const row_offsets rows = offsets_of(p, a);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  launch(ctx, deal_rows, ceil_div(shape.blocks + 1, block_threads), rows, shape, to.block_rows);
  launch_blocks(ctx, slice_entries<Value, Column>, shape.blocks, slicing_threads, guard, rows,
                static_cast<const Column*>(a.column_indices.data), static_cast<const Value*>(a.values.data), limit,
                shape, to, has_bad_columns);
}

}  // namespace sheaf::cuda
