#pragma once

#include "cuda/sparse/sums/long_rows.cuh"

// Rows of which a warp takes several at once.
namespace sheaf::cuda {

// What few warps come to stands in functions of its own, which sum_short_rows calls when it has little left to
// remember: registers that its own reads need are not taken by theirs.

/// Sums those of a warp's rows whose lanes have bits in `lanes_of_rows`, one after another, wherever they lie.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __noinline__ void sum_rows_one_by_one(const product_arguments<Value, Column>& args, const Value* gathered,
                                                 const long_row_list& list, bool leaves_long_rows,
                                                 std::uint64_t first_row, unsigned log2_lanes, unsigned lanes_of_rows) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned i = 0; i < 32; i += 1U << log2_lanes) {
    if ((lanes_of_rows >> i & 1) == 0) continue;
    const std::uint64_t row = first_row + (i >> log2_lanes);
    row_range range{args.rows.begin(row), args.rows.end(row)};
    if (!args.rows.is_row(range)) {
      if (lane == 0) report_row(args.guard, args.rows, row);
      range = {0, 0};
    }
    int is_left = 0;
    if (leaves_long_rows && lane == 0) is_left = leave_row(list, row, range) ? 1 : 0;
    if (__shfl_sync(~0U, is_left, 0) != 0) continue;
    const Sum sum = sum_of_piece<Gathered, Sum>(args, gathered, range, row);
    if (lane == 0) write_result(args, row, sum);
  }
}

/// Sums a row anew among whose neighbours, if not in itself, bad columns are.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __noinline__ void mend_row(const product_arguments<Value, Column>& a, const Value* gathered,
                                      std::uint64_t row) {
  const row_range r{a.rows.begin(row), a.rows.end(row)};
  report_column(a.guard, a.columns, a.column_limit, r.begin, r.end, row);
  write_result(a, row, sum_of_present<Gathered, Sum>(a, gathered, r, row));
}

/// One instruction on devices that have it.
__device__ __forceinline__ std::uint32_t max_of_three(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return __vimax3_u32(a, b, c);
}
__device__ __forceinline__ unsigned long long max_of_three(unsigned long long a, unsigned long long b,
                                                           unsigned long long c) {
  return max(max(a, b), c);
}

/// Products of 32 * Places entries side by side, of which the lane needs those of the places from `skipped` on that
/// come before `left`. All columns and values are read, whether needed or not, and then all x, with addresses that are
/// constants apart and no conditions before them: so the reads of a warp are under way together. Sets `most` to the
/// largest column that is read, if it is larger.
template <bool Gathered, unsigned Places, class Sum, class Value, class Column>
__device__ __forceinline__ void make_products_of_window(const Column* columns, const Value* values, const Value* x_from,
                                                        const Value* gathered, int skipped, int left, Column last,
                                                        Sum (&product)[Places], Column& most) {
  Column column[Places];
  Value value[Places];
#pragma unroll
  for (unsigned k = 0; k < Places; ++k) {
    column[k] = __ldcs(columns + k * 32);
    value[k] = __ldcs(values + k * 32);
  }
  __syncwarp();  // nor does the compiler put a read below the first use of another
  // With f64, banded matrices and grids are 4 to 5 % faster by two columns at once, and f32 1.5 % slower.
  constexpr bool takes_two = !is_compressed<Column> && sizeof(Value) == 8;
  static_assert(!takes_two || Places % 2 == 0);
#pragma unroll
  for (unsigned k = 0; k < Places; ++k) {
    // What lies before may be of no row, and compressed columns count from another base there, which may lead past x.
    // Others lead to the last of x at most; a bad one has the rows behind it mended, too, which do not have it.
    const int place = static_cast<int>(k * 32);
    const bool is_needed = place < left && (takes_two || place >= skipped);
    column[k] = is_needed ? column[k] : Column{0};
    const Value x = Gathered ? __ldcs(gathered + k * 32) : __ldg(x_from + min(column[k], last));
    product[k] = static_cast<Sum>(value[k]) * static_cast<Sum>(x);
    if constexpr (!takes_two) {
      most = max(most, column[k]);
    } else if (k % 2 == 1) {
      most = max_of_three(most, column[k - 1], column[k]);
    }
  }
}

