#include "primitives/sparse/rank_columns.hpp"

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/device/launch.cuh"

// Columns that a rank's rows need of other ranks. Each kernel over the matrix has a block for each block of rows, which
// takes their entries as one list: it reads the columns once, in a stream, and the bits that it sets or counts lie in
// L2 for up to some 10^8 columns.
namespace sheaf::cuda {
namespace {

using namespace primitives;

constexpr unsigned columns_in_flight = 4;  ///< that a thread has in flight
constexpr unsigned words_of_thread = 4;
constexpr unsigned words_of_tile = block_threads * words_of_thread;
constexpr unsigned threads_of_scan = 1024;

static_assert(rank_row_block == block_threads, "a thread looks at one row");

/// A rank's rows as kernels read them.
struct rank_row_lists {
  const void* offsets;
  const void* columns;
  std::uint64_t rows;
  std::uint64_t most_offset;
  std::uint64_t column_limit;
  std::uint64_t first_column;
  std::uint64_t own_columns;

  explicit rank_row_lists(const rank_rows& of) noexcept
      : offsets(of.a.row_begins.data),
        columns(of.a.column_indices.data),
        rows(of.a.rows),
        most_offset(of.most_offset()),
        column_limit(of.column_limit()),
        first_column(of.first_column),
        own_columns(of.own_columns) {}
};

template <class Offset>
__device__ __forceinline__ std::uint64_t offset_at(const rank_row_lists& rows, std::uint64_t i) {
  return __ldg(static_cast<const Offset*>(rows.offsets) + i);
}

/// The first row of the block's, and the one behind its last.
struct block_rows {
  std::uint64_t first;
  std::uint64_t end;
};
__device__ __forceinline__ block_rows rows_of_this_block(const rank_row_lists& rows) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * rank_row_block;
  return {first, min(rows.rows, first + rank_row_block)};
}

/// Calls body(place, column) for the places [begin, end), which all threads of the block share.
template <class Column, class Body>
__device__ __forceinline__ void for_columns_of(const rank_row_lists& rows, std::uint64_t begin, std::uint64_t end,
                                               Body body) {
  for (std::uint64_t first = begin + threadIdx.x; first < end; first += columns_in_flight * block_threads) {
    std::uint64_t column[columns_in_flight];
#pragma unroll
    for (unsigned k = 0; k < columns_in_flight; ++k)
      column[k] = __ldcs(static_cast<const Column*>(rows.columns) + min(first + k * block_threads, end - 1));
#pragma unroll
    for (unsigned k = 0; k < columns_in_flight; ++k) {
      const std::uint64_t place = first + k * block_threads;
      if (place < end) body(place, column[k]);
    }
  }
}

/// Most bits are set already, which a read tells.
__device__ __forceinline__ void set_bit(const column_words& columns, std::uint64_t column) {
  auto* const bits = reinterpret_cast<unsigned long long*>(&columns.words[column / columns_of_word].bits);
  const unsigned long long mine = 1ULL << column % columns_of_word;
  if ((__ldcg(bits) & mine) == 0) atomicOr(bits, mine);
}

template <class Offset, class Column>
__global__ void __launch_bounds__(block_threads)
    look_at_rows(const __grid_constant__ rank_row_lists rows, rows_found* found, unsigned char* has_remote,
                 const column_words remote) {
  using block_reduce = cub::BlockReduce<std::uint64_t, block_threads>;
  __shared__ typename block_reduce::TempStorage storage;
  const block_rows range = rows_of_this_block(rows);
  const std::uint64_t row = range.first + threadIdx.x;
  bool is_bad = false;
  std::uint64_t length = 0;
  if (row < range.end) {
    const std::uint64_t begin = offset_at<Offset>(rows, row);
    const std::uint64_t end = offset_at<Offset>(rows, row + 1);
    is_bad = begin > end || end > rows.most_offset;
    length = end - begin;
  }
  if (__syncthreads_or(is_bad)) {
    if (threadIdx.x == 0) found->faults = 1;
    return;
  }
  const std::uint64_t longest =
      block_reduce(storage).Reduce(length, [](std::uint64_t a, std::uint64_t b) { return a < b ? b : a; });
  if (threadIdx.x == 0 && longest > *static_cast<volatile std::uint64_t*>(&found->longest_row)) {
    atomicMax(reinterpret_cast<unsigned long long*>(&found->longest_row), static_cast<unsigned long long>(longest));
  }
  bool is_remote = false;
  for_columns_of<Column>(rows, offset_at<Offset>(rows, range.first), offset_at<Offset>(rows, range.end),
                         [&](std::uint64_t, std::uint64_t column) {
                           // First: a negative column, whose sign is not extended, may look like one of the rank's.
                           if (column >= rows.column_limit) {
                             found->faults = 1;
                           } else if (column - rows.first_column >= rows.own_columns) {
                             is_remote = true;
                             set_bit(remote, column);
                           }
                         });
  const bool one_is_remote = __syncthreads_or(is_remote);
  if (threadIdx.x == 0) has_remote[blockIdx.x] = one_is_remote ? 1 : 0;
}

template <class Offset, class Column>
__global__ void __launch_bounds__(block_threads)
    collect_columns(const __grid_constant__ rank_row_lists rows, const unsigned char* is_boundary,
                    const column_words own) {
  if (is_boundary[blockIdx.x] == 0) return;
  const block_rows range = rows_of_this_block(rows);
  for_columns_of<Column>(rows, offset_at<Offset>(rows, range.first), offset_at<Offset>(rows, range.end),
                         [&](std::uint64_t, std::uint64_t column) {
                           const std::uint64_t local = column - rows.first_column;
                           if (local < rows.own_columns) set_bit(own, local);
                         });
}

template <class Offset, class Column, class To>
__global__ void __launch_bounds__(block_threads)
    write_columns(const __grid_constant__ rank_row_lists rows, const __grid_constant__ renumbered_columns by, To* to) {
  const block_rows range = rows_of_this_block(rows);
  const bool is_boundary = by.is_boundary[blockIdx.x] != 0;
  for_columns_of<Column>(rows, offset_at<Offset>(rows, range.first), offset_at<Offset>(rows, range.end),
                         [&](std::uint64_t place, std::uint64_t column) {
                           std::uint64_t local = column - rows.first_column;
                           if (is_boundary) {
                             if (local < rows.own_columns) {
                               local = by.below + by.own.number(local);
                             } else {
                               const std::uint64_t at = by.remote.number(column);
                               local = at < by.below ? at : by.own_count + at;
                             }
                           }
                           to[place] = static_cast<To>(local);
                         });
}

__device__ __forceinline__ std::uint64_t columns_of_word_at(const column_words& columns, std::uint64_t word) {
  return word < columns.count ? static_cast<std::uint64_t>(__popcll(columns.words[word].bits)) : 0;
}

/// The sum of each tile of words.
__global__ void __launch_bounds__(block_threads) sum_words(const column_words columns, std::uint64_t* sums) {
  using block_reduce = cub::BlockReduce<std::uint64_t, block_threads>;
  __shared__ typename block_reduce::TempStorage storage;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * words_of_tile + threadIdx.x;
  std::uint64_t sum = 0;
#pragma unroll
  for (unsigned k = 0; k < words_of_thread; ++k) sum += columns_of_word_at(columns, first + k * block_threads);
  sum = block_reduce(storage).Sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Replaces the sums of tiles by those of all tiles before them. One block.
__global__ void __launch_bounds__(threads_of_scan) scan_tiles_of_words(std::uint64_t* sums, std::uint64_t tiles) {
  using block_scan = cub::BlockScan<std::uint64_t, threads_of_scan, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint64_t before = 0;
  for (std::uint64_t first = 0; first < tiles; first += threads_of_scan) {
    const std::uint64_t t = first + threadIdx.x;
    std::uint64_t sum = t < tiles ? sums[t] : 0;
    std::uint64_t all = 0;
    block_scan(storage).ExclusiveSum(sum, sum, all);
    if (t < tiles) sums[t] = before + sum;
    before += all;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(block_threads) write_counts(const column_words columns, const std::uint64_t* before) {
  using block_scan = cub::BlockScan<std::uint64_t, block_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  std::uint64_t sum_before = before[blockIdx.x];
#pragma unroll
  for (unsigned k = 0; k < words_of_thread; ++k) {
    const std::uint64_t word = std::uint64_t{blockIdx.x} * words_of_tile + k * block_threads + threadIdx.x;
    std::uint64_t sum = columns_of_word_at(columns, word);
    std::uint64_t all = 0;
    block_scan(storage).ExclusiveSum(sum, sum, all);
    if (word < columns.count) columns.words[word].before = sum_before + sum;
    sum_before += all;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(block_threads) list_columns(const column_words columns, std::uint64_t* to) {
  const std::uint64_t w = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (w >= columns.count) return;
  const column_word word = columns.words[w];
  std::uint64_t next = word.before;
  for (std::uint64_t bits = word.bits; bits != 0; bits &= bits - 1)
    to[next++] = w * columns_of_word + static_cast<std::uint64_t>(__ffsll(static_cast<long long>(bits)) - 1);
}

/// Calls queue(offset, column) with numbers of the types of the lists, without their sign.
template <class Queue>
void with_list_types(const rank_rows& rows, Queue queue) {
  const auto with_column = [&](auto offset) {
    bytes(rows.a.column_indices.type) == sizeof(std::uint32_t) ? queue(offset, std::uint32_t{})
                                                               : queue(offset, std::uint64_t{});
  };
  bytes(rows.a.row_begins.type) == sizeof(std::uint32_t) ? with_column(std::uint32_t{}) : with_column(std::uint64_t{});
}

void look_at_rank(const context& ctx, const rank_rows& rows, rows_found* found, unsigned char* has_remote,
                  const column_words& remote) {
  if (rows.a.rows == 0) return;
  const run_scope scope(ctx, "look at rows");
  with_list_types(rows, [&](auto offset, auto column) {
    launch(ctx, look_at_rows<decltype(offset), decltype(column)>, row_blocks_of(rows.a.rows), rank_row_lists(rows),
           found, has_remote, remote);
  });
}

void collect_own_columns(const context& ctx, const rank_rows& rows, const unsigned char* is_boundary,
                         const column_words& own) {
  if (rows.a.rows == 0) return;
  const run_scope scope(ctx, "collect own columns");
  with_list_types(rows, [&](auto offset, auto column) {
    launch(ctx, collect_columns<decltype(offset), decltype(column)>, row_blocks_of(rows.a.rows), rank_row_lists(rows),
           is_boundary, own);
  });
}

void count_columns(const context& ctx, const column_words& columns) {
  const run_scope scope(ctx, "count columns");
  const std::uint64_t tiles = ceil_div(columns.count, std::uint64_t{words_of_tile});
  const buffer sums(ctx, tiles * sizeof(std::uint64_t));
  launch(ctx, sum_words, tiles, columns, sums.as<std::uint64_t>());
  launch_blocks(ctx, scan_tiles_of_words, 1, threads_of_scan, sums.as<std::uint64_t>(), tiles);
  launch(ctx, write_counts, tiles, columns, static_cast<const std::uint64_t*>(sums.as<std::uint64_t>()));
}

void list_of_columns(const context& ctx, const column_words& columns, std::uint64_t* to) {
  const run_scope scope(ctx, "list columns");
  launch(ctx, list_columns, ceil_div(columns.count, std::uint64_t{block_threads}), columns, to);
}

void renumber_rank(const context& ctx, const rank_rows& rows, const renumbered_columns& by) {
  if (rows.a.rows == 0) return;
  const run_scope scope(ctx, "renumber columns");
  with_list_types(rows, [&](auto offset, auto column) {
    const auto queue = [&](auto to) {
      using to_value = decltype(to);
      launch(ctx, write_columns<decltype(offset), decltype(column), to_value>, row_blocks_of(rows.a.rows),
             rank_row_lists(rows), by, static_cast<to_value*>(by.to));
    };
    by.type == index_type::u32 ? queue(std::uint32_t{}) : queue(std::uint64_t{});
  });
}

}  // namespace

extern constinit const primitives::rank_column_steps steps_of_rank_columns{
    look_at_rank, collect_own_columns, count_columns, list_of_columns, renumber_rank};

}  // namespace sheaf::cuda
