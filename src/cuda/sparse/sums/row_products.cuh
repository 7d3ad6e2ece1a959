#pragma once

#include "cuda/sparse/sums/matrix.cuh"
#include "cuda/sparse/sums/sum_rows.hpp"

// Products of the entries of a row, and their sum by a warp.
namespace sheaf::cuda {

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

  __device__ entry_range(const product_arguments<Value, Column>& a, const Value* gathered_x, std::uint64_t first,
                         std::uint64_t row)
      : columns(a.columns + first),
        values(a.values + first),
        x_from(x_of_row(a, row)),
        gathered(gathered_x == nullptr ? nullptr : gathered_x + first) {}
};

template <unsigned Lanes, class Sum>
__device__ __forceinline__ Sum sum_of_lanes(Sum sum) {
#pragma unroll
  for (unsigned step = Lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step, Lanes);
  return sum;
}

/// Adds the sums of a block's warps, which their first lanes have, in their order. Thread 0 has the result; a barrier
/// follows before the next call.
template <unsigned Threads, class Sum>
__device__ __forceinline__ Sum sum_of_warps(Sum of_warp) {
  __shared__ Sum sums[Threads / 32];
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = of_warp;
  __syncthreads();
  Sum all = 0;
  if (threadIdx.x == 0) {
    for (const Sum sum : sums) all += sum;
  }
  return all;
}

/// The sum of a row, or of a piece of it, some of whose columns are bad: their entries are absent, whatever their
/// values are. One thread does it, because the kernels that met them read values before they know columns.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __noinline__ Sum sum_of_present(const product_arguments<Value, Column>& args, const Value* gathered,
                                           row_range places, std::uint64_t row) {
  const entry_range<Value, Column> range(args, gathered, places.begin, row);
  Sum sum = 0;
  for (std::uint64_t i = 0; i < places.length(); ++i) {
    const Column column = range.columns[i];
    if (!is_compressed<Column> && column >= args.column_limit) continue;
    const Value x = Gathered ? range.gathered[i] : range.x_from[column];
    sum += static_cast<Sum>(range.values[i]) * static_cast<Sum>(x);
  }
  return sum;
}

/// The entries of some rows that a lane reads at once.
template <unsigned Rows, unsigned Places, class Value, class Column>
struct entries_of_lane {
  Column column[Rows][Places];
  Value value[Rows][Places];
  Value x[Rows][Places];
  int left[Rows];  ///< places of the row from the lane's first one on

  /// Reads the entries of places from `at` on in each row, and x if that was gathered. No condition stands before a
  /// read, so that those of all rows are under way together: lanes that have no place in a row read its first one, and
  /// those of an empty row the first of all.
  template <bool Gathered, class Arguments>
  __device__ __forceinline__ void read(const Arguments& args, const Value* gathered, const row_range (&places)[Rows],
                                       std::uint64_t at) {
    constexpr std::uint64_t most_left = 1 << 30;
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (unsigned k = 0; k < Rows; ++k) {
      const std::uint64_t length = places[k].length();
      left[k] = (at < length ? static_cast<int>(min(length - at, most_left)) : 0) - static_cast<int>(lane);
      const std::uint64_t from = (length == 0 ? 0 : places[k].begin) + (at < length ? at : 0);
#pragma unroll
      for (unsigned i = 0; i < Places; ++i) {
        const unsigned place = has(k, i) ? lane + i * 32 : 0;
        column[k][i] = __ldcs(args.columns + from + place);
        value[k][i] = __ldcs(args.values + from + place);
        if (Gathered) x[k][i] = __ldcs(gathered + from + place);
      }
    }
  }

  /// Reads x, or checks columns alone if it was gathered. Sets bits of bad[k] where a column of row k is bad.
  template <bool Gathered, class Arguments>
  __device__ __forceinline__ void read_x(const Arguments& args, const std::uint64_t (&row)[Rows], Column (&bad)[Rows]) {
#pragma unroll
    for (unsigned k = 0; k < Rows; ++k) {
      const Value* const x_from = x_of_row(args, row[k]);
#pragma unroll
      for (unsigned i = 0; i < Places; ++i) {
        const Column needed = has(k, i) ? column[k][i] : Column{0};
        const Column near = is_compressed<Column> ? needed : min(needed, args.last_column);
        bad[k] |= near ^ needed;
        if (!Gathered) x[k][i] = __ldg(x_from + near);
      }
    }
  }

  template <class Sum>
  __device__ __forceinline__ void add(Sum (&sum)[Rows]) const {
#pragma unroll
    for (unsigned k = 0; k < Rows; ++k) {
#pragma unroll
      for (unsigned i = 0; i < Places; ++i) {
        const Sum product = static_cast<Sum>(value[k][i]) * static_cast<Sum>(x[k][i]);
        sum[k] += has(k, i) ? product : Sum{0};
      }
    }
  }

 private:
  __device__ __forceinline__ bool has(unsigned k, unsigned i) const { return static_cast<int>(i * 32) < left[k]; }
};

/// Sums of `Rows` rows, or pieces of rows, by the lanes of a warp, all of which call this; the first lane has them.
template <unsigned Rows, unsigned Places, bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ void sum_by_warp(const product_arguments<Value, Column>& args, const Value* gathered,
                                            const row_range (&places)[Rows], const std::uint64_t (&row)[Rows],
                                            Sum (&sum)[Rows]) {
  std::uint64_t most = 0;
  Column bad[Rows];
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    most = max(most, places[k].length());
    bad[k] = 0;
    sum[k] = 0;
  }
  for (std::uint64_t at = 0; at < most; at += Places * 32) {
    entries_of_lane<Rows, Places, Value, Column> entries;
    entries.template read<Gathered>(args, gathered, places, at);
    __syncwarp();  // the compiler puts no read of an entry below the first use of another
    entries.template read_x<Gathered>(args, row, bad);
    entries.add(sum);
  }
  __syncwarp();
#pragma unroll
  for (unsigned k = 0; k < Rows; ++k) {
    const bool has_no_columns = !is_compressed<Column> && args.column_limit == 0 && places[k].length() > 0;
    sum[k] = sum_of_lanes<32>(sum[k]);
    if (__any_sync(~0U, bad[k] != 0 ? 1 : 0) != 0 || has_no_columns) {
      if (threadIdx.x % 32 == 0) {
        report_column(args.guard, args.columns, args.column_limit, places[k].begin, places[k].end, row[k]);
      }
      sum[k] = sum_of_present<Gathered, Sum>(args, gathered, places[k], row[k]);
    }
  }
}

/// The sum of a row, or of a piece of it, by a warp.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ Sum sum_of_piece(const product_arguments<Value, Column>& a, const Value* gathered,
                                            row_range piece, std::uint64_t row) {
  Sum sum[1];
  sum_by_warp<1, 8, Gathered>(a, gathered, {piece}, {row}, sum);
  return sum[0];
}

/// Whether nothing is to be done; the same in all threads.
template <class Value, class Column>
__device__ __forceinline__ bool is_skipped(const product_arguments<Value, Column>& a) {
  return a.skips != nullptr && *static_cast<const volatile std::uint32_t*>(a.skips) != 0;
}

}  // namespace sheaf::cuda