constexpr unsigned lane_places = window_places / 32;

/// The rows of a warp, as its lanes know them. Several lanes have a row; places of the warp are counted from the first
/// of all its rows.
struct rows_of_lanes {
  std::uint64_t row;
  row_range range;
  std::uint64_t begin;     ///< place of the first row
  std::uint64_t length;    ///< of all rows
  unsigned lanes_of_rows;  ///< lanes that have a row at all
  bool is_row;
  bool is_joined;  ///< the row is right, and begins where the one before it ends
};

__device__ __forceinline__ rows_of_lanes find_rows(const row_offsets& rows, std::uint64_t first_row,
                                                   unsigned log2_lanes) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned lanes = 1U << log2_lanes;
  rows_of_lanes work;
  work.row = first_row + (lane >> log2_lanes);
  work.is_row = work.row < rows.rows;
  work.range = {0, 0};
  if (work.is_row) work.range = {rows.begin(work.row), rows.end(work.row)};
  work.is_joined = rows.is_row(work.range);
  if (rows.lie_anywhere) {
    const std::uint64_t end_before = __shfl_up_sync(~0U, work.range.end, lanes);
    work.is_joined &= !work.is_row || lane < lanes || work.range.begin == end_before;
  }
  work.lanes_of_rows = __ballot_sync(~0U, work.is_row ? 1 : 0);
  work.begin = __shfl_sync(~0U, work.range.begin, 0);
  work.length = __shfl_sync(~0U, work.range.end, 31 - __clz(static_cast<int>(work.lanes_of_rows))) - work.begin;
  return work;
}

/// Stages the products of the first 32 * Places places of a window.
template <bool Gathered, unsigned Places, class Sum, class Value, class Column>
__device__ __forceinline__ void stage_places(const product_arguments<Value, Column>& args, const Value* gathered,
                                             const Value* x_from, std::uint64_t first, unsigned skipped, unsigned left,
                                             Sum* products, Column& most) {
  const unsigned lane = threadIdx.x % 32;
  Sum product[Places];
  make_products_of_window<Gathered>(args.columns + first + lane, args.values + first + lane, x_from,
                                    gathered + first + lane, static_cast<int>(skipped - lane),
                                    static_cast<int>(skipped + left - lane), args.last_column, product, most);
#pragma unroll
  for (unsigned k = 0; k < Places; ++k) products[lane + k * 32] = product[k];
}

/// Stages the products of a window's places from `begin` on, of which there are `left`. The window of the last places
/// of the matrix is read from before them on: returns how many places that are. Rows that fill a window in part have
/// only so much of it read, by 64 places: what lies behind is read by another warp.
template <bool Gathered, class Sum, class Value, class Column>
__device__ __forceinline__ unsigned stage_window(const product_arguments<Value, Column>& args, const Value* gathered,
                                                 const Value* x_from, std::uint64_t begin, unsigned left, Sum* products,
                                                 Column& most) {
  static_assert(lane_places == 8);
  const std::uint64_t first = min(begin, args.entries - window_places);
  const auto skipped = static_cast<unsigned>(begin - first);
  const unsigned needed = skipped + left;
  if (needed > 192) {
    stage_places<Gathered, 8>(args, gathered, x_from, first, skipped, left, products, most);
  } else if (needed > 128) {
    stage_places<Gathered, 6>(args, gathered, x_from, first, skipped, left, products, most);
  } else if (needed > 64) {
    stage_places<Gathered, 4>(args, gathered, x_from, first, skipped, left, products, most);
  } else {
    stage_places<Gathered, 2>(args, gathered, x_from, first, skipped, left, products, most);
  }
  __syncwarp();
  return skipped;
}

