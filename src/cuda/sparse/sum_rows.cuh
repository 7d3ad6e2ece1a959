#pragma once

#include "cuda/sparse/matrix.cuh"
#include "cuda/sparse/sum_rows.hpp"

// Sums row by row. A warp takes the places of several short rows at once, so that all lanes read neighbouring places
// and have many reads of x under way, and brings the products to the lanes of their rows through shared memory
// (CSR-stream; Greathouse and Daga 2014). Longer rows are a warp's, two at a time. Rows that are much longer than the
// others are left to a second kernel, where warps sum their pieces. Which lane adds what, and in which order, follows
// from the matrix alone.
namespace sheaf::cuda {

constexpr unsigned warps_of_a_block = block_threads / 32;

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
  __device__ bool add(std::uint64_t row, row_range r) const {
    if ((*static_cast<volatile unsigned long long*>(count) >> piece_bits) >= most_rows) return false;
    const unsigned long long pieces = (r.length() + piece_entries - 1) / piece_entries;
    const unsigned long long before = atomicAdd(count, (1ULL << piece_bits) + pieces);
    if (before >> piece_bits >= most_rows) return false;
    const unsigned long long first = before & piece_mask;
    const bool fits = first + pieces <= most_pieces;
    rows[before >> piece_bits] = {row, r.begin, fits ? r.end : r.begin, first, 0};
    return fits;
  }
};

template <class Column>
constexpr bool is_compressed = sizeof(Column) == 2;

/// The values of x from which the columns of a row count.
template <class Value, class Column>
__device__ __forceinline__ const Value* x_of_row(const product_arguments<Value, Column>& a, std::uint64_t row) {
  if constexpr (is_compressed<Column>) return row < a.rows.rows ? a.x + a.bases[row / base_rows] : a.x;
  return a.x;
}

/// The entries of some places, from the first one on, and where x lies that they refer to.
template <class Value, class Column>
struct entry_range {
  const Column* columns;
  const Value* values;
  const Value* x_from;    ///< column 0 of these rows
  const Value* gathered;  ///< x of each entry; null unless it was gathered
  std::uint64_t column_limit;

  __device__ entry_range(const product_arguments<Value, Column>& a, const Value* gathered_x, std::uint64_t first,
                         std::uint64_t row)
      : columns(a.columns + first),
        values(a.values + first),
        x_from(x_of_row(a, row)),
        gathered(gathered_x == nullptr ? nullptr : gathered_x + first),
        column_limit(a.column_limit) {}
};

/// The products of `Places` entries, 32 places apart; those past the end are 0, and a bad column is noted. All are read
/// before one is multiplied.
template <bool Gathered, unsigned Places, class Sum, class Index, class Value, class Column>
__device__ __forceinline__ void make_products(const entry_range<Value, Column>& range, Index first, Index end,
                                              Sum (&product)[Places], bool& is_bad) {
  Column column[Places];
  Value value[Places];
#pragma unroll
  for (unsigned k = 0; k < Places; ++k) {
    const Index at = first + k * 32;
    column[k] = 0;
    value[k] = 0;
    if (at < end) {
      column[k] = __ldcs(range.columns + at);
      value[k] = __ldcs(range.values + at);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < Places; ++k) {
    const Index at = first + k * 32;
    const bool has_column = is_compressed<Column> || column[k] < range.column_limit;
    Value x = 0;
    if (at < end && has_column) x = Gathered ? __ldcs(range.gathered + at) : __ldg(range.x_from + column[k]);
    is_bad |= at < end && !has_column;
    product[k] = static_cast<Sum>(value[k]) * static_cast<Sum>(x);
  }
}

template <unsigned Lanes, class Sum>
__device__ __forceinline__ Sum sum_of_lanes(Sum sum) {
#pragma unroll
  for (unsigned step = Lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step, Lanes);
  return sum;
}

/// The sum of a row, or of a piece of it, some of whose columns are bad: their entries are absent, whatever their values
/// are. One thread does it, because the kernels that met them read values before they know columns.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __noinline__ Sum sum_of_present(const product_arguments<Value, Column>& a, const Value* gathered,
                                           row_range places, std::uint64_t row) {
  const entry_range<Value, Column> range(a, gathered, places.begin, row);
  Sum sum = 0;
  for (std::uint64_t i = 0; i < places.length(); ++i) {
    const Column column = range.columns[i];
    if (!is_compressed<Column> && column >= range.column_limit) continue;
    const Value x = Gathered ? range.gathered[i] : range.x_from[column];
    sum += static_cast<Sum>(range.values[i]) * static_cast<Sum>(x);
  }
  return sum;
}

