#pragma once

#include "cuda/sparse/prepared/segmented.hpp"
#include "cuda/sparse/sums/row_facts.cuh"
#include "cuda/sparse/sums/running_sum.cuh"
#include "cuda/sparse/sums/short_rows.cuh"

// Kernels that cut a matrix into windows, whose rows lie one behind the other and were found right; and the run, a
// segmented sum by each warp (Blelloch, Heroux and Zagha 1993).
namespace sheaf::cuda {

__device__ __forceinline__ std::uint64_t begin_of_window(const segments_shape& shape, std::uint32_t w,
                                                         const segment_window& window) {
  return min(shape.first + std::uint64_t{w} * shape.stride + window.shift, shape.end);
}

/// Where a warp begins to read, so that window_places places are there: before the window if that is the last.
__device__ __forceinline__ std::uint64_t first_read_of_window(const segments_shape& shape, std::uint64_t begin) {
  return min(begin, shape.places - window_places);
}

constexpr unsigned words_of_window = window_places / 32;  ///< of bits for rows that begin

enum segments_fault : unsigned {
  has_bad_columns = 1,   ///< which were reported
  has_wide_windows = 2,  ///< a window's columns span more than 16 bits
};

/// The window of a place, also of the one behind the last.
__device__ __forceinline__ std::uint32_t window_of_place(const segments_shape& shape, const segment_window* windows,
                                                         std::uint64_t place) {
  const auto w =
      static_cast<std::uint32_t>(min((place - shape.first) / shape.stride, std::uint64_t{shape.windows} - 1));
  return place < begin_of_window(shape, w, windows[w]) ? w - 1 : w;
}

/// A place of window w, from the first that its warp reads.
__device__ __forceinline__ unsigned place_in_window(const segments_shape& shape, const segment_window* windows,
                                                    std::uint32_t w, std::uint64_t place) {
  return static_cast<unsigned>(place - first_read_of_window(shape, begin_of_window(shape, w, windows[w])));
}

static __global__ void __launch_bounds__(block_threads)
    cut_windows(const __grid_constant__ row_offsets rows, const __grid_constant__ segments_shape shape,
                segment_window* windows) {
  const std::uint64_t number = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (number > shape.windows) return;
  segment_window window{};
  if (number < shape.windows) {
    const std::uint64_t at = shape.first + number * shape.stride;
    std::uint64_t row = row_of_place(rows, at);
    if (rows.begin(row) != at) {
      const std::uint64_t next = rows.end(row);
      if (next - at <= shape.most_shift()) {
        window.shift = static_cast<std::uint8_t>(next - at);
        if (next < shape.end) row = row_of_place(rows, next);
      } else {
        window.continues = 1;
      }
    }
    window.row = static_cast<std::uint32_t>(row);
  }
  windows[number] = window;
}

/// Sets the bits of places where rows begin.
static __global__ void __launch_bounds__(block_threads)
    mark_begins(const __grid_constant__ row_offsets rows, const __grid_constant__ segments_shape shape,
                const segment_window* windows, unsigned* begins) {
  const std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row >= rows.rows) return;
  const std::uint64_t place = rows.begin(row);
  if (place == rows.end(row)) return;
  const std::uint32_t w = window_of_place(shape, windows, place);
  const unsigned in_window = place_in_window(shape, windows, w, place);
  atomicOr(begins + std::uint64_t{w} * words_of_window + in_window / 32, 1U << in_window % 32);
}

/// Writes what lanes know of a window, a warp for each, and how many rows begin in it.
static __global__ void __launch_bounds__(block_threads)
    describe_lanes(const __grid_constant__ segments_shape shape, const unsigned* begins, std::uint16_t* lanes,
                   std::uint32_t* begins_of_window) {
  const std::uint64_t window = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (window >= shape.windows) return;
  const unsigned lane = threadIdx.x % 32;
  const unsigned bits = begins[window * words_of_window + lane / 4] >> lane % 4 * 8 & 0xff;
  unsigned before = static_cast<unsigned>(__popc(bits));
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(~0U, before, step);
    if (lane >= step) before += other;
  }
  if (lane == 31) begins_of_window[window] = before;
  before -= static_cast<unsigned>(__popc(bits));
  lanes[window * 32 + lane] = static_cast<std::uint16_t>(bits | before << 8);
}

