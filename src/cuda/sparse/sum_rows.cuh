#pragma once

#include "cuda/sparse/matrix.cuh"
#include "cuda/sparse/sum_rows.hpp"

// Sums row by row. A row belongs to a group of lanes, each of which takes every so manieth chunk of four places; a
// chunk begins at a multiple of four, so that its columns and its values are vectors whatever the row's begin. Long
// rows are left to a second kernel, where warps sum their pieces. Which lane adds what, and in which order, follows
// from the matrix alone.
namespace sheaf::cuda {

constexpr unsigned chunk_places = 4;
constexpr unsigned rows_in_flight = 2;  ///< rows of a group that it loads at the same time

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

/// Four places and what is there.
template <class Value, class Column>
struct chunk {
  Column column[chunk_places];
  Value value[chunk_places];
  bool is_in[chunk_places];  ///< lies in the row

  /// Keeps: what is loaded is to stay in L2.
  template <bool Keeps = false>
  __device__ __forceinline__ void load(const product_arguments<Value, Column>& a, std::uint64_t first, row_range r) {
#pragma unroll
    for (unsigned k = 0; k < chunk_places; ++k) is_in[k] = first + k >= r.begin && first + k < r.end;
    if (a.is_aligned && first + chunk_places <= a.entries) {
      if (first < r.end) {
        load_vectors<Keeps>(a.columns + first, column);
        load_vectors<Keeps>(a.values + first, value);
      }
      return;
    }
#pragma unroll
    for (unsigned k = 0; k < chunk_places; ++k) {
      if (is_in[k]) {
        column[k] = loaded<Keeps>(a.columns + first + k);
        value[k] = loaded<Keeps>(a.values + first + k);
      }
    }
  }

