#pragma once

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/sparse/prepared/sliced_ell.cuh"
#include "cuda/sparse/prepared/sliced_ell_look.cuh"

// How the preparation cuda.sliced_ell lays a matrix out: rows of a window sorted by length, the steps of slices summed
// up to where each begins, and the entries copied to their places.
namespace sheaf::cuda {

constexpr unsigned ell_sort_rows = ell_window_rows / ell_threads;  ///< of a window, that a thread has

struct step_counts {
  std::uint32_t far;
  std::uint32_t near;
};

/// First places of each class in the list of long rows.
struct class_begins {
  std::uint32_t of[length_classes];
};

/// Sorts the rows of a window by their near entries, if the matrix is split, and then by the others, the most first,
/// and lists its long ones. Slices get the number of their window's steps before them.
/// @param taken  0 for each class
template <unsigned Bits>
__global__ void __launch_bounds__(ell_threads)
    sort_windows(const __grid_constant__ row_offsets rows, const std::uint32_t* near_of_row, std::uint64_t longest,
                 const __grid_constant__ ell_shape shape, const __grid_constant__ class_begins classes,
                 std::uint32_t* taken, std::uint32_t* rows_to, std::uint32_t* begins, std::uint32_t* near_begins,
                 step_counts* steps_of_window) {
  using block_sort = cub::BlockRadixSort<std::uint32_t, ell_threads, ell_sort_rows, std::uint16_t>;
  using block_scan = cub::BlockScan<std::uint32_t, ell_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ union {
    typename block_sort::TempStorage sort;
    struct {
      typename block_scan::TempStorage far;
      typename block_scan::TempStorage near;
    } scan;
  } storage;
  constexpr std::uint32_t most = 0xffff;
  constexpr std::uint16_t has_no_place = 1 << 15;
  static_assert(ell_window_rows <= has_no_place && longest_ell_row < most);
  const std::uint64_t first_row = std::uint64_t{blockIdx.x} * ell_window_rows;
  std::uint32_t keys[ell_sort_rows];
  std::uint16_t places[ell_sort_rows];
#pragma unroll
  for (unsigned k = 0; k < ell_sort_rows; ++k) {
    const unsigned i = threadIdx.x * ell_sort_rows + k;
    const std::uint64_t row = first_row + i;
    std::uint32_t near = 0;
    std::uint32_t far = 0;
    bool is_in_slice = row < rows.rows;
    if (is_in_slice) {
      const std::uint64_t length = rows.end(row) - rows.begin(row);
      if (length > longest) {
        const unsigned of = class_of_length(length);
        rows_to[classes.of[of] + atomicAdd(taken + of, 1U)] = static_cast<std::uint32_t>(row);
        is_in_slice = false;
      } else {
        near = shape.is_split() ? near_of_row[row] : 0;
        far = static_cast<std::uint32_t>(length) - near;
      }
    }
    keys[k] = (most - near) << 16 | (most - far);
    places[k] = static_cast<std::uint16_t>(is_in_slice ? i : i | has_no_place);
  }
  block_sort(storage.sort).Sort(keys, places, 0, Bits);
  __syncthreads();
  const std::uint32_t rows_of_slice = shape.rows_of_slice();
  const std::uint64_t slots = std::uint64_t{shape.slices} * rows_of_slice;
  std::uint32_t far = 0;
  std::uint32_t near = 0;
#pragma unroll
  for (unsigned k = 0; k < ell_sort_rows; ++k) {
    const std::uint64_t slot = first_row + threadIdx.x * ell_sort_rows + k;
    const std::uint64_t row = first_row + (places[k] & (has_no_place - 1));
    if (slot < slots) {
      rows_to[shape.long_rows + slot] = (places[k] & has_no_place) != 0 ? no_ell_row : static_cast<std::uint32_t>(row);
    }
    far = max(far, most - (keys[k] & most));
    near = max(near, most - (keys[k] >> 16));
  }
  // A slice is that of 2, 4 or 8 adjacent threads, and the first of these counts its steps.
  const unsigned threads = rows_of_slice / ell_sort_rows;
  for (unsigned other = threads / 2; other > 0; other /= 2) {
    far = max(far, __shfl_xor_sync(~0U, far, other));
    near = max(near, __shfl_xor_sync(~0U, near, other));
  }
  const bool has_slice = threadIdx.x % threads == 0;
  far = has_slice ? (far + shape.lanes - 1) / shape.lanes : 0;
  near = has_slice ? near : 0;  // a lane a row where the matrix is split
  step_counts all{};
  block_scan(storage.scan.far).ExclusiveSum(far, far, all.far);
  block_scan(storage.scan.near).ExclusiveSum(near, near, all.near);
  const std::uint64_t slice = std::uint64_t{blockIdx.x} * shape.slices_of_window() + threadIdx.x / threads;
  if (has_slice && slice < shape.slices) {
    begins[shape.long_rows + slice] = far;
    if (shape.is_split()) near_begins[slice] = near;
  }
  if (threadIdx.x == 0) steps_of_window[blockIdx.x] = all;
}

/// Sums the steps of long rows and of windows before each, in one block.
static __global__ void __launch_bounds__(ell_threads)
    sum_steps(const __grid_constant__ row_offsets rows, const __grid_constant__ ell_shape shape,
              const std::uint32_t* long_rows, std::uint32_t* begins, step_counts* steps_of_window) {
  using block_scan = cub::BlockScan<std::uint32_t, ell_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename block_scan::TempStorage storage;
  const auto before_each = [&](std::uint32_t count, std::uint32_t before, auto steps_at, auto write) {
    for (std::uint32_t base = 0; base < count; base += ell_threads) {
      const std::uint32_t i = base + threadIdx.x;
      std::uint32_t steps = i < count ? steps_at(i) : 0;
      std::uint32_t all = 0;
      block_scan(storage).ExclusiveSum(steps, steps, all);
      if (i < count) write(i, before + steps);
      before += all;
      __syncthreads();
    }
    return before;
  };
  const std::uint32_t of_long_rows = before_each(
      shape.long_rows, 0,
      [&](std::uint32_t i) {
        const std::uint64_t row = long_rows[i];
        return static_cast<std::uint32_t>((rows.end(row) - rows.begin(row) + 31) / 32);
      },
      [&](std::uint32_t i, std::uint32_t before) { begins[i] = before; });
  const std::uint32_t far = before_each(
      shape.windows, of_long_rows, [&](std::uint32_t i) { return steps_of_window[i].far; },
      [&](std::uint32_t i, std::uint32_t before) { steps_of_window[i].far = before; });
  const std::uint32_t near = before_each(
      shape.windows, 0, [&](std::uint32_t i) { return steps_of_window[i].near; },
      [&](std::uint32_t i, std::uint32_t before) { steps_of_window[i].near = before; });
  if (threadIdx.x == 0) steps_of_window[shape.windows] = {far, near};
}

/// Where slices begin in the whole, and the first near columns of windows.
static __global__ void __launch_bounds__(block_threads)
    place_slices(const __grid_constant__ ell_shape shape, std::uint64_t rows, std::uint64_t columns,
                 const step_counts* steps_before, std::uint32_t* begins, std::uint32_t* near_begins,
                 std::uint32_t* near_firsts) {
  const std::uint64_t slice = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (slice > shape.slices) return;
  if (slice == shape.slices) {
    const step_counts all = steps_before[shape.windows];
    begins[shape.long_rows + slice] = all.far;
    if (shape.is_split()) near_begins[slice] = all.near;
    return;
  }
  const std::uint64_t window = slice / shape.slices_of_window();
  begins[shape.long_rows + slice] += steps_before[window].far;
  if (!shape.is_split()) return;
  near_begins[slice] += steps_before[window].near;
  if (slice % shape.slices_of_window() == 0) near_firsts[window] = first_near_column(window, rows, columns);
}

/// Copies the entries of slices, a warp each, and fills them up. Lanes write side by side, and what they read of their
/// rows stays in L1.
template <class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    fill_slices(const __grid_constant__ row_offsets rows, const Column* columns, const Value* values,
                const std::uint32_t* codes, const __grid_constant__ ell_shape shape,
                const __grid_constant__ ell_arrays<Value> to) {
  const std::uint64_t slice = std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32;
  if (slice >= std::uint64_t{shape.long_rows} + shape.slices) return;
  const unsigned lane = threadIdx.x % 32;
  const bool is_long = slice < shape.long_rows;
  const unsigned lanes = is_long ? 32 : shape.lanes;
  const std::uint64_t sorted = slice - shape.long_rows;
  const std::uint32_t row = to.rows[is_long ? slice : shape.long_rows + sorted * shape.rows_of_slice() + lane / lanes];
  row_range r{0, 0};
  if (row != no_ell_row) r = {rows.begin(row), rows.end(row)};
  const std::uint32_t begin = to.begins[slice];
  const std::uint32_t steps = to.begins[slice + 1] - begin;
  const std::uint64_t first = std::uint64_t{begin} * 32 + lane;
  const std::uint32_t padding = shape.form == ell_form::hot ? is_hot | shape.hot : far_padding;
  const auto write_far = [&](std::uint32_t step, bool is_entry, std::uint64_t place) {
    std::uint32_t column = padding;
    if (is_entry) column = static_cast<std::uint32_t>(columns[place]);
    if (is_entry && codes != nullptr) column = codes[column];
    to.columns[first + std::uint64_t{step} * 32] = column;
    to.values[first + std::uint64_t{step} * 32] = is_entry ? values[place] : Value{0};
  };
  if (is_long || !shape.is_split()) {
#pragma unroll 4
    for (std::uint32_t step = 0; step < steps; ++step) {
      const std::uint64_t place = r.begin + std::uint64_t{step} * lanes + lane % lanes;
      write_far(step, place < r.end, place);
    }
    return;
  }
  const std::uint32_t near_begin = to.near_begins[sorted];
  const std::uint32_t near_steps = to.near_begins[sorted + 1] - near_begin;
  const std::uint64_t near_first_place = std::uint64_t{near_begin} * 32 + lane;
  const std::uint64_t near_first = to.near_firsts[sorted / shape.slices_of_window()];
  std::uint32_t far_step = 0;
  std::uint32_t near_step = 0;
  for (std::uint64_t place = r.begin; place < r.end; ++place) {
    const std::uint64_t column = columns[place];
    if (column - near_first >= near_columns_of_window) {
      write_far(far_step++, true, place);
      continue;
    }
    to.near_columns[near_first_place + std::uint64_t{near_step} * 32] = static_cast<std::uint16_t>(column - near_first);
    to.near_values[near_first_place + std::uint64_t{near_step} * 32] = values[place];
    ++near_step;
  }
  for (; far_step < steps; ++far_step) write_far(far_step, false, 0);
  for (; near_step < near_steps; ++near_step) {
    to.near_columns[near_first_place + std::uint64_t{near_step} * 32] = near_padding;
    to.near_values[near_first_place + std::uint64_t{near_step} * 32] = 0;
  }
}

}  // namespace sheaf::cuda