/// Turns counts into their sums before each.
static __global__ void __launch_bounds__(1024) sum_counts(std::uint32_t* counts, std::uint64_t count) {
  running_sum<1024> sum(0);
  for (std::uint64_t base = 0; base < count; base += 1024) {
    const std::uint64_t i = base + threadIdx.x;
    const std::uint32_t before = sum.before(i < count ? counts[i] : 0);
    if (i < count) counts[i] = before;
  }
}

/// Lists rows with entries and rows without, in their order.
static __global__ void __launch_bounds__(block_threads)
    list_rows(const __grid_constant__ row_offsets rows, const __grid_constant__ segments_shape shape,
              const segment_window* windows, const unsigned* begins, const std::uint32_t* rows_before,
              std::uint32_t* with_entries, std::uint32_t* without) {
  const std::uint64_t row = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (row >= rows.rows) return;
  const std::uint64_t place = rows.begin(row);
  const std::uint32_t w = window_of_place(shape, windows, place);
  const unsigned in_window = place_in_window(shape, windows, w, place);
  std::uint32_t before = rows_before[w];
  for (unsigned word = 0; word < words_of_window && word * 32 < in_window; ++word) {
    unsigned bits = begins[std::uint64_t{w} * words_of_window + word];
    if (in_window - word * 32 < 32) bits &= (1U << (in_window - word * 32)) - 1;
    before += static_cast<unsigned>(__popc(bits));
  }
  if (place < rows.end(row)) {
    with_entries[before] = static_cast<std::uint32_t>(row);
  } else {
    without[row - before] = static_cast<std::uint32_t>(row);
  }
}

/// Where rows may be empty, windows know the number of their first row among those that are not.
static __global__ void __launch_bounds__(block_threads)
    renumber_windows(const __grid_constant__ segments_shape shape, const std::uint32_t* rows_before,
                     segment_window* windows) {
  const std::uint64_t w = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (w < shape.windows) windows[w].row = rows_before[w] - windows[w].continues;
}

static __global__ void __launch_bounds__(block_threads)
    find_cuts(const __grid_constant__ row_offsets rows, const __grid_constant__ segments_shape shape,
              const segment_window* windows, std::uint32_t* begins_of_cut, std::uint32_t* windows_of_cut) {
  const std::uint64_t number = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (number >= shape.windows || windows[number].continues == 0) return;
  const auto w = static_cast<std::uint32_t>(number);
  const std::uint64_t row = row_of_place(rows, begin_of_window(shape, w, windows[w]));
  const std::uint32_t begin = window_of_place(shape, windows, rows.begin(row));
  begins_of_cut[w] = begin;
  if (rows.end(row) <= begin_of_window(shape, w + 1, windows[w + 1])) windows_of_cut[begin] = w - begin + 1;
}

/// Checks the columns of a window, a warp for each, and counts them from the lowest in 16 bits if they span no more.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    compress_windows(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                     const __grid_constant__ segments_shape shape, const segment_window* windows, const Column* columns,
                     std::uint64_t limit, std::uint16_t* columns_to, std::uint32_t* bases, unsigned* faults) {
  const std::uint64_t number = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (number >= shape.windows) return;
  const auto warp = static_cast<std::uint32_t>(number);
  const std::uint64_t begin = begin_of_window(shape, warp, windows[warp]);
  const std::uint64_t end = begin_of_window(shape, warp + 1, windows[warp + 1]);
  unsigned long long low = ~0ULL;
  unsigned long long high = 0;
  for (std::uint64_t place = begin + threadIdx.x % 32; place < end; place += 32) {
    const unsigned long long column = columns[place];
    if (column >= limit) {
      report_column(guard, columns, limit, place, place + 1, row_of_place(rows, place));
      atomicOr(faults, has_bad_columns);
      continue;
    }
    low = min(low, column);
    high = max(high, column);
  }
  __syncwarp();
  for (unsigned step = 16; step > 0; step /= 2) {
    low = min(low, __shfl_xor_sync(~0U, low, step));
    high = max(high, __shfl_xor_sync(~0U, high, step));
  }
  const unsigned long long base = low <= high ? low : 0;
  if (threadIdx.x % 32 == 0) bases[warp] = static_cast<std::uint32_t>(base);
  if (high >> 16 != 0 && high - base >= 1 << 16) {
    if (threadIdx.x % 32 == 0) atomicOr(faults, has_wide_windows);
    return;
  }
  for (std::uint64_t place = begin + threadIdx.x % 32; place < end; place += 32) {
    columns_to[place] = static_cast<std::uint16_t>(columns[place] - base);
  }
}