/// Adds every so manieth of `left` products to a lane's sum.
template <class Sum>
__device__ __forceinline__ void add_products_of_lane(const Sum* from, int left, unsigned lanes, Sum& sum) {
#pragma unroll 1
  for (; left > 0; left -= static_cast<int>(lane_places)) {
#pragma unroll
    for (int k = 0; k < static_cast<int>(lane_places); ++k, from += lanes) {
      if (k < left) sum += *from;
    }
  }
}

/// The first of the places `place`, `place` + 2^log2_step, ... that does not come before a window: which lane adds a
/// place follows from the row's own, wherever windows cut the row.
__device__ __forceinline__ unsigned from_window(unsigned place, unsigned window, unsigned log2_step) {
  const unsigned before = place < window ? window - place : 0;
  return place + ((before + (1U << log2_step) - 1) >> log2_step << log2_step);
}

/// Adds products of the window of places [at, end) to rows that the whole warp adds, one after another, up to the row
/// that goes on behind it.
/// @param products  of what was read, `skipped` places of which come before the window
/// @param own  places of the lane's row
/// @param whole  first lanes of rows that are yet to be added
/// @param begun  in shared memory, a number of each lane: what it has of the row that goes on
template <class Sum>
__device__ __forceinline__ void add_whole_rows(const Sum* products, unsigned skipped, unsigned at, unsigned end,
                                               uint2 own, unsigned& whole, Sum* begun, Sum& sum) {
  const unsigned lane = threadIdx.x % 32;
  while (whole != 0) {
    const int of = __ffs(static_cast<int>(whole)) - 1;
    const unsigned whole_begin = __shfl_sync(~0U, own.x, of);
    const unsigned whole_end = __shfl_sync(~0U, own.y, of);
    if (max(whole_begin, at) >= end) break;
    Sum part = whole_begin < at ? begun[lane] : Sum{0};
    for (unsigned i = from_window(whole_begin + lane, at, 5); i < min(whole_end, end); i += 32)
      part += products[skipped + i - at];
    if (whole_end > end) {
      begun[lane] = part;
      break;
    }
    part = __shfl_sync(~0U, sum_of_lanes<32>(part), 0);
    if (static_cast<int>(lane) == of) sum = part;
    whole &= whole - 1;
  }
}

