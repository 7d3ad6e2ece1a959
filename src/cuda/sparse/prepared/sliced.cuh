#pragma once

#include "cuda/sparse/prepared/sliced.hpp"
#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/sparse/sums/running_sum.cuh"
#include "cuda/sparse/sums/x_slice.cuh"

// Kernels that slice a matrix whose rows lie one behind the other, and whose offsets were checked; and the product by
// it: a block goes through the slices of x with the sums of its rows in shared memory. It streams the matrix, with
// columns of 16 bits, and reads x from L2 as often as there are blocks, in order, where products by rows read a sector
// of 32 bytes for each entry.
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
  const std::uint64_t found = partition_point(std::uint64_t{0}, std::uint64_t{shape.rows}, [&](std::uint64_t row) {
    return rows.begin(row) - first + row * shape.row_weight < before;
  });
  const std::uint64_t row = (found + shape.row_step - 1) / shape.row_step * shape.row_step;
  block_rows[block] = static_cast<std::uint32_t>(min(row, std::uint64_t{shape.rows}));
}

/// Goes through a row. Reads entries_at_once entries a lane first, by read(k, place), then calls take(k, column, slice,
/// lanes with an entry of this slice) for the k-th of each lane. Where the slice is most_slices, the lane has no entry,
/// or one whose column is bad. All lanes of a warp call it.
/// @return whether the lane has bad columns
template <class Value, class Column, class Read, class Take>
__device__ __forceinline__ bool for_entries_by_slice(const product_arguments<Value, Column>& args,
                                                     const row_range& range, std::uint32_t slice_columns, Read read,
                                                     Take take) {
  bool is_bad = false;
  for (std::uint64_t at = range.begin; at < range.end; at += 32 * entries_at_once) {
    Column column[entries_at_once];
#pragma unroll
    for (unsigned k = 0; k < entries_at_once; ++k) {
      const std::uint64_t place = at + k * 32 + threadIdx.x % 32;
      column[k] = place < range.end ? args.columns[place] : Column{0};
      if (place < range.end) read(k, place);
    }
#pragma unroll
    for (unsigned k = 0; k < entries_at_once; ++k) {
      if (at + k * 32 >= range.end) break;
      const bool is_in = at + k * 32 + threadIdx.x % 32 < range.end;
      const bool is_right = is_in && column[k] < args.column_limit;
      is_bad |= is_in && !is_right;
      const unsigned slice = is_right ? static_cast<unsigned>(column[k]) / slice_columns : most_slices;
      take(k, static_cast<unsigned>(column[k]), slice, __match_any_sync(~0U, slice));
      __syncwarp();
    }
  }
  return is_bad;
}

/// Counts the entries of a row in each slice. All lanes of a warp call it.
/// @return whether the lane has bad columns
template <class Value, class Column>
__device__ __forceinline__ bool count_by_slice(const product_arguments<Value, Column>& args, const row_range& range,
                                               std::uint32_t slice_columns, std::uint32_t* count) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned before_lane = (1U << lane) - 1;
  count[lane] = 0;
  __syncwarp();
  return for_entries_by_slice(
      args, range, slice_columns, [](unsigned, std::uint64_t) {},
      [&](unsigned, unsigned, unsigned slice, unsigned alike) {
        if (slice == most_slices || (alike & before_lane) != 0) return;
        count[slice] += static_cast<unsigned>(__popc(alike));
      });
}

/// Brings the entries of a row to the places of its ranges, and fills these up. All lanes of a warp call it.
/// @param next  the first place of each range, and afterwards the one behind its entries
template <class Value, class Column>
__device__ __forceinline__ void place_by_slice(const product_arguments<Value, Column>& args, const row_range& range,
                                               const sliced_shape& shape, std::uint32_t* next,
                                               const sliced_arrays<Value>& to) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned before_lane = (1U << lane) - 1;
  Value value[entries_at_once];
  for_entries_by_slice(
      args, range, shape.slice_columns, [&](unsigned k, std::uint64_t place) { value[k] = args.values[place]; },
      [&](unsigned k, unsigned column, unsigned slice, unsigned alike) {
        const unsigned first = slice == most_slices ? 0 : next[slice];
        __syncwarp();
        if (slice == most_slices) return;
        const unsigned i = first + static_cast<unsigned>(__popc(alike & before_lane));
        if ((alike & before_lane) == 0) next[slice] = first + static_cast<unsigned>(__popc(alike));
        to.values[i] = value[k];
        to.columns[i] = static_cast<std::uint16_t>(column - slice * shape.slice_columns);
      });
  // Places behind a range are read with its last one, and not used.
  for (unsigned i = lane < shape.slices ? next[lane] : 0; i % range_places != 0; ++i) {
    to.values[i] = Value{0};
    to.columns[i] = 0;
  }
}

