#pragma once

#include "cuda/sparse/sums/row_products.cuh"

// Rows that are much longer than the others: kernels that meet one leave it, and another kernel sums its pieces.
namespace sheaf::cuda {

/// A row that was left to warps.
struct long_row {
  std::uint64_t row;
  std::uint64_t begin;
  std::uint64_t end;  ///< equal to begin if the row was summed at once, for want of space
  std::uint64_t first_piece;
  unsigned done;  ///< pieces that are summed
};

/// The rows that were left, in the order in which they took numbers of pieces.
struct long_row_list {
  static constexpr unsigned piece_bits = 40;
  static constexpr unsigned long long piece_mask = (1ULL << piece_bits) - 1;

  unsigned long long* count = nullptr;  ///< rows above piece_bits, pieces below; null: no row is left
  long_row* rows = nullptr;
  void* sums = nullptr;  ///< one for each piece
  std::uint64_t most_rows = 0;
  std::uint64_t most_pieces = 0;
  std::uint64_t long_entries = ~std::uint64_t{0};

  /// Leaves a row. False if there is no space, which rows that do not overlap never find.
  __device__ bool add(std::uint64_t row, row_range range) const {
    if ((*static_cast<volatile unsigned long long*>(count) >> piece_bits) >= most_rows) return false;
    const unsigned long long pieces = (range.length() + piece_entries - 1) / piece_entries;
    const unsigned long long before = atomicAdd(count, (1ULL << piece_bits) + pieces);
    if (before >> piece_bits >= most_rows) return false;
    const unsigned long long first = before & piece_mask;
    const bool fits = first + pieces <= most_pieces;
    rows[before >> piece_bits] = {row, range.begin, fits ? range.end : range.begin, first, 0};
    return fits;
  }
};

/// Leaves a row to the second kernel if it is long. False if this one is to sum it. One lane of a warp calls this.
__device__ inline bool leave_row(const long_row_list& list, std::uint64_t row, row_range r) {
  if (r.length() < list.long_entries) return false;
  // Without a list, the second kernel looks for the long rows itself.
  return list.count == nullptr || list.add(row, r);
}

/// Sums the rows of the list, a piece for each warp. The warp that finishes a row's last piece adds the pieces up.
template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_long_rows(const __grid_constant__ product_arguments<Value, Column> args, const Value* gathered,
                  const __grid_constant__ long_row_list list) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned long long count = *list.count;
  const std::uint64_t rows = min(static_cast<std::uint64_t>(count >> long_row_list::piece_bits), list.most_rows);
  const std::uint64_t pieces = min(static_cast<std::uint64_t>(count & long_row_list::piece_mask), list.most_pieces);
  volatile Sum* const sums = static_cast<volatile Sum*>(list.sums);
  const std::uint64_t warps = std::uint64_t{gridDim.x} * warps_of_a_block;
  for (std::uint64_t piece_index = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
       piece_index < pieces; piece_index += warps) {
    const std::uint64_t i =
        last_begun(std::uint64_t{0}, rows, [&](std::uint64_t of) { return list.rows[of].first_piece <= piece_index; });
    const long_row& row = list.rows[i];
    const std::uint64_t begin = row.begin + (piece_index - row.first_piece) * piece_entries;
    if (begin >= row.end) continue;
    const Sum sum =
        sum_of_piece<Gathered, Sum>(args, gathered, row_range{begin, min(row.end, begin + piece_entries)}, row.row);
    const auto of_row = static_cast<unsigned>((row.end - row.begin + piece_entries - 1) / piece_entries);
    unsigned done = 0;
    if (lane == 0) {
      sums[piece_index] = sum;
      __threadfence();
      done = atomicAdd(&list.rows[i].done, 1U);
    }
    if (__shfl_sync(~0U, done, 0) + 1 < of_row) continue;
    __syncwarp();
    __threadfence();
    Sum all = 0;
    for (unsigned piece = lane; piece < of_row; piece += 32) all += sums[row.first_piece + piece];
    all = sum_of_lanes<32>(all);
    if (lane == 0) write_result(args, row.row, all);
  }
}

/// Sums the long rows of a matrix whose rows may overlap, so that nothing bounds how many are long: a block looks at
/// one row a thread, and its warps take those that are long, piece after piece.
template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    find_long_rows(const __grid_constant__ product_arguments<Value, Column> args, const Value* gathered,
                   std::uint64_t long_entries) {
  __shared__ std::uint64_t found[block_threads];
  __shared__ unsigned count;
  if (is_skipped(args)) return;
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * block_threads; base < args.rows.rows;
       base += std::uint64_t{gridDim.x} * block_threads) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const std::uint64_t own = base + threadIdx.x;
    if (own < args.rows.rows) {
      const row_range r{args.rows.begin(own), args.rows.end(own)};
      if (args.rows.is_row(r) && r.length() >= long_entries) found[atomicAdd(&count, 1U)] = own;
    }
    __syncthreads();
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t row = found[i];
      const row_range r{args.rows.begin(row), args.rows.end(row)};
      Sum sum = 0;
      for (std::uint64_t begin = r.begin + threadIdx.x / 32 * piece_entries; begin < r.end;
           begin += warps_of_a_block * piece_entries) {
        sum += sum_of_piece<Gathered, Sum>(args, gathered, row_range{begin, min(r.end, begin + piece_entries)}, row);
      }
      sum = sum_of_warps<block_threads>(sum);
      if (threadIdx.x == 0) write_result(args, row, sum);
      __syncthreads();
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