/// Sums of `Rows` rows, or pieces of rows, by the lanes of a warp, all of which call this; the first lane has them.
template <unsigned Rows, bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ void sum_by_warp(const product_arguments<Value, Column>& a, const Value* gathered,
                                            const row_range (&places)[Rows], const std::uint64_t (&row)[Rows],
                                            Sum (&sum)[Rows]) {
  constexpr unsigned lane_places = 4 / Rows;
  std::uint64_t at = threadIdx.x % 32;
  std::uint64_t most = 0;
  bool is_bad[Rows];
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    most = max(most, places[k].length());
    is_bad[k] = false;
    sum[k] = 0;
  }
  for (; at < most; at += lane_places * 32) {
    Sum product[Rows][lane_places];
#pragma unroll
    for (unsigned k = 0; k < Rows; ++k) {
      const entry_range<Value, Column> range(a, gathered, places[k].begin, row[k]);
      make_products<Gathered>(range, at, places[k].length(), product[k], is_bad[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < Rows; ++k) {
#pragma unroll
      for (unsigned i = 0; i < lane_places; ++i) sum[k] += product[k][i];
    }
  }
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    if (is_bad[k]) report_column(a.guard, a.columns, a.column_limit, places[k].begin, places[k].end, row[k]);
    sum[k] = sum_of_lanes<32>(sum[k]);
    if (__any_sync(~0U, is_bad[k] ? 1 : 0) != 0) sum[k] = sum_of_present<Gathered, Sum>(a, gathered, places[k], row[k]);
  }
}

/// The sum of a row, or of a piece of it, by a warp.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ Sum sum_of_piece(const product_arguments<Value, Column>& a, const Value* gathered,
                                            row_range piece, std::uint64_t row) {
  Sum sum[1];
  sum_by_warp<1, Gathered>(a, gathered, {piece}, {row}, sum);
  return sum[0];
}

/// Whether nothing is to be done; the same in all threads.
template <class Value, class Column>
__device__ __forceinline__ bool is_skipped(const product_arguments<Value, Column>& a) {
  return a.skips != nullptr && *static_cast<const volatile std::uint32_t*>(a.skips) != 0;
}

/// Leaves a row to the second kernel if it is long. False if this one is to sum it. One lane of a warp calls this.
__device__ inline bool leave_row(const long_row_list& list, std::uint64_t row, row_range r) {
  if (r.length() < list.long_entries) return false;
  // Without a list, the second kernel looks for the long rows itself.
  return list.count == nullptr || list.add(row, r);
}

/// Rows of one warp each, `warp_rows` at a time.
constexpr unsigned warp_rows = 2;

template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_rows_by_warps(const __grid_constant__ product_arguments<Value, Column> a, const Value* gathered,
                      const __grid_constant__ long_row_list list, bool leaves_long_rows) {
  if (is_skipped(a)) return;
  const unsigned lane = threadIdx.x % 32;
  row_range places[warp_rows];
  std::uint64_t row[warp_rows];
  bool is_own[warp_rows];
#pragma unroll
  for (unsigned k = 0; k < warp_rows; ++k) {
    row[k] = (std::uint64_t{blockIdx.x} * warp_rows + k) * warps_of_a_block + threadIdx.x / 32;
    is_own[k] = row[k] < a.rows.rows;
    places[k] = is_own[k] ? row_range{a.rows.begin(row[k]), a.rows.end(row[k])} : row_range{0, 0};
  }
#pragma unroll
  for (unsigned k = 0; k < warp_rows; ++k) {
    if (!a.rows.is_row(places[k])) {
      if (lane == 0) report_row(a.guard, a.rows, row[k]);
      places[k] = {0, 0};
    }
    int is_left = 0;
    if (leaves_long_rows && lane == 0 && is_own[k]) is_left = leave_row(list, row[k], places[k]) ? 1 : 0;
    if (leaves_long_rows && __shfl_sync(~0U, is_left, 0) != 0) {
      is_own[k] = false;
      places[k] = {0, 0};
    }
  }
  Sum sum[warp_rows];
  sum_by_warp<warp_rows, Gathered>(a, gathered, places, row, sum);
#pragma unroll
  for (unsigned k = 0; k < warp_rows; ++k) {
    if (lane == 0 && is_own[k]) write_result(a, row[k], sum[k]);
  }
}