/// Groups the entries of a block's rows. A warp takes a row, first to count, then to place its entries.
template <class Value, class Column>
__global__ void __launch_bounds__(slicing_threads)
    slice_entries(const __grid_constant__ product_arguments<Value, Column> args,
                  const __grid_constant__ sliced_shape shape, const __grid_constant__ sliced_arrays<Value> to,
                  unsigned* has_bad_columns) {
  constexpr unsigned warps = slicing_threads / 32;
  __shared__ std::uint32_t counts_of_warp[warps][most_slices];
  std::uint32_t* const count = counts_of_warp[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const unsigned first_row = to.block_rows[blockIdx.x];
  const unsigned last_row = to.block_rows[blockIdx.x + 1];
  const unsigned block_rows = last_row - first_row;
  if (block_rows == 0) return;
  sliced_range* const ranges = to.ranges + std::uint64_t{shape.slices} * first_row;
  const auto range_of = [&](unsigned row) { return ranges + std::uint64_t{lane} * block_rows + (row - first_row); };
  for (unsigned row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
    const row_range r{args.rows.begin(row), args.rows.end(row)};
    const bool is_bad = count_by_slice(args, r, shape.slice_columns, count);
    if (lane < shape.slices) *range_of(row) = {0, count[lane]};
    if (__any_sync(~0U, is_bad ? 1 : 0) != 0 && lane == 0) {
      report_column(args.guard, args.columns, args.column_limit, r.begin, r.end, row);
      *has_bad_columns = 1;
    }
    __syncwarp();
  }
  __syncthreads();
  // An upper bound of the places of all blocks before, so that blocks need no sums over one another.
  const std::uint64_t before =
      args.rows.begin(first_row) - args.rows.begin(0) + std::uint64_t{shape.slices} * first_row * (range_places - 1);
  place_ranges(ranges, std::uint64_t{shape.slices} * block_rows,
               static_cast<std::uint32_t>((before + range_places - 1) / range_places * range_places));
  __syncthreads();
  for (unsigned row = first_row + threadIdx.x / 32; row < last_row; row += warps) {
    const row_range r{args.rows.begin(row), args.rows.end(row)};
    if (lane < shape.slices) count[lane] = range_of(row)->begin;
    __syncwarp();
    place_by_slice(args, r, shape, count, to);
    __syncwarp();
  }
}

/// Queues the kernels that slice a matrix. Sets *has_bad_columns, in device memory, if a column is bad, after a report.
template <class Value, class Column>
void slice_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const csr_guard& guard,
                  const sliced_shape& shape, const sliced_arrays<Value>& to, unsigned* has_bad_columns) {
  const auto from = arguments_of<Value, Column>(p, {a}, guard);
  launch(ctx, deal_rows, ceil_div(shape.blocks + 1, block_threads), from.rows, shape, to.block_rows);
  launch_blocks(ctx, slice_entries<Value, Column>, shape.blocks, slicing_threads, from, shape, to, has_bad_columns);
}

// ---- the product

constexpr unsigned sliced_threads = 1024;

template <class Value>
struct alignas(2 * sizeof(Value)) two_values {
  Value first;
  Value second;
};

/// A group of lanes, and a lane of it.
struct lane_group {
  unsigned lanes;
  unsigned lane;
  unsigned group;
  unsigned groups;  ///< of a block

  __device__ explicit lane_group(unsigned lanes_of_group)
      : lanes(lanes_of_group),
        lane(threadIdx.x % lanes_of_group),
        group(threadIdx.x / lanes_of_group),
        groups(sliced_threads / lanes_of_group) {}
};

/// The first entries of a range, as a lane reads them.
template <class Value>
struct leading_entries {
  static constexpr unsigned pairs = lane_entries / 2;

  two_values<Value> values[pairs];
  ushort2 columns[pairs];

  /// A pair may end behind its range, in a place that was filled up.
  __device__ __forceinline__ leading_entries(const sliced_arrays<Value>& arrays, sliced_range range,
                                             const lane_group& g) {
#pragma unroll
    for (unsigned k = 0; k < pairs; ++k) {
      const unsigned i = range.begin + 2 * (g.lane + k * g.lanes);
      values[k] = {};
      columns[k] = {};
      if (i < range.end) {
        values[k] = *reinterpret_cast<const two_values<Value>*>(arrays.values + i);
        columns[k] = *reinterpret_cast<const ushort2*>(arrays.columns + i);
      }
    }
  }
};

/// The ranges of a group, which takes every so manieth row of each slice, one slice after another.
struct range_sequence {
  const sliced_range* ranges;  ///< of the block
  unsigned slices;
  unsigned rows;
  unsigned slice;
  unsigned row;