// ---- the run

/// Parts of rows that windows cut.
template <class Sum>
struct cut_sums {
  Sum* heads = nullptr;  ///< of each window: its part of the row that it continues
  Sum* tails = nullptr;  ///< of each window: its part of the row that goes on behind it
  unsigned* done =
      nullptr;  ///< of each window in which such a row begins: parts that are there; 0 at first, and at the end
};

/// Notes a part of a row; the warp that has the last one adds all of them in their order.
template <class Sum, class Value, class Column>
__device__ __noinline__ void close_part(const product_arguments<Value, Column>& args, const segments_arrays& arrays,
                                        const cut_sums<Sum>& cuts, std::uint32_t begin, Sum* to, Sum part,
                                        std::uint32_t row) {
  constexpr unsigned unrolled = 8;
  const unsigned lane = threadIdx.x % 32;
  unsigned done = 0;
  if (lane == 0) {
    *to = part;
    __threadfence();
    done = atomicAdd(cuts.done + begin, 1U);
  }
  const std::uint32_t parts = arrays.windows_of_cut[begin];
  if (__shfl_sync(~0U, done, 0) + 1 < parts) return;
  if (lane == 0) cuts.done[begin] = 0;  // for the next run
  __syncwarp();
  __threadfence();
  Sum all = 0;
  for (std::uint32_t from = lane; from < parts; from += 32 * unrolled) {
    Sum read[unrolled];
#pragma unroll
    for (unsigned k = 0; k < unrolled; ++k) {
      const std::uint32_t i = from + k * 32;
      read[k] = 0;
      if (i < parts) read[k] = __ldcg(i == 0 ? cuts.tails + begin : cuts.heads + begin + i);
    }
#pragma unroll
    for (unsigned k = 0; k < unrolled; ++k) all += read[k];
  }
  all = sum_of_lanes<32>(all);
  if (lane == 0) write_result(args, row, all);
}

/// Sums the rows without entries, in the blocks behind those that have windows.
template <class Sum, class Value, class Column>
__device__ __forceinline__ void sum_empty_rows(const product_arguments<Value, Column>& args,
                                               const segments_arrays& arrays) {
  const std::uint64_t window_blocks = (arrays.shape.windows + warps_of_a_block - 1) / warps_of_a_block;
  if (blockIdx.x < window_blocks) return;
  const std::uint64_t step = std::uint64_t{gridDim.x - window_blocks} * block_threads;
  for (std::uint64_t i = (blockIdx.x - window_blocks) * block_threads + threadIdx.x; i < arrays.empty_count;
       i += step) {
    write_result(args, arrays.empty_rows[i], Sum{0});
  }
}

constexpr unsigned padded_places = places_of_lane + 1;  ///< so that lanes side by side read from different banks

/// Stages the products of a window's places [begin, end); those that its warp reads beside them are 0.
template <class Sum, class Value, class Column>
__device__ __forceinline__ void stage_padded(const product_arguments<Value, Column>& args, const Value* x_from,
                                             std::uint64_t begin, std::uint64_t end, std::uint64_t first,
                                             Sum* products) {
  const unsigned lane = threadIdx.x % 32;
  const auto skipped = static_cast<unsigned>(begin - first);
  const auto behind = static_cast<unsigned>(end - first);
  Sum product[places_of_lane];
  Column most = 0;
  make_products_of_window<false>(args.columns + first + lane, args.values + first + lane, x_from,
                                 static_cast<const Value*>(nullptr), static_cast<int>(skipped - lane),
                                 static_cast<int>(behind - lane), args.last_column, product, most);
#pragma unroll
  for (unsigned k = 0; k < places_of_lane; ++k) {
    const unsigned place = k * 32 + lane;
    products[place + place / places_of_lane] = place >= skipped && place < behind ? product[k] : Sum{0};
  }
  __syncwarp();
}

/// What a lane adds. Segments are the window's rows, from 0 on.
template <class Sum>
struct lane_sums {
  int first;       ///< segment in which its places begin; -1: before any
  int segment;     ///< in which they end
  bool has_begin;  ///< a row begins in them
  Sum head;        ///< of those up to the first row that begins
  Sum sum;         ///< of those behind the last row that begins
};