 private:
  template <bool Keeps, class T>
  static __device__ __forceinline__ T loaded(const T* from) {
    if constexpr (Keeps) return __ldg(from);
    return __ldcs(from);
  }
  template <bool Keeps, class T>
  static __device__ __forceinline__ void load_vectors(const T* from, T (&to)[chunk_places]) {
    using vector = std::conditional_t<sizeof to == 8, uint2, uint4>;
    constexpr unsigned vectors = sizeof to / sizeof(vector);
    vector bits[vectors];
#pragma unroll
    for (unsigned k = 0; k < vectors; ++k) bits[k] = loaded<Keeps>(reinterpret_cast<const vector*>(from) + k);
    memcpy(to, bits, sizeof to);
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

/// Adds the products of a chunk in the order of their places. Entries with a bad column are left out, and noted.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ void add_chunk(const product_arguments<Value, Column>& a, const Value* x_from,
                                          const Value* gathered, const chunk<Value, Column>& c, std::uint64_t first,
                                          Sum& sum, bool& is_bad) {
  Value x[chunk_places];
  bool is_good[chunk_places];
#pragma unroll
  for (unsigned k = 0; k < chunk_places; ++k) {
    const bool has_column = is_compressed<Column> || c.column[k] < a.column_limit;
    is_good[k] = c.is_in[k] && has_column;
    is_bad |= c.is_in[k] && !has_column;
    if (is_good[k]) x[k] = Gathered ? __ldcs(gathered + first + k) : __ldg(x_from + c.column[k]);
  }
#pragma unroll
  for (unsigned k = 0; k < chunk_places; ++k) {
    if (is_good[k]) sum += static_cast<Sum>(c.value[k]) * static_cast<Sum>(x[k]);
  }
}

/// Sums the places of r that fall to this lane of `Lanes`.
template <unsigned Lanes, bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ Sum sum_of_lane(const product_arguments<Value, Column>& a, const Value* gathered,
                                           row_range r, std::uint64_t row, unsigned lane, bool& is_bad) {
  const Value* const x_from = x_of_row(a, row);
  Sum sum = 0;
  for (std::uint64_t at = r.begin / chunk_places * chunk_places + lane * chunk_places; at < r.end;
       at += Lanes * chunk_places) {
    chunk<Value, Column> c;
    c.load(a, at, r);
    add_chunk<Gathered>(a, x_from, gathered, c, at, sum, is_bad);
  }
  return sum;
}

template <unsigned Lanes, class Sum>
__device__ __forceinline__ Sum sum_of_lanes(Sum sum) {
#pragma unroll
  for (unsigned step = Lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step, Lanes);
  return sum;
}

template <unsigned Lanes, bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_rows(const __grid_constant__ product_arguments<Value, Column> a, const Value* gathered,
             const __grid_constant__ long_row_list list, bool leaves_long_rows) {
  constexpr unsigned groups = block_threads / Lanes;
  const unsigned lane = threadIdx.x % Lanes;
  const std::uint64_t first_row = std::uint64_t{blockIdx.x} * (groups * rows_in_flight) + threadIdx.x / Lanes;
  row_range places[rows_in_flight];
  std::uint64_t at[rows_in_flight];
  const Value* x_from[rows_in_flight];
  Sum sum[rows_in_flight];
  bool is_left[rows_in_flight];
  bool is_bad[rows_in_flight];
#pragma unroll
  for (unsigned k = 0; k < rows_in_flight; ++k) {
    const std::uint64_t row = first_row + k * groups;
    places[k] = row < a.rows.rows ? row_range{a.rows.begin(row), a.rows.end(row)} : row_range{0, 0};
  }
#pragma unroll
  for (unsigned k = 0; k < rows_in_flight; ++k) {
    const std::uint64_t row = first_row + k * groups;
    if (!a.rows.is_row(places[k])) {
      if (lane == 0) report_row(a.guard, a.rows, row);
      places[k] = {0, 0};
    }
    is_left[k] = leaves_long_rows && places[k].length() >= list.long_entries;
    is_bad[k] = false;
    x_from[k] = x_of_row(a, row);
    sum[k] = 0;
    at[k] = places[k].begin / chunk_places * chunk_places + lane * chunk_places;
  }
  bool any_left = false;
#pragma unroll
  for (unsigned k = 0; k < rows_in_flight; ++k) any_left |= is_left[k];
  if (__any_sync(~0U, any_left)) {
#pragma unroll
    for (unsigned k = 0; k < rows_in_flight; ++k) {
      // Without a list, the second kernel looks for the long rows itself.
      int is_kept = is_left[k] ? 1 : 0;
      if (is_left[k] && lane == 0 && list.count != nullptr) {
        is_kept = list.add(first_row + k * groups, places[k]) ? 1 : 0;
      }
      is_left[k] = __shfl_sync(~0U, is_kept, 0, Lanes) != 0;
      if (is_left[k]) at[k] = places[k].end;
    }
  }
  while (true) {
    bool is_active[rows_in_flight];
    bool any_active = false;
#pragma unroll
    for (unsigned k = 0; k < rows_in_flight; ++k) {
      is_active[k] = at[k] < places[k].end;
      any_active |= is_active[k];
    }
    if (!any_active) break;
    chunk<Value, Column> c[rows_in_flight];
#pragma unroll
    for (unsigned k = 0; k < rows_in_flight; ++k) {
      if (is_active[k]) c[k].load(a, at[k], places[k]);
    }
#pragma unroll
    for (unsigned k = 0; k < rows_in_flight; ++k) {
      if (is_active[k]) add_chunk<Gathered>(a, x_from[k], gathered, c[k], at[k], sum[k], is_bad[k]);
      at[k] += Lanes * chunk_places;
    }
  }
#pragma unroll
  for (unsigned k = 0; k < rows_in_flight; ++k) {
    const std::uint64_t row = first_row + k * groups;
    if (is_bad[k]) report_column(a.guard, a.columns, a.column_limit, places[k].begin, places[k].end, row);
    __syncwarp();
    const Sum of_row = sum_of_lanes<Lanes>(sum[k]);
    if (lane == 0 && row < a.rows.rows && !is_left[k]) write_result(a, row, of_row);
  }
}

/// The sum of a piece of a row; every lane of the warp calls this, and the first has it.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ Sum sum_of_piece(const product_arguments<Value, Column>& a, const Value* gathered,
                                            row_range piece, std::uint64_t row) {
  bool is_bad = false;
  Sum sum = sum_of_lane<32, Gathered, Sum>(a, gathered, piece, row, threadIdx.x % 32, is_bad);
  if (is_bad) report_column(a.guard, a.columns, a.column_limit, piece.begin, piece.end, row);
  __syncwarp();
  return sum_of_lanes<32>(sum);
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

template <unsigned Lanes, bool Gathered, class Sum, class Value, class Column>
void queue_rows(const context& ctx, const char* operation, const rows_decision& d,
                const product_arguments<Value, Column>& a, const Value* gathered, const long_row_list& list) {
  constexpr std::uint64_t rows_each = block_threads / Lanes * rows_in_flight;
  const bool leaves_long_rows = a.entries >= d.long_entries;
  launch(ctx, operation, sum_rows<Lanes, Gathered, Sum, Value, Column>, ceil_div(a.rows.rows, rows_each), a, gathered,
         list, leaves_long_rows);
  if (!leaves_long_rows) return;
  constexpr std::uint64_t blocks_each = 6;
  const auto resident = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * blocks_each;
  if (d.has_list()) {
    const std::uint64_t blocks = std::min(resident, ceil_div(d.most_pieces, block_threads / 32));
    launch(ctx, operation, sum_long_rows<Gathered, Sum, Value, Column>, blocks, a, gathered, list);
  } else {
    const std::uint64_t blocks = std::min(resident, ceil_div(a.rows.rows, block_threads));
    launch(ctx, operation, find_long_rows<Gathered, Sum, Value, Column>, blocks, a, gathered, d.long_entries);
  }
}

template <bool Gathered, class Sum, class Value, class Column>
void queue_rows_of(const context& ctx, const char* operation, const rows_decision& d,
                   const product_arguments<Value, Column>& a, const Value* gathered, const long_row_list& list) {
  switch (d.lanes) {
    case 1: return queue_rows<1, Gathered, Sum>(ctx, operation, d, a, gathered, list);
    case 2: return queue_rows<2, Gathered, Sum>(ctx, operation, d, a, gathered, list);
    case 4: return queue_rows<4, Gathered, Sum>(ctx, operation, d, a, gathered, list);
    case 8: return queue_rows<8, Gathered, Sum>(ctx, operation, d, a, gathered, list);
    case 16: return queue_rows<16, Gathered, Sum>(ctx, operation, d, a, gathered, list);
    default: return queue_rows<32, Gathered, Sum>(ctx, operation, d, a, gathered, list);
  }
}

template <class Value, class Sum>
void multiply_rows_as(const context& ctx, const char* operation, const primitives::spmv_problem& p,
                      const rows_decision& d, const primitives::spmv_buffers& b, const csr_guard& guard,
                      const x_source& source, std::byte* scratch) {
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
    a.is_aligned = reinterpret_cast<std::uintptr_t>(b.a.values.data) % 16 == 0;
    return queue_rows_of<false, Sum>(ctx, operation, d, a, from, list);
  }
  const auto queue = [&]<class Column>(Column) {
    const auto a = arguments_of<Value, Column>(p, b, guard);
    if (from != nullptr) return queue_rows_of<true, Sum>(ctx, operation, d, a, from, list);
    return queue_rows_of<false, Sum>(ctx, operation, d, a, from, list);
  };
  if (bytes(p.column) == 8) return queue(0ULL);
  return queue(0U);
}

}  // namespace sheaf::cuda