  __device__ __forceinline__ sliced_range next(const lane_group& group) {
    sliced_range range{0, 0};
    if (slice < slices && row < rows) range = ranges[std::uint64_t{slice} * rows + row];
    row += group.groups;
    if (row - group.group >= rows) {
      row = group.group;
      ++slice;
    }
    return range;
  }
};

/// The sum of a range, in the first lane of its group.
template <class Sum, class Value>
__device__ __forceinline__ Sum sum_of_range(const sliced_arrays<Value>& arrays, sliced_range range,
                                            const leading_entries<Value>& leading, const Value* slice,
                                            const lane_group& group) {
  constexpr unsigned pairs = leading_entries<Value>::pairs;
  const auto product = [&](Value value, unsigned column) {
    return static_cast<Sum>(value) * static_cast<Sum>(slice[column]);
  };
  Sum sum = 0;
  // Padding has value 0, and 0 times infinity is not 0.
#pragma unroll
  for (unsigned k = 0; k < pairs; ++k) {
    const unsigned i = range.begin + 2 * (group.lane + k * group.lanes);
    if (i < range.end) sum += product(leading.values[k].first, leading.columns[k].x);
    if (i + 1 < range.end) sum += product(leading.values[k].second, leading.columns[k].y);
  }
  for (unsigned i = range.begin + 2 * pairs * group.lanes + group.lane; i < range.end; i += group.lanes) {
    sum += product(arrays.values[i], arrays.columns[i]);
  }
  __syncwarp();
  for (unsigned d = group.lanes / 2; d > 0; d /= 2) sum += __shfl_down_sync(~0U, sum, d, static_cast<int>(group.lanes));
  return sum;
}

/// Sums the rows of a block, and returns how many there are from its first row on; sums[i] is that of row i of them.
/// Groups of lanes take the rows of a slice in turn, pipelined by software: while a group sums a row, the first entries
/// of its next row, of this slice or the next, and the range of the row after that are being loaded. All threads of the
/// block call this; a barrier makes the sums visible.
/// @param shared  sliced_block_bytes; the sums are the last row_sums_bytes
template <class Sum, class Value>
__device__ __forceinline__ unsigned sum_rows_of_block(const sliced_arrays<Value>& arrays, const sliced_shape& shape,
                                                      const Value* x, std::byte* shared) {
  auto* const slice = reinterpret_cast<Value*>(shared);
  auto* const sums = reinterpret_cast<Sum*>(shared + x_slice_bytes);
  const unsigned first_row = arrays.block_rows[blockIdx.x];
  const unsigned rows = arrays.block_rows[blockIdx.x + 1] - first_row;
  const lane_group group(shape.lanes);
  range_sequence ranges{arrays.ranges + std::uint64_t{shape.slices} * first_row, shape.slices, rows, 0, group.group};
  sliced_range own = ranges.next(group);
  sliced_range next = ranges.next(group);
  leading_entries<Value> ahead(arrays, own, group);
  for (unsigned slice_index = 0; slice_index < shape.slices && rows > 0; ++slice_index) {
    const unsigned first_column = slice_index * shape.slice_columns;
    __syncthreads();
    begin_copy_of_slice<sliced_threads>(slice, x + first_column,
                                        min(shape.slice_columns, shape.columns - first_column));
    __pipeline_wait_prior(0);
    __syncthreads();
    for (unsigned row = group.group; row - group.group < rows; row += group.groups) {
      const leading_entries<Value> leading = ahead;
      const sliced_range r = own;
      own = next;
      next = ranges.next(group);
      ahead = leading_entries<Value>(arrays, own, group);
      const Sum sum = sum_of_range<Sum>(arrays, r, leading, slice, group);
      if (group.lane == 0 && row < rows) sums[row] = slice_index == 0 ? sum : sums[row] + sum;
    }
  }
  return rows;
}

template <class Sum, class Value>
__global__ void __launch_bounds__(sliced_threads, 1)
    sum_slices(const __grid_constant__ product_arguments<Value, unsigned> args,
               const __grid_constant__ sliced_arrays<Value> arrays, const __grid_constant__ sliced_shape shape) {
  extern __shared__ __align__(16) std::byte shared[];
  const unsigned rows = sum_rows_of_block<Sum>(arrays, shape, args.x, shared);
  __syncthreads();
  const auto* const sums = reinterpret_cast<const Sum*>(shared + x_slice_bytes);
  const std::uint64_t first_row = arrays.block_rows[blockIdx.x];
  for (unsigned row = threadIdx.x; row < rows; row += sliced_threads) write_result(args, first_row + row, sums[row]);
}

}  // namespace sheaf::cuda