/// Short rows, rows_of_warp of them for each warp, a power of two up to 32. The products of 256 places go to shared
/// memory, where the lanes of a row, as many for each, add its own.
template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads, 5)
    sum_short_rows(const __grid_constant__ product_arguments<Value, Column> a, const Value* gathered,
                   const __grid_constant__ long_row_list list, bool leaves_long_rows, unsigned rows_of_warp) {
  constexpr unsigned lane_places = 8;
  constexpr unsigned warp_places = lane_places * 32;
  constexpr unsigned most_at_once = 4 * warp_places;  // rows with as many entries together are summed one by one
  __shared__ Sum products_of_warps[warps_of_a_block][warp_places];
  if (is_skipped(a)) return;
  Sum* const products = products_of_warps[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t first_row = (std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32) * rows_of_warp;
  if (first_row >= a.rows.rows) return;
  const unsigned lanes = 32 / rows_of_warp;
  const unsigned lane_of_row = lane % lanes;
  const std::uint64_t row = first_row + lane / lanes;
  const bool is_row = row < a.rows.rows;
  row_range r{0, 0};
  if (is_row) r = {a.rows.begin(row), a.rows.end(row)};
  if (!a.rows.is_row(r)) {
    if (lane_of_row == 0) report_row(a.guard, a.rows, row);
    r = {0, 0};
  }
  __syncwarp();
  const std::uint64_t begin = __shfl_sync(~0U, r.begin, 0);
  const std::uint64_t end_before = __shfl_up_sync(~0U, r.end, lanes);
  const auto last = static_cast<unsigned>(min(std::uint64_t{rows_of_warp}, a.rows.rows - first_row)) * lanes - 1;
  const std::uint64_t length = __shfl_sync(~0U, r.end, static_cast<int>(last)) - begin;
  // Rows that do not lie one behind the other are summed one by one too, those that were wrong among them.
  const bool is_joined = !is_row || lane < lanes || r.begin == end_before;
  if (__all_sync(~0U, is_joined) == 0 || length >= most_at_once) {
    Sum own = 0;
    bool is_own = false;
    for (unsigned i = 0; i < rows_of_warp; ++i) {
      const int from = static_cast<int>(i * lanes);
      row_range places[1] = {{__shfl_sync(~0U, r.begin, from), __shfl_sync(~0U, r.end, from)}};
      const std::uint64_t of[1] = {first_row + i};
      int is_left = of[0] >= a.rows.rows ? 1 : 0;
      if (is_left == 0 && leaves_long_rows && lane == 0) is_left = leave_row(list, of[0], places[0]) ? 1 : 0;
      if (__shfl_sync(~0U, is_left, 0) != 0) continue;
      Sum sum[1];
      sum_by_warp<1, Gathered>(a, gathered, places, of, sum);
      const Sum of_row = __shfl_sync(~0U, sum[0], 0);
      if (static_cast<int>(lane) == from) {
        own = of_row;
        is_own = true;
      }
    }
    if (is_own) write_result(a, row, own);
    return;
  }
  const auto places = static_cast<unsigned>(length);
  const auto own_begin = static_cast<unsigned>(r.begin - begin);
  const unsigned own_end = is_row ? static_cast<unsigned>(r.end - begin) : 0;
  const entry_range<Value, Column> range(a, gathered, begin, first_row);
  bool is_bad = false;
  Sum sum = 0;
  for (unsigned at = 0; at < places; at += warp_places) {
    Sum product[lane_places];
    make_products<Gathered>(range, at + lane, places, product, is_bad);
#pragma unroll
    for (unsigned k = 0; k < lane_places; ++k) products[lane + k * 32] = product[k];
    __syncwarp();
    const unsigned end = min(own_end, at + warp_places);
    for (unsigned i = max(own_begin, at) + lane_of_row; i < end; i += lanes) sum += products[i - at];
    __syncwarp();
  }
  const bool has_bad = __any_sync(~0U, is_bad) != 0;
  if (has_bad && lane_of_row == 0 && is_row) {
    report_column(a.guard, a.columns, a.column_limit, r.begin, r.end, row);
  }
  __syncwarp();
  for (unsigned step = lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
  if (lane_of_row != 0 || !is_row) return;
  if (has_bad) sum = sum_of_present<Gathered, Sum>(a, gathered, r, row);
  write_result(a, row, sum);
}

/// Sums the rows of the list, a piece for each warp. The warp that finishes a row's last piece adds the pieces up.
template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_long_rows(const __grid_constant__ product_arguments<Value, Column> a, const Value* gathered,
                  const __grid_constant__ long_row_list list) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned long long count = *list.count;
  const std::uint64_t rows = min(static_cast<std::uint64_t>(count >> long_row_list::piece_bits), list.most_rows);
  const std::uint64_t pieces = min(static_cast<std::uint64_t>(count & long_row_list::piece_mask), list.most_pieces);
  volatile Sum* const sums = static_cast<volatile Sum*>(list.sums);
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (block_threads / 32);
  for (std::uint64_t t = std::uint64_t{blockIdx.x} * (block_threads / 32) + threadIdx.x / 32; t < pieces; t += warps) {
    std::uint64_t low = 0;  // the last row whose first piece is not past t
    for (std::uint64_t high = rows; high - low > 1;) {
      const std::uint64_t middle = (low + high) / 2;
      (list.rows[middle].first_piece <= t ? low : high) = middle;
    }
    const long_row& r = list.rows[low];
    const std::uint64_t begin = r.begin + (t - r.first_piece) * piece_entries;
    if (begin >= r.end) continue;
    const Sum sum =
        sum_of_piece<Gathered, Sum>(a, gathered, row_range{begin, min(r.end, begin + piece_entries)}, r.row);
    const auto of_row = static_cast<unsigned>((r.end - r.begin + piece_entries - 1) / piece_entries);
    unsigned done = 0;
    if (lane == 0) {
      sums[t] = sum;
      __threadfence();
      done = atomicAdd(&list.rows[low].done, 1U);
    }
    if (__shfl_sync(~0U, done, 0) + 1 < of_row) continue;
    __threadfence();
    Sum all = 0;
    for (unsigned i = lane; i < of_row; i += 32) all += sums[r.first_piece + i];
    all = sum_of_lanes<32>(all);
    if (lane == 0) write_result(a, r.row, all);
  }
}

/// Sums the long rows of a matrix whose rows may overlap, so that nothing bounds how many are long: a block looks at
/// one row a thread, and its warps take those that are long, piece after piece.
template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    find_long_rows(const __grid_constant__ product_arguments<Value, Column> a, const Value* gathered,
                   std::uint64_t long_entries) {
  constexpr unsigned warps = block_threads / 32;
  __shared__ std::uint64_t found[block_threads];
  __shared__ unsigned count;
  __shared__ Sum sum_of_warp[warps];
  if (is_skipped(a)) return;
  for (std::uint64_t base = std::uint64_t{blockIdx.x} * block_threads; base < a.rows.rows;
       base += std::uint64_t{gridDim.x} * block_threads) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const std::uint64_t own = base + threadIdx.x;
    if (own < a.rows.rows) {
      const row_range r{a.rows.begin(own), a.rows.end(own)};
      if (a.rows.is_row(r) && r.length() >= long_entries) found[atomicAdd(&count, 1U)] = own;
    }
    __syncthreads();
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t row = found[i];
      const row_range r{a.rows.begin(row), a.rows.end(row)};
      Sum sum = 0;
      for (std::uint64_t begin = r.begin + threadIdx.x / 32 * piece_entries; begin < r.end;
           begin += warps * piece_entries) {
        sum += sum_of_piece<Gathered, Sum>(a, gathered, row_range{begin, min(r.end, begin + piece_entries)}, row);
      }
      if (threadIdx.x % 32 == 0) sum_of_warp[threadIdx.x / 32] = sum;
      __syncthreads();
      if (threadIdx.x == 0) {
        Sum all = 0;
        for (const Sum of_warp : sum_of_warp) all += of_warp;
        write_result(a, row, all);
      }
      __syncthreads();
    }
    __syncthreads();
  }
}