/// Adds the places of each lane up to the first row that begins there, and the whole rows behind. Sums of these take
/// the places of products, so that neighbouring lanes write neighbouring rows.
/// @param described  bits of the places where rows begin, and above them how many rows begin in the lanes before
template <class Sum>
__device__ __forceinline__ lane_sums<Sum> sum_places(unsigned described, bool is_continued, Sum* products) {
  const unsigned lane = threadIdx.x % 32;
  Sum own_product[places_of_lane];
#pragma unroll
  for (unsigned k = 0; k < places_of_lane; ++k) own_product[k] = products[lane * padded_places + k];
  __syncwarp();
  lane_sums<Sum> sums;
  sums.segment = static_cast<int>(described >> 8) - (is_continued ? 0 : 1);
  sums.first = sums.segment;
  sums.head = 0;
  sums.sum = 0;
  sums.has_begin = false;
#pragma unroll
  for (unsigned k = 0; k < places_of_lane; ++k) {
    if ((described >> k & 1) != 0) {
      if (sums.has_begin) {
        products[sums.segment] = sums.sum;
      } else {
        sums.has_begin = true;
        sums.head = sums.sum;
      }
      sums.sum = 0;
      ++sums.segment;
    }
    sums.sum += own_product[k];
  }
  return sums;
}

/// Carries on what lanes cut, by a segmented scan, and writes the sums that were missing.
/// @param lanes_with_begin  in which a row begins
template <class Sum>
__device__ __forceinline__ void carry_sums(lane_sums<Sum> sums, unsigned lanes_with_begin, Sum* products) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned up_to_own = lanes_with_begin & (~0U >> (31 - lane));
  const unsigned from_lane = up_to_own == 0 ? 0 : 31U - static_cast<unsigned>(__clz(static_cast<int>(up_to_own)));
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const Sum before = __shfl_up_sync(~0U, sums.sum, step);
    if (lane >= from_lane + step) sums.sum += before;
  }
  const Sum carried = __shfl_up_sync(~0U, sums.sum, 1);
  if (lane > 0) sums.head += carried;
  if (sums.has_begin && sums.first >= 0) products[sums.first] = sums.head;
  if (lane == 31) products[sums.segment] = sums.sum;
}

/// Sums all rows: those with entries a window for each warp, the empty ones in the blocks behind.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads, 5)
    sum_windows(const __grid_constant__ product_arguments<Value, Column> args,
                const __grid_constant__ segments_arrays arrays, const __grid_constant__ cut_sums<Sum> cuts) {
  __shared__ Sum products_of_warps[warps_of_a_block][32 * padded_places];
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t number = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (number >= arrays.shape.windows) return sum_empty_rows<Sum>(args, arrays);
  const auto window = static_cast<std::uint32_t>(number);
  const segment_window own = arrays.windows[window];
  const segment_window next = arrays.windows[window + 1];
  const unsigned described = arrays.lanes[number * 32 + lane];
  const std::uint64_t begin = begin_of_window(arrays.shape, window, own);
  const std::uint64_t end = begin_of_window(arrays.shape, window + 1, next);
  if (begin == end) return;
  Sum* const products = products_of_warps[threadIdx.x / 32];
  const Value* const x_from = is_compressed<Column> ? args.x + arrays.bases[window] : args.x;
  stage_padded(args, x_from, begin, end, first_read_of_window(arrays.shape, begin), products);

  const bool is_continued = own.continues != 0;
  const bool goes_on = next.continues != 0;
  const lane_sums<Sum> sums = sum_places(described, is_continued, products);
  const unsigned lanes_with_begin = __ballot_sync(~0U, sums.has_begin ? 1 : 0);
  carry_sums(sums, lanes_with_begin, products);
  const int last = __shfl_sync(~0U, sums.segment, 31);
  __syncwarp();

  const auto row_of = [&](int segment) {
    const std::uint32_t at = own.row + static_cast<std::uint32_t>(segment);
    return arrays.rows == nullptr ? at : arrays.rows[at];
  };
  const bool is_part = lanes_with_begin == 0;  // of one row, which began before
  const int first_whole = is_continued ? 1 : 0;
  const int end_of_whole = is_part ? 0 : last + (goes_on ? 0 : 1);
  for (int i = first_whole + static_cast<int>(lane); i < end_of_whole; i += 32)
    write_result(args, row_of(i), products[i]);
  if (is_continued)
    close_part(args, arrays, cuts, arrays.begins_of_cut[window], cuts.heads + window, products[0], row_of(0));
  if (goes_on && !is_part) close_part(args, arrays, cuts, window, cuts.tails + window, products[last], row_of(last));
}

}  // namespace sheaf::cuda
