#pragma once

#include "cuda/sparse/segmented_run.cuh"
#include "cuda/sparse/sums/row_facts.cuh"
#include "cuda/sparse/sums/running_sum.cuh"

// Kernels that cut a matrix into windows. Its rows lie one behind the other, and were found right.
namespace sheaf::cuda {

constexpr unsigned words_of_window = window_places / 32;  ///< of bits for rows that begin

/// Arrays that a preparation writes; the fields of segments_view.
struct segments_arrays {
  segment_window* windows = nullptr;
  std::uint16_t* lanes = nullptr;
  std::uint16_t* columns = nullptr;
  std::uint32_t* bases = nullptr;
  std::uint32_t* rows = nullptr;
  std::uint32_t* empty_rows = nullptr;
  std::uint32_t* begins_of_cut = nullptr;
  std::uint32_t* windows_of_cut = nullptr;
};

enum segments_fault : unsigned {
  has_bad_columns = 1,   ///< which were reported
  has_wide_windows = 2,  ///< a window's columns span more than 16 bits
};

/// The row of a place: the last one that does not begin behind it, which has entries.
__device__ inline std::uint64_t row_of_place(const row_offsets& rows, std::uint64_t place) {
  std::uint64_t low = 0;
  for (std::uint64_t high = rows.rows; high - low > 1;) {
    const std::uint64_t middle = low + (high - low) / 2;
    (rows.begin(middle) <= place ? low : high) = middle;
  }
  return low;
}

/// The window of a place, also of the one behind the last.
__device__ __forceinline__ std::uint32_t window_of_place(const segments_shape& shape, const segment_window* windows,
                                                         std::uint64_t place) {
  const auto w =
      static_cast<std::uint32_t>(min((place - shape.first) / shape.stride, std::uint64_t{shape.windows} - 1));
  return place < begin_of_window(shape, w, windows[w]) ? w - 1 : w;
}

static __global__ void __launch_bounds__(block_threads)
    cut_windows(const __grid_constant__ row_offsets rows, const __grid_constant__ segments_shape shape,
                segment_window* windows) {
  const std::uint64_t w = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (w > shape.windows) return;
  segment_window window{};
  if (w < shape.windows) {
    const std::uint64_t at = shape.first + w * shape.stride;
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
  windows[w] = window;
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
  const auto in_window =
      static_cast<unsigned>(place - first_read_of_window(shape, begin_of_window(shape, w, windows[w])));
  atomicOr(begins + std::uint64_t{w} * words_of_window + in_window / 32, 1U << in_window % 32);
}

/// Writes what lanes know of a window, a warp for each, and how many rows begin in it.
static __global__ void __launch_bounds__(block_threads)
    describe_lanes(const __grid_constant__ segments_shape shape, const unsigned* begins, std::uint16_t* lanes,
                   std::uint32_t* begins_of_window) {
  const std::uint64_t w = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (w >= shape.windows) return;
  const unsigned lane = threadIdx.x % 32;
  const unsigned bits = begins[w * words_of_window + lane / 4] >> lane % 4 * 8 & 0xff;
  unsigned before = static_cast<unsigned>(__popc(bits));
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(~0U, before, step);
    if (lane >= step) before += other;
  }
  if (lane == 31) begins_of_window[w] = before;
  before -= static_cast<unsigned>(__popc(bits));
  lanes[w * 32 + lane] = static_cast<std::uint16_t>(bits | before << 8);
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
  const auto in_window =
      static_cast<unsigned>(place - first_read_of_window(shape, begin_of_window(shape, w, windows[w])));
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
  const auto w = static_cast<std::uint32_t>(number);
  const std::uint64_t begin = begin_of_window(shape, w, windows[w]);
  const std::uint64_t end = begin_of_window(shape, w + 1, windows[w + 1]);
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
  if (threadIdx.x % 32 == 0) bases[w] = static_cast<std::uint32_t>(base);
  if (high >> 16 != 0 && high - base >= 1 << 16) {
    if (threadIdx.x % 32 == 0) atomicOr(faults, has_wide_windows);
    return;
  }
  for (std::uint64_t place = begin + threadIdx.x % 32; place < end; place += 32) {
    columns_to[place] = static_cast<std::uint16_t>(columns[place] - base);
  }
}

}  // namespace sheaf::cuda