template <bool Gathered, class Sum, class Value, class Column>
void queue_rows(const context& ctx, const char* operation, const rows_decision& d,
                const product_arguments<Value, Column>& a, const Value* gathered, const long_row_list& list) {
  const bool leaves_long_rows = a.entries >= d.long_entries;
  if (d.rows_of_warp == 0) {
    const std::uint64_t blocks = ceil_div(a.rows.rows, std::uint64_t{warps_of_a_block} * warp_rows);
    launch(ctx, operation, sum_rows_by_warps<Gathered, Sum, Value, Column>, blocks, a, gathered, list,
           leaves_long_rows);
  } else {
    const std::uint64_t blocks = ceil_div(a.rows.rows, std::uint64_t{warps_of_a_block} * d.rows_of_warp);
    launch(ctx, operation, sum_short_rows<Gathered, Sum, Value, Column>, blocks, a, gathered, list, leaves_long_rows,
           d.rows_of_warp);
  }
  if (!leaves_long_rows) return;
  constexpr std::uint64_t blocks_each = 6;
  const auto resident = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each;
  if (d.has_list()) {
    const std::uint64_t blocks = std::min(resident, ceil_div(d.most_pieces, warps_of_a_block));
    launch(ctx, operation, sum_long_rows<Gathered, Sum, Value, Column>, blocks, a, gathered, list);
  } else {
    const std::uint64_t blocks = std::min(resident, ceil_div(a.rows.rows, block_threads));
    launch(ctx, operation, find_long_rows<Gathered, Sum, Value, Column>, blocks, a, gathered, d.long_entries);
  }
}

