#pragma once

#include "cuda/sparse/sums/row_products.cuh"
#include "cuda/sparse/sums/x_slice.cuh"

// The form of a blocked matrix, and the two phases of a product by it. Entries are grouped by slice, a range of columns
// whose part of x fits shared memory, and within a slice by row block, rows whose products fit shared memory together.
// Neither reads memory at random: phase 1 reads x from shared memory,
// and phase 2 reads products as runs.
namespace sheaf::cuda {

struct blocked_shape {
  std::uint64_t slice_columns;  ///< columns of a slice; a place in one has 16 bits
  std::uint64_t slices;
  std::uint64_t block_entries;  ///< a row is of the block in whose share of the entries it begins
  std::uint64_t blocks;
  std::uint64_t longest_row;  ///< longer rows do not fit beside the other rows of a block

  /// A group is the entries of one slice and one row block.
  constexpr std::uint64_t groups() const noexcept { return slices * blocks; }
  /// Products that a row block has at most.
  constexpr std::uint64_t most_products() const noexcept { return block_entries + longest_row; }
};

constexpr std::uint64_t slice_bytes = 128 << 10;  ///< of x, in shared memory, a block on each multiprocessor
constexpr std::uint64_t block_bytes = 64 << 10;   ///< of products, in shared memory, two blocks on each

inline blocked_shape shape_of(const spmv_problem& problem) noexcept {
  blocked_shape shape{};
  shape.slice_columns = slice_bytes / problem.value_bytes();
  shape.slices = (problem.columns + shape.slice_columns - 1) / shape.slice_columns;
  shape.block_entries = block_bytes / problem.sum_bytes();
  shape.blocks = (problem.entries + shape.block_entries - 1) / shape.block_entries;
  shape.longest_row = shape.block_entries * 3 / 8;
  return shape;
}

constexpr unsigned chunk_places = 4;  ///< products that a lane reads at once, from a multiple of as many

constexpr unsigned multiply_threads = 1024;
constexpr unsigned add_threads = 512;

/// The arrays of a blocked matrix.
template <class Value>
struct blocked_arrays {
  std::uint16_t* columns;       ///< of the entries by group: column within its slice
  Value* values;                ///< of the entries by group
  std::uint32_t* slice_begins;  ///< slices + 1: places in the arrays by group
  std::uint32_t* run_begins;    ///< of each block, of each slice: place of the group's first product
  std::uint32_t* run_places;    ///< of each block, of each slice: products of the block before the group
  std::uint16_t* products_of;   ///< of the entries row by row: which of its block's products is the entry's
  std::uint32_t* block_rows;    ///< blocks + 1: first row
  std::uint64_t first_entry;    ///< place of the matrix's first entry in the caller's arrays
  std::uint64_t entries;
};

/// Makes chunk_places products at once, of entries that begin at a multiple of as many.
template <class Sum, class Value>
__device__ __forceinline__ void make_chunk(const blocked_arrays<Value>& arrays, const Value* slice, std::uint64_t at,
                                           Sum* products) {
  const ushort4 columns = __ldcs(reinterpret_cast<const ushort4*>(arrays.columns + at));
  Value values[chunk_places];
  uint4 bits[sizeof values / 16];
#pragma unroll
  for (unsigned k = 0; k < sizeof values / 16; ++k)
    bits[k] = __ldcs(reinterpret_cast<const uint4*>(arrays.values + at) + k);
  memcpy(values, bits, sizeof values);
  Sum made[chunk_places] = {static_cast<Sum>(values[0]) * static_cast<Sum>(slice[columns.x]),
                            static_cast<Sum>(values[1]) * static_cast<Sum>(slice[columns.y]),
                            static_cast<Sum>(values[2]) * static_cast<Sum>(slice[columns.z]),
                            static_cast<Sum>(values[3]) * static_cast<Sum>(slice[columns.w])};
  uint4 out[sizeof made / 16];
  memcpy(out, made, sizeof made);
#pragma unroll
  for (unsigned k = 0; k < sizeof made / 16; ++k) __stcs(reinterpret_cast<uint4*>(products + at) + k, out[k]);
}

/// Phase 1: products of a share of the entries by group. The part of x that the share's slice has is loaded first.
template <class Sum, class Value>
__global__ void __launch_bounds__(multiply_threads, 1)
    multiply_slices(const __grid_constant__ blocked_arrays<Value> arrays, const __grid_constant__ blocked_shape shape,
                    const Value* x, std::uint64_t columns, std::uint64_t share, Sum* products) {
  extern __shared__ __align__(16) std::byte shared[];
  Value* const slice = reinterpret_cast<Value*>(shared);
  std::uint64_t begin = std::uint64_t{blockIdx.x} * share;
  const std::uint64_t end = min(begin + share, arrays.entries);
  std::uint64_t slice_index =
      last_begun(std::uint64_t{0}, shape.slices, [&](std::uint64_t of) { return arrays.slice_begins[of] <= begin; });
  for (; begin < end; ++slice_index) {
    const std::uint64_t stop = min(end, std::uint64_t{arrays.slice_begins[slice_index + 1]});
    if (begin == stop) continue;
    const std::uint64_t first_column = slice_index * shape.slice_columns;
    const auto held = static_cast<unsigned>(min(shape.slice_columns, columns - first_column));
    begin_copy_of_slice<multiply_threads>(slice, x + first_column, held);
    __pipeline_wait_prior(0);
    __syncthreads();
    constexpr std::uint64_t step = std::uint64_t{multiply_threads} * chunk_places;
#pragma unroll 2
    for (std::uint64_t at = begin / chunk_places * chunk_places + threadIdx.x * chunk_places; at < stop; at += step) {
      if (at >= begin && at + chunk_places <= stop) {
        make_chunk(arrays, slice, at, products);
      } else {
        for (std::uint64_t i = max(at, begin); i < min(at + chunk_places, stop); ++i) {
          products[i] = static_cast<Sum>(arrays.values[i]) * static_cast<Sum>(slice[arrays.columns[i]]);
        }
      }
    }
    __syncthreads();  // before the next slice is loaded over this one
    begin = stop;
  }
}

/// Begins to copy the `count` products of a row block, run by run. Each warp holds the bounds of up to 32 runs, one a
/// lane, and copies these one after another.
template <class Sum, class Value>
__device__ __forceinline__ void begin_copy_of_runs(const blocked_arrays<Value>& arrays, const blocked_shape& shape,
                                                   const Sum* products, unsigned count, Sum* own) {
  constexpr unsigned warps = add_threads / 32;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t* const begins = arrays.run_begins + blockIdx.x * shape.slices;
  const std::uint32_t* const places = arrays.run_places + blockIdx.x * shape.slices;
  const auto runs = static_cast<unsigned>(min((shape.slices + warps - 1) / warps, std::uint64_t{32}));
  for (std::uint64_t base = threadIdx.x / 32 * runs; base < shape.slices; base += warps * runs) {
    const std::uint64_t s = base + lane;
    const bool is_run = lane < runs && s < shape.slices;
    const std::uint32_t begin = is_run ? __ldcs(begins + s) : 0;
    const std::uint32_t place = is_run ? places[s] : 0;
    const std::uint32_t length = is_run ? (s + 1 < shape.slices ? places[s + 1] : count) - place : 0;
    for (unsigned r = 0; r < runs; ++r) {
      const std::uint32_t from = __shfl_sync(~0U, begin, r);
      const std::uint32_t to = __shfl_sync(~0U, place, r);
      const std::uint32_t products_of_run = __shfl_sync(~0U, length, r);
      for (std::uint32_t i = lane; i < products_of_run; i += 32) {
        __pipeline_memcpy_async(own + to + i, products + from + i, sizeof(Sum));
      }
    }
  }
  __pipeline_commit();
}

/// Which products belong to the chunk_places entries from `at` on, a multiple of as many.
template <class Value>
__device__ __forceinline__ ushort4 products_of_chunk(const blocked_arrays<Value>& arrays, std::uint64_t at) {
  if (at + chunk_places <= arrays.entries) return __ldcs(reinterpret_cast<const ushort4*>(arrays.products_of + at));
  ushort4 quad;
  quad.x = arrays.products_of[at];
  quad.y = at + 1 < arrays.entries ? arrays.products_of[at + 1] : 0;
  quad.z = at + 2 < arrays.entries ? arrays.products_of[at + 2] : 0;
  quad.w = 0;
  return quad;
}

/// Phase 2: the rows of one block. Its products are copied run by run, all of them in flight at once, and each row's
/// are added by a group of lanes in the order of the matrix.
template <unsigned Lanes, class Sum, class Value, class Column>
__global__ void __launch_bounds__(add_threads)
    add_products(const __grid_constant__ product_arguments<Value, Column> args,
                 const __grid_constant__ blocked_arrays<Value> arrays, const __grid_constant__ blocked_shape shape,
                 const Sum* products) {
  extern __shared__ __align__(16) std::byte shared[];
  Sum* const own = reinterpret_cast<Sum*>(shared);
  const std::uint64_t row_begin = arrays.block_rows[blockIdx.x];
  const std::uint64_t row_end = arrays.block_rows[blockIdx.x + 1];
  if (row_begin == row_end) return;
  const std::uint64_t block_begin = args.rows.begin(row_begin);
  const auto count = static_cast<unsigned>(args.rows.end(row_end - 1) - block_begin);
  begin_copy_of_runs(arrays, shape, products, count, own);
  __pipeline_wait_prior(0);
  __syncthreads();
  const unsigned lane_of_row = threadIdx.x % Lanes;
  constexpr unsigned groups = add_threads / Lanes;
  // All lanes of a warp take part in the shuffles of the last rows.
  for (std::uint64_t base = row_begin; base < row_end; base += groups) {
    const std::uint64_t row = base + threadIdx.x / Lanes;
    row_range range{0, 0};
    if (row < row_end) range = {args.rows.begin(row) - arrays.first_entry, args.rows.end(row) - arrays.first_entry};
    Sum sum = 0;
    for (std::uint64_t at = range.begin / chunk_places * chunk_places + lane_of_row * chunk_places; at < range.end;
         at += Lanes * chunk_places) {
      const ushort4 q = products_of_chunk(arrays, at);
      if (at >= range.begin && at < range.end) sum += own[q.x];
      if (at + 1 >= range.begin && at + 1 < range.end) sum += own[q.y];
      if (at + 2 >= range.begin && at + 2 < range.end) sum += own[q.z];
      if (at + 3 >= range.begin && at + 3 < range.end) sum += own[q.w];
    }
    sum = sum_of_lanes<Lanes>(sum);
    if (lane_of_row == 0 && row < row_end) write_result(args, row, sum);
  }
}

}  // namespace sheaf::cuda
