#pragma once

#include "cuda/sparse/prepared/inspected_product.cuh"

// Matrices whose entries lie in dense blocks of 2 x 2 to 8 x 8 (block compressed rows, BSR): one column for each block,
// and values in the order in which a warp reads them.
namespace sheaf::cuda {

constexpr unsigned least_block = 2;
constexpr unsigned most_block = 8;

/// Blocks of a matrix. `Block` rows and columns each; a block row is so many rows.
template <class Value>
struct bsr_arrays {
  std::uint32_t* begins;   ///< of each block row, and where the last one's blocks end
  std::uint32_t* columns;  ///< of each block: its first column divided by the block's
  Value* values;           ///< of groups of blocks: see place_in_group
  std::uint64_t block_rows;
};

/// Lanes that share a block row, of which each has a row of every block that it takes: as many blocks at once as fit,
/// `group` of them. More lanes for longer rows. Measured on an H200 with rows of 7 and of 27 blocks.
constexpr unsigned lanes_of_block_row(unsigned block, std::uint64_t entries, std::uint64_t rows) {
  const std::uint64_t mean = entries / (rows == 0 ? 1 : rows);
  constexpr std::uint64_t few = 32;
  constexpr std::uint64_t some = 112;
  if (mean <= few && block != 5 && block != 6) return 8;
  return mean <= some && block != 6 ? 16 : 32;
}

/// Where a value lies among those of its group of `count` blocks: columns of blocks one behind the other, in each all
/// blocks, in each of these the rows. Lanes that have a row of a block each read side by side.
template <unsigned Block>
__host__ __device__ __forceinline__ unsigned place_in_group(unsigned count, unsigned block, unsigned row,
                                                            unsigned column) {
  return column * count * Block + block * Block + row;
}

/// Tells for all sizes of blocks at once whether the entries of some rows lie in such blocks: each row of a block row
/// has the same columns, in runs of a block's that begin at its multiples. Bits of sizes that do not fit are cleared.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    find_blocks(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                const Column* columns, std::uint64_t limit, unsigned* sizes, unsigned* has_bad_columns) {
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * warps_of_a_block;
  for (std::uint64_t row = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32; row < rows.rows;
       row += warps) {
    // One lane reads for all, so that they leave together.
    const unsigned possible = __shfl_sync(~0U, lane == 0 ? *static_cast<volatile unsigned*>(sizes) : 0U, 0);
    if (possible == 0) return;
    const row_range r{rows.begin(row), rows.end(row)};
    unsigned unfit = 0;
    row_range first[most_block + 1];
#pragma unroll
    for (unsigned b = least_block; b <= most_block; ++b) {
      const std::uint64_t first_row = row / b * b;
      first[b] = {rows.begin(first_row), rows.end(first_row)};
      if (r.length() % b != 0 || r.length() != first[b].length()) unfit |= 1U << b;
    }
    for (std::uint64_t i = lane; i < r.length(); i += 32) {
      const Column column = columns[r.begin + i];
      if (column >= limit) {
        report_column(guard, columns, limit, r.begin + i, r.begin + i + 1, row);
        *has_bad_columns = 1;
      }
#pragma unroll
      for (unsigned b = least_block; b <= most_block; ++b) {
        if (((possible & ~unfit) >> b & 1) == 0) continue;
        const auto in_block = static_cast<unsigned>(i % b);
        const bool fits = column % b == in_block && columns[r.begin + i - in_block] == column - in_block &&
                          columns[first[b].begin + i] == column;
        if (!fits) unfit |= 1U << b;
      }
    }
    unfit = __reduce_or_sync(~0U, unfit);
    if (lane == 0 && (possible & unfit) != 0) atomicAnd(sizes, ~unfit);
  }
}

/// Copies the blocks of a block row, a warp each.
template <unsigned Block, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    copy_blocks(const __grid_constant__ row_offsets rows, const Column* columns, const Value* values,
                std::uint64_t first, unsigned group, const bsr_arrays<Value> to) {
  const std::uint64_t block_row = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (block_row >= to.block_rows) return;
  const unsigned lane = threadIdx.x % 32;
  const row_range r{rows.begin(block_row * Block), rows.end(block_row * Block)};
  const auto count = static_cast<unsigned>(r.length() / Block);
  const auto begin = static_cast<std::uint32_t>((r.begin - first) / (Block * Block));
  if (lane == 0) to.begins[block_row] = begin;
  if (lane == 0 && block_row + 1 == to.block_rows) to.begins[to.block_rows] = begin + count;
  for (unsigned k = lane; k < count; k += 32)
    to.columns[begin + k] = static_cast<std::uint32_t>(columns[r.begin + std::uint64_t{k} * Block] / Block);
  for (std::uint64_t i = lane; i < r.length() * Block; i += 32) {
    const auto row = static_cast<unsigned>(i / r.length());
    const std::uint64_t in_row = i % r.length();
    const auto k = static_cast<unsigned>(in_row / Block);
    const unsigned group_begin = k / group * group;
    const unsigned place = place_in_group<Block>(min(group, count - group_begin), k - group_begin, row,
                                                 static_cast<unsigned>(in_row % Block));
    to.values[(std::uint64_t{begin} + group_begin) * (Block * Block) + place] =
        values[r.begin + row * r.length() + in_row];
  }
}

/// Multiplies. Groups of `Lanes` lanes take a block row each, two groups of blocks at a time.
template <unsigned Block, unsigned Lanes, class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    multiply_blocks(const __grid_constant__ product_arguments<Value, unsigned> a, const bsr_arrays<Value> from) {
  constexpr unsigned group = Lanes / Block;
  constexpr unsigned in_flight = 2;
  const std::uint64_t block_row = (std::uint64_t{blockIdx.x} * block_threads + threadIdx.x) / Lanes;
  const unsigned lane = threadIdx.x % Lanes;
  const unsigned block = lane / Block;
  const unsigned row = lane % Block;
  const bool is_row = block_row < from.block_rows;
  std::uint32_t next = is_row ? __ldg(from.begins + block_row) : 0;
  const std::uint32_t end = is_row && block < group ? __ldg(from.begins + block_row + 1) : 0;
  Sum sum = 0;
  for (; next < end; next += in_flight * group) {
    Value values[in_flight][Block];
    const Value* x[in_flight];
    bool is_there[in_flight];
#pragma unroll
    for (unsigned u = 0; u < in_flight; ++u) {
      const std::uint32_t at = next + u * group;
      const unsigned count = at < end ? min(end - at, group) : 0;
      is_there[u] = block < count;
      x[u] = a.x;
      if (!is_there[u]) continue;
      x[u] += std::uint64_t{__ldcs(from.columns + at + block)} * Block;
      const Value* const in_group = from.values + std::uint64_t{at} * (Block * Block);
#pragma unroll
      for (unsigned c = 0; c < Block; ++c)
        values[u][c] = __ldcs(in_group + place_in_group<Block>(count, block, row, c));
    }
#pragma unroll
    for (unsigned u = 0; u < in_flight; ++u) {
      if (!is_there[u]) continue;
#pragma unroll
      for (unsigned c = 0; c < Block; ++c) sum += static_cast<Sum>(values[u][c]) * static_cast<Sum>(__ldg(x[u] + c));
    }
  }
#pragma unroll
  for (unsigned distance = 1; distance < group; distance *= 2) {
    const Sum other = __shfl_down_sync(~0U, sum, distance * Block, Lanes);
    if (block % (2 * distance) == 0 && block + distance < group) sum += other;
  }
  if (is_row && block == 0) write_result(a, block_row * Block + row, sum);
}

}  // namespace sheaf::cuda