template <class Value, class Sum>
void multiply_rows_as(const context& ctx, const char* operation, const primitives::spmv_problem& p,
                      const rows_decision& d, const primitives::spmv_buffers& b, const csr_guard& guard,
                      const x_source& source, std::byte* scratch, const std::uint32_t* skips) {
  long_row_list list;
  list.long_entries = d.long_entries;
  if (d.has_list()) {
    list.count = reinterpret_cast<unsigned long long*>(scratch + d.count_at);
    list.rows = reinterpret_cast<long_row*>(scratch + d.list_at);
    list.sums = scratch + d.sums_at;
    list.most_rows = d.most_long_rows;
    list.most_pieces = d.most_pieces;
    require(cudaMemsetAsync(list.count, 0, sizeof *list.count, ctx.stream()), operation);
  }
  const auto* const from = static_cast<const Value*>(source.gathered);
  if (source.compressed != nullptr) {
    auto a = arguments_of<Value, std::uint16_t>(p, b, guard);
    a.columns = source.compressed;
    a.bases = source.compressed_bases;
    a.skips = skips;
    return queue_rows<false, Sum>(ctx, operation, d, a, from, list);
  }
  const auto queue = [&]<class Column>(Column) {
    auto a = arguments_of<Value, Column>(p, b, guard);
    a.skips = skips;
    if (from != nullptr) return queue_rows<true, Sum>(ctx, operation, d, a, from, list);
    return queue_rows<false, Sum>(ctx, operation, d, a, from, list);
  };
  if (bytes(p.column) == 8) return queue(0ULL);
  return queue(0U);
}

}  // namespace sheaf::cuda