/// Short rows, 2^log2_rows of them for each warp, up to 32. The products of 256 places go to shared memory, where the
/// lanes of a row, as many for each, add its own. A row that would keep its lanes busy while others wait is added by
/// the whole warp; a long one is left to others. The matrix has at least as many places. `Blocks` of a multiprocessor
/// are resident.
template <unsigned Blocks, bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads, Blocks)
    sum_short_rows(const __grid_constant__ product_arguments<Value, Column> args, const Value* gathered,
                   const __grid_constant__ long_row_list list, bool leaves_long_rows, unsigned log2_rows) {
  constexpr std::uint64_t most_places = 1 << 30;
  __shared__ Sum products_of_warps[warps_of_a_block][window_places];
  __shared__ Sum begun_of_warps[warps_of_a_block][32];
  if (is_skipped(args)) return;
  Sum* const products = products_of_warps[threadIdx.x / 32];
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t first_row = (std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32) << log2_rows;
  if (first_row >= args.rows.rows) return;
  const unsigned log2_lanes = 5 - log2_rows;
  const unsigned lanes = 1U << log2_lanes;
  const unsigned lane_of_row = lane & (lanes - 1);
  const rows_of_lanes work = find_rows(args.rows, first_row, log2_lanes);
  if (__all_sync(~0U, work.is_joined) == 0 || work.length >= most_places) {
    return sum_rows_one_by_one<Gathered, Sum>(args, gathered, list, leaves_long_rows, first_row, log2_lanes,
                                              work.lanes_of_rows);
  }
  const auto all_places = static_cast<unsigned>(work.length);
  const unsigned own_begin = work.is_row ? static_cast<unsigned>(work.range.begin - work.begin) : all_places;
  const unsigned own_end = work.is_row ? static_cast<unsigned>(work.range.end - work.begin) : all_places;
  const unsigned own_places = own_end - own_begin;
  bool is_own = work.is_row && lane_of_row == 0;
  // Rows that the whole warp adds, and among these, rows that are left, by their first lanes.
  unsigned whole = __ballot_sync(~0U, is_own && own_places > most_of_a_lane << log2_lanes ? 1 : 0);
  unsigned left_out = 0;
  if (leaves_long_rows && whole != 0) {
    const bool is_left = is_own && own_places >= list.long_entries && leave_row(list, work.row, work.range);
    if (is_left) is_own = false;
    left_out = __ballot_sync(~0U, is_left ? 1 : 0);
    whole &= ~left_out;
  }
  const bool is_lanes = work.is_row && own_places <= most_of_a_lane << log2_lanes;
  const Value* const x_from = x_of_row(args, first_row);
  Column most = 0;
  Sum sum = 0;
  unsigned at = 0;
  while (true) {
    // The rows up to the next that is left out.
    const int next = __ffs(static_cast<int>(left_out)) - 1;
    const unsigned limit = left_out == 0 ? all_places : __shfl_sync(~0U, own_begin, next);
    for (; at < limit; at += window_places) {
      const unsigned skipped =
          stage_window<Gathered>(args, gathered, x_from, work.begin + at, limit - at, products, most);
      const unsigned end = min(at + window_places, limit);
      const unsigned own_at = from_window(own_begin + lane_of_row, at, log2_lanes);
      const int own_left = is_lanes ? static_cast<int>(min(own_end, end) - own_at + lanes - 1) : 0;
      add_products_of_lane(products + (skipped + own_at - at), own_left >> log2_lanes, lanes, sum);
      add_whole_rows(products, skipped, at, end, {own_begin, own_end}, whole, begun_of_warps[threadIdx.x / 32], sum);
      __syncwarp();
    }
    if (left_out == 0) break;
    at = __shfl_sync(~0U, own_end, next);
    left_out &= left_out - 1;
  }
  for (unsigned step = lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
  const bool has_bad = !is_compressed<Column> && most >= args.column_limit;
  if (__any_sync(~0U, has_bad ? 1 : 0) != 0) {
    if (is_own) mend_row<Gathered, Sum>(args, gathered, work.row);
  } else if (is_own) {
    write_result(args, work.row, sum);
  }
}

// Products that nobody adds to in the same instruction.
__device__ __forceinline__ double rounded_product(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }

/// The sums that sum_short_rows makes, in its order, for a part of a matrix that has too few places to be read at once.
/// A warp takes a row.
template <bool Gathered, class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    sum_few_places(const __grid_constant__ product_arguments<Value, Column> args, const Value* gathered,
                   unsigned log2_rows) {
  if (is_skipped(args)) return;
  const std::uint64_t row = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (row >= args.rows.rows) return;
  const unsigned lane = threadIdx.x % 32;
  row_range places{args.rows.begin(row), args.rows.end(row)};
  if (!args.rows.is_row(places)) {
    if (lane == 0) report_row(args.guard, args.rows, row);
    places = {0, 0};
  }
  const unsigned lanes_of_row = 32U >> log2_rows;
  const unsigned lanes = places.length() > most_of_a_lane * lanes_of_row ? 32 : lanes_of_row;
  const entry_range<Value, Column> range(args, gathered, places.begin, row);
  Sum sum = 0;
  bool is_bad = false;
  for (std::uint64_t i = lane; lane < lanes && i < places.length(); i += lanes) {
    const Column column = range.columns[i];
    is_bad |= !is_compressed<Column> && column >= args.column_limit;
    if (is_bad) continue;
    const Value x = Gathered ? range.gathered[i] : range.x_from[column];
    sum += rounded_product(static_cast<Sum>(range.values[i]), static_cast<Sum>(x));
  }
  const bool has_bad = __any_sync(~0U, is_bad ? 1 : 0) != 0;
  for (unsigned step = lanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0U, sum, step);
  if (lane != 0) return;
  if (has_bad) return mend_row<Gathered, Sum>(args, gathered, row);
  write_result(args, row, sum);
}

}  // namespace sheaf::cuda
