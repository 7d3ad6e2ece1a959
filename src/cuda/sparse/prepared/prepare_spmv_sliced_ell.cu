#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "cuda/movement/memory_cost.hpp"
#include "cuda/sparse/prepared/inspected_product.cuh"
#include "cuda/sparse/prepared/sliced_ell.cuh"
#include "cuda/sparse/sums/x_slice.cuh"
#include "primitives/sparse/trial_runs.hpp"

// The preparation cuda.sliced_ell: a copy of the matrix in sliced ELLPACK (SELL-C-sigma; Kreutzer et al. 2014). Rows
// are sorted by length within windows of 4096, and a warp takes 32 rows, or fewer with several lanes each, so that it
// reads 32 entries side by side, keeps each sum in a register and needs neither row offsets nor shared memory: L1 is
// x's. Where nearly all columns lie about the diagonal, these have 16 bits. For rows of any length that is not extreme.
namespace sheaf::cuda {
namespace {

constexpr const char* sliced_ell_name = "cuda.sliced_ell";

constexpr unsigned ell_sort_rows = ell_window_rows / ell_threads;  ///< of a window, that a thread has
constexpr unsigned length_classes = 10;  ///< long rows of 2^15 entries, of 2^14 and more, ... of 2^6 and more

/// What a look at all entries finds.
struct entry_facts {
  std::uint64_t entries;  ///< of all rows; rows may share some
  std::uint64_t near;     ///< entries of rows that are sorted, with near columns
  std::uint64_t long_rows[length_classes];
  std::uint64_t has_bad_columns;  ///< not 0 if a column was bad, which was reported
};

struct step_counts {
  std::uint32_t far;
  std::uint32_t near;
};

struct ell_scratch {
  row_facts* rows;
  entry_facts* entries;
  std::uint32_t* near_of_row;
  step_counts* steps_of_window;  ///< at last those of all windows before, and one behind the last
  std::uint32_t* taken;          ///< places of each class in the list of long rows, and of hot columns
  column_counts* counts = nullptr;
  std::uint32_t* columns = nullptr;  ///< how often each comes in a sample, then what entries have in its place

  ell_scratch(const spmv_problem& p, core::scratch_arrays& place)
      : rows(place.take<row_facts>(1)),
        entries(place.take<entry_facts>(1)),
        near_of_row(place.take<std::uint32_t>(p.rows)),
        steps_of_window(place.take<step_counts>(ceil_div(p.rows, ell_window_rows) + 1)),
        taken(place.take<std::uint32_t>(length_classes + 1)) {
    if (!may_have_hot_columns(p)) return;
    counts = place.take<column_counts>(1);
    columns = place.take<std::uint32_t>(p.columns);
  }
};

__device__ __forceinline__ unsigned class_of_length(std::uint64_t entries) {
  return static_cast<unsigned>(__clzll(static_cast<long long>(entries)) - (63 - 15));
}

/// Checks all columns and counts the near ones of each row. A group of lanes takes a row, all lanes of a warp a long
/// one.
template <unsigned Lanes, class Column>
__global__ void __launch_bounds__(block_threads)
    look_at_entries(const __grid_constant__ csr_guard guard, const __grid_constant__ row_offsets rows,
                    const Column* columns, std::uint64_t limit, std::uint64_t column_count, std::uint64_t longest,
                    std::uint32_t* near_of_row, entry_facts* facts) {
  constexpr unsigned rows_of_warp = 32 / Lanes;
  const unsigned lane = threadIdx.x % 32;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * warps_of_a_block;
  unsigned long long entries = 0;
  unsigned long long near_entries = 0;
  const auto is_right = [&](std::uint64_t place, std::uint64_t row) {
    if (columns[place] < limit) return true;
    report_column(guard, columns, limit, place, place + 1, row);
    facts->has_bad_columns = 1;
    return false;
  };
  for (std::uint64_t base = (std::uint64_t{blockIdx.x} * warps_of_a_block + threadIdx.x / 32) * rows_of_warp;
       base < rows.rows; base += warps * rows_of_warp) {
    const std::uint64_t row = base + lane / Lanes;
    row_range r{0, 0};
    if (row < rows.rows) r = {rows.begin(row), rows.end(row)};
    const bool is_long = r.length() > longest;
    unsigned near = 0;
    if (!is_long) {
      const std::uint64_t first =
          row < rows.rows ? first_near_column(row / ell_window_rows, rows.rows, column_count) : 0;
      for (std::uint64_t place = r.begin + lane % Lanes; place < r.end; place += Lanes) {
        if (is_right(place, row) && columns[place] - first < near_columns_of_window) ++near;
      }
    }
#pragma unroll
    for (unsigned step = Lanes / 2; step > 0; step /= 2) near += __shfl_xor_sync(~0U, near, step);
    if (lane % Lanes == 0 && row < rows.rows) {
      near_of_row[row] = near;
      near_entries += near;
      entries += r.length();
      if (is_long) {
        atomicAdd(reinterpret_cast<unsigned long long*>(facts->long_rows + class_of_length(r.length())), 1ULL);
      }
    }
    for (unsigned left = __ballot_sync(~0U, is_long && lane % Lanes == 0 ? 1 : 0); left != 0; left &= left - 1) {
      const int from = __ffs(static_cast<int>(left)) - 1;
      const std::uint64_t begin = __shfl_sync(~0U, r.begin, from);
      const std::uint64_t end = __shfl_sync(~0U, r.end, from);
      for (std::uint64_t place = begin + lane; place < end; place += 32) is_right(place, base + from / Lanes);
    }
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) {
    entries += __shfl_xor_sync(~0U, entries, other);
    near_entries += __shfl_xor_sync(~0U, near_entries, other);
  }
  if (lane != 0) return;
  atomicAdd(reinterpret_cast<unsigned long long*>(&facts->entries), entries);
  atomicAdd(reinterpret_cast<unsigned long long*>(&facts->near), near_entries);
}

/// Counts the columns of 32 places in each 32 * hot_sample, of which some may belong to no row.
template <class Column>
__global__ void __launch_bounds__(block_threads)
    count_columns(const Column* columns, std::uint64_t places, std::uint64_t limit, std::uint32_t* counts) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  const std::uint64_t place = i / 32 * (32 * hot_sample) + i % 32;
  if (place >= places) return;
  const Column column = columns[place];
  if (column < limit) atomicAdd(counts + column, 1U);
}

/// @param to  0
__global__ void __launch_bounds__(block_threads)
    count_counts(const std::uint32_t* counts, std::uint64_t columns, column_counts* to) {
  __shared__ unsigned long long of_columns[count_bins];
  __shared__ unsigned long long of_entries[count_bins];
  for (unsigned bin = threadIdx.x; bin < count_bins; bin += block_threads) of_columns[bin] = of_entries[bin] = 0;
  __syncthreads();
  for (std::uint64_t column = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x; column < columns;
       column += std::uint64_t{gridDim.x} * block_threads) {
    const std::uint32_t count = counts[column];
    if (count == 0) continue;
    atomicAdd(of_columns + bin_of_count(count), 1ULL);
    atomicAdd(of_entries + bin_of_count(count), static_cast<unsigned long long>(count));
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < count_bins; bin += block_threads) {
    if (of_columns[bin] == 0) continue;
    atomicAdd(reinterpret_cast<unsigned long long*>(to->columns + bin), of_columns[bin]);
    atomicAdd(reinterpret_cast<unsigned long long*>(to->entries + bin), of_entries[bin]);
  }
}

/// Lists hot columns in any order, which changes no sum, and puts what entries have in the place of counts.
__global__ void __launch_bounds__(block_threads)
    list_hot_columns(std::uint32_t* counts, std::uint64_t columns, unsigned least_bin, std::uint32_t* taken,
                     std::uint32_t* hot_columns) {
  const std::uint64_t column = std::uint64_t{blockIdx.x} * block_threads + threadIdx.x;
  if (column >= columns) return;
  auto of_entries = static_cast<std::uint32_t>(column);
  if (bin_of_count(counts[column]) >= least_bin) {
    const std::uint32_t number = atomicAdd(taken, 1U);
    hot_columns[number] = static_cast<std::uint32_t>(column);
    of_entries = is_hot | number;
  }
  counts[column] = of_entries;
}

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
__global__ void __launch_bounds__(ell_threads)
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
__global__ void __launch_bounds__(block_threads)
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

/// A matrix in sliced ELLPACK. Nothing stays the caller's.
class sliced_ell_matrix final : public inspected_matrix {
 public:
  /// Lists of rows and slices.
  sliced_ell_matrix(const context& ctx, const spmv_problem& p, const csr_view& a, const ell_shape& shape)
      : inspected_matrix(sliced_ell_name, p, a), shape_(shape) {
    const std::uint64_t slots = shape.long_rows + std::uint64_t{shape.slices} * shape.rows_of_slice();
    rows_ = prepared_memory(ctx, "numbers of sorted rows", slots * sizeof(std::uint32_t));
    if (shape.hot > 0) hot_columns_ = prepared_memory(ctx, "hot columns", shape.hot * sizeof(std::uint32_t));
    const std::uint64_t slices = std::uint64_t{shape.slices} + 1;
    begins_ = prepared_memory(ctx, "slices", (shape.long_rows + slices) * sizeof(std::uint32_t));
    if (!shape.is_split()) return;
    near_begins_ = prepared_memory(ctx, "slices of near columns", slices * sizeof(std::uint32_t));
    near_firsts_ = prepared_memory(ctx, "first near columns", shape.windows * sizeof(std::uint32_t));
  }

  /// Memory for the entries.
  void take_steps(const context& ctx, step_counts steps) {
    const std::uint64_t far = std::uint64_t{steps.far} * 32;
    const std::uint64_t near = std::uint64_t{steps.near} * 32;
    columns_ = prepared_memory(ctx, "columns by slice", far * sizeof(std::uint32_t));
    values_ = prepared_memory(ctx, "values by slice", far * problem_.value_bytes());
    if (!shape_.is_split()) return;
    near_columns_ = prepared_memory(ctx, "near columns by slice", near * sizeof(std::uint16_t));
    near_values_ = prepared_memory(ctx, "values of near columns", near * problem_.value_bytes());
  }

  std::uint64_t kept_bytes() const override {
    return rows_.size() + hot_columns_.size() + begins_.size() + near_begins_.size() + near_firsts_.size() +
           columns_.size() + values_.size() + near_columns_.size() + near_values_.size();
  }

  const ell_shape& shape() const noexcept { return shape_; }

  template <class Value>
  ell_arrays<Value> arrays() const {
    ell_arrays<Value> to;
    to.rows = rows_.as<std::uint32_t>();
    to.hot_columns = hot_columns_.as<std::uint32_t>();
    to.begins = begins_.as<std::uint32_t>();
    to.columns = columns_.as<std::uint32_t>();
    to.values = values_.as<Value>();
    if (!shape_.is_split()) return to;
    to.near_begins = near_begins_.as<std::uint32_t>();
    to.near_firsts = near_firsts_.as<std::uint32_t>();
    to.near_columns = near_columns_.as<std::uint16_t>();
    to.near_values = near_values_.as<Value>();
    return to;
  }

 private:
  // Entries in flight and blocks of a multiprocessor as an H200 is the fastest (docs/experiments/sparse.md). Two lanes
  // a row are for rows of uneven length, where blocks of several slices for each warp find more of x in L1.
  void multiply(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers) const override {
    with_product_types(problem, [&]<class Types>(Types) {
      using value = typename Types::value;
      using sum = typename Types::sum;
      constexpr bool is_wide = sizeof(sum) == sizeof(double);
      constexpr ell_form plain = ell_form::plain;
      using split =
          std::conditional_t<is_wide, ell_tuning<1, ell_form::split, 8, 1>, ell_tuning<1, ell_form::split, 4, 2>>;
      using hot = ell_tuning<1, ell_form::hot, 4, 1>;
      if (shape_.is_split()) return multiply_as<split, sum, value>(ctx, problem, buffers);
      if (shape_.form == ell_form::hot) return multiply_as<hot, sum, value>(ctx, problem, buffers);
      if (shape_.lanes == 1) return multiply_as<ell_tuning<1, plain, 4, 2>, sum, value>(ctx, problem, buffers);
      if (shape_.lanes == 2) return multiply_as<ell_tuning<2, plain, 8, 1>, sum, value>(ctx, problem, buffers);
      multiply_as<ell_tuning<4, plain, 4, 2>, sum, value>(ctx, problem, buffers);
    });
  }

  template <class Tuning, class Sum, class Value>
  void multiply_as(const context& ctx, const spmv_problem& problem, const spmv_buffers& buffers) const {
    constexpr std::uint32_t warps = ell_threads / 32;
    const std::uint64_t blocks_at_once = static_cast<std::uint64_t>(state_of(ctx).multiprocessors()) * Tuning::blocks;
    std::uint64_t slices_of_warp = 1;
    if (Tuning::form != ell_form::plain) {
      slices_of_warp = std::max<std::uint64_t>(1, ceil_div(shape_.slices, blocks_at_once * warps));
    } else if (Tuning::lanes == 2) {
      constexpr std::uint64_t most = 4;
      if (shape_.slices >= most * most * blocks_at_once * warps) slices_of_warp = most;
    }
    const auto slices_of_block = static_cast<std::uint32_t>(slices_of_warp * warps);
    std::uint64_t long_blocks = ceil_div(shape_.long_rows, warps);
    constexpr std::uint64_t most_long_blocks = 32;  // where each copies x of hot columns first
    if (Tuning::form == ell_form::hot) long_blocks = std::min(long_blocks, most_long_blocks);
    const auto args = arguments_of<Value, std::uint32_t>(problem, buffers, csr_guard{});
    const ell_arrays<Value> to = arrays<Value>();
    const core::scratch scratch =
        plan::take_scratch(ctx, primitives::prepared_spmv_call, sliced_ell_name, shape_.hot * sizeof(Value));
    auto* const hot_x = reinterpret_cast<Value*>(scratch.data());
    std::uint64_t shared_bytes = 0;
    if (Tuning::form == ell_form::hot) {
      shared_bytes = (shape_.hot + 1) * sizeof(Value);
      launch(ctx, gather_hot_x<Value>, ceil_div(shape_.hot, block_threads), to.hot_columns, shape_.hot, args.x, hot_x);
    }
    launch_shared(ctx, multiply_ell_slices<Tuning, Sum, Value>, long_blocks + ceil_div(shape_.slices, slices_of_block),
                  ell_threads, shared_bytes, args, to, shape_, static_cast<std::uint32_t>(long_blocks), slices_of_block,
                  static_cast<const Value*>(hot_x));
  }

  ell_shape shape_;
  buffer rows_;
  buffer hot_columns_;
  buffer begins_;
  buffer near_begins_;
  buffer near_firsts_;
  buffer columns_;
  buffer values_;
  buffer near_columns_;
  buffer near_values_;
};

/// Predicted time of a product: the copy is streamed, and x is read where the columns say. Near columns, for which
/// nothing but the order of the list speaks before the matrix is read, have 16 bits, and their x stays in L1.
double ell_product_seconds(const spmv_problem& p, const machine& m) {
  constexpr double padded = 1.03;
  const bool is_near = !is_scattered(p.pattern);
  const std::uint64_t column_bytes = is_near ? sizeof(std::uint16_t) : sizeof(std::uint32_t);
  const auto streamed =
      static_cast<std::uint64_t>(padded * static_cast<double>(p.entries * (p.value_bytes() + column_bytes))) +
      p.rows * sizeof(std::uint32_t) + p.y_bytes();
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  add_reads(p, m, m.streamed(streamed, streamed), plan);
  return plan.seconds;
}

plan::planned plan_sliced_ell(const prepare_spmv_problem& problem, const plan::scope& scope) {
  const spmv_problem& product = problem.product;
  if (const char* reason = unfit_for_sliced_ell(product)) return plan::rejected(reason);
  if (product.is_part()) return plan::rejected(primitives::other_order_of_parts);
  const machine& machine = scope.machine;
  core::scratch_arrays place(nullptr);
  const ell_scratch at(product, place);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  const std::uint64_t copied = product.entries * (product.value_bytes() + sizeof(std::uint32_t));
  const std::uint64_t streamed = product.matrix_bytes() + product.entries * bytes(product.column) + copied;
  // A window is sorted by one block, and a slice copied by one warp, whose lanes read a row each. H200: 1.2 to 3.3 ms
  // for 3 * 10^7 entries, with the memory that is taken for them.
  constexpr double spread = 5;
  plan.add("latency", 5 * machine.launch_seconds);
  plan.add("streamed", spread * machine.streamed(streamed, streamed));
  const double run_seconds = ell_product_seconds(product, machine);
  primitives::add_trial_runs(plan, run_seconds);
  return add_runs(plan, problem, {run_seconds, sliced_ell_name});
}

/// Sorts and counts, waits for the device, and has memory for the entries. Null if the matrix is to be split, but would
/// be padded to more than it saves.
std::shared_ptr<sliced_ell_matrix> sorted_matrix(const context& ctx, const spmv_problem& p, const csr_view& a,
                                                 const ell_shape& shape, const entry_facts& found,
                                                 const ell_scratch& at) {
  auto made = std::make_shared<sliced_ell_matrix>(ctx, p, a, shape);
  const row_offsets rows = offsets_of(p, a);
  const auto to = made->template arrays<float>();
  class_begins classes{};
  for (unsigned i = 1; i < length_classes; ++i) {
    classes.of[i] = classes.of[i - 1] + static_cast<std::uint32_t>(found.long_rows[i - 1]);
  }
  require(cudaMemsetAsync(at.taken, 0, length_classes * sizeof *at.taken, ctx.stream()), ctx);
  constexpr unsigned bits_of_length = 16;
  launch_blocks(ctx, shape.is_split() ? sort_windows<2 * bits_of_length> : sort_windows<bits_of_length>, shape.windows,
                ell_threads, rows, at.near_of_row, longest_sorted_row(p), shape, classes, at.taken, to.rows, to.begins,
                to.near_begins, at.steps_of_window);
  launch_blocks(ctx, sum_steps, 1, ell_threads, rows, shape, to.rows, to.begins, at.steps_of_window);
  launch(ctx, place_slices, ceil_div(std::uint64_t{shape.slices} + 1, block_threads), shape, p.rows, p.columns,
         at.steps_of_window, to.begins, to.near_begins, to.near_firsts);
  step_counts all{};
  ctx.state().copy(&all, at.steps_of_window + shape.windows, sizeof all);  // waits
  constexpr std::uint64_t most_padding = 8;                                // one place in so many
  const std::uint64_t places = (std::uint64_t{all.far} + all.near) * 32;
  if (shape.is_split() && places > found.entries + found.entries / most_padding + std::uint64_t{32} * shape.long_rows)
    return nullptr;
  made->take_steps(ctx, all);
  return made;
}

struct hot_choice {
  std::uint64_t columns = 0;
  unsigned least_bin = count_bins;
};

/// Counts a sample of the columns, and waits for the device.
hot_choice hot_columns(const context& ctx, const spmv_problem& p, const csr_view& a, const ell_scratch& at) {
  hot_choice hot;
  if (!may_have_hot_columns(p) || !blocks_hold(ctx, hot_x_bytes)) return hot;
  require(cudaMemsetAsync(at.columns, 0, p.columns * sizeof *at.columns, ctx.stream()), ctx);
  require(cudaMemsetAsync(at.counts, 0, sizeof *at.counts, ctx.stream()), ctx);
  with_column_type(p, [&]<class Column>(Column) {
    launch(ctx, count_columns<Column>, ceil_div(p.entries, hot_sample * block_threads) + 1,
           static_cast<const Column*>(a.column_indices.data), p.entries,
           primitives::reachable_records(gather_of_columns(p)), at.columns);
  });
  constexpr std::uint64_t most_blocks = 1024;
  launch(ctx, count_counts, std::min(most_blocks, ceil_div(p.columns, block_threads)), at.columns, p.columns,
         at.counts);
  column_counts counts{};
  ctx.state().copy(&counts, at.counts, sizeof counts);  // waits
  hot.least_bin = least_hot_bin(counts, most_hot_columns(p));
  for (unsigned bin = hot.least_bin; bin < count_bins; ++bin) hot.columns += counts.columns[bin];
  return hot;
}

std::shared_ptr<primitives::prepared_product> make_sliced_ell(const context& ctx, const spmv_problem& p,
                                                              const csr_view& a, const csr_guard& guard,
                                                              const row_facts& facts, const ell_scratch& at) {
  if (facts.longest == 0 || facts.longest > longest_ell_row) return nullptr;
  require(cudaMemsetAsync(at.entries, 0, sizeof *at.entries, ctx.stream()), ctx);
  const row_offsets rows = offsets_of(p, a);
  const std::uint64_t limit = primitives::reachable_records(gather_of_columns(p));
  with_column_type(p, [&]<class Column>(Column) {
    const auto look = [&]<unsigned Lanes>() {
      constexpr std::uint64_t most_blocks = 2048;
      launch(ctx, look_at_entries<Lanes, Column>, std::min(most_blocks, ceil_div(p.rows * Lanes, block_threads)), guard,
             rows, static_cast<const Column*>(a.column_indices.data), limit, p.columns, longest_sorted_row(p),
             at.near_of_row, at.entries);
    };
    constexpr std::uint64_t short_mean = 24;
    if (p.entries < short_mean * p.rows) {
      look.template operator()<8>();
    } else {
      look.template operator()<32>();
    }
  });
  entry_facts found{};
  ctx.state().copy(&found, at.entries, sizeof found);  // waits
  // Rows that share entries could be copied to any size.
  if (found.has_bad_columns != 0 || found.entries > p.entries) return nullptr;
  std::uint64_t long_rows = 0;
  for (const std::uint64_t count : found.long_rows) long_rows += count;
  std::shared_ptr<sliced_ell_matrix> made;
  if (is_ell_split(p.rows, found.entries, found.near)) {
    made = sorted_matrix(ctx, p, a, shape_of_ell(p, 1, ell_form::split, long_rows), found, at);
  }
  if (made == nullptr) {
    ell_shape shape = shape_of_ell(p, lanes_of_ell_row(p.rows, found.entries), ell_form::plain, long_rows);
    const hot_choice hot = 2 * found.near < found.entries ? hot_columns(ctx, p, a, at) : hot_choice{};
    if (hot.columns > 0) {
      shape = shape_of_ell(p, 1, ell_form::hot, long_rows);
      shape.hot = static_cast<std::uint32_t>(hot.columns);
    }
    made = sorted_matrix(ctx, p, a, shape, found, at);
    if (hot.columns > 0) {
      std::uint32_t* const taken = at.taken + length_classes;
      require(cudaMemsetAsync(taken, 0, sizeof *taken, ctx.stream()), ctx);
      launch(ctx, list_hot_columns, ceil_div(p.columns, block_threads), at.columns, p.columns, hot.least_bin, taken,
             made->template arrays<float>().hot_columns);
    }
  }
  with_product_types(p, [&]<class Types>(Types) {
    using value = typename Types::value;
    using column = typename Types::column;
    const ell_shape& shape = made->shape();
    launch(ctx, fill_slices<value, column>, ceil_div(std::uint64_t{shape.long_rows} + shape.slices, warps_of_a_block),
           rows, static_cast<const column*>(a.column_indices.data), static_cast<const value*>(a.values.data),
           shape.form == ell_form::hot ? at.columns : nullptr, shape, made->template arrays<value>());
  });
  return made;
}

void run_sliced_ell(const context& ctx, const prepare_spmv_problem& problem, const plan::planned&,
                    const prepare_spmv_buffers& buffers, std::byte* scratch) {
  core::scratch_arrays place(scratch);
  const ell_scratch at(problem.product, place);
  make_or_keep_rows(ctx, problem, buffers, at.rows, [&](const csr_guard& guard, const row_facts& facts) {
    try {
      return make_sliced_ell(ctx, problem.product, buffers.a, guard, facts, at);
    } catch (const error& short_of) {
      // Runs read the caller's arrays then.
      if (short_of.code() != error_code::out_of_memory) throw;
      return std::shared_ptr<primitives::prepared_product>();
    }
  });
}

}  // namespace

extern constinit const primitives::prepare_spmv_variant prepare_spmv_sliced_ell{"cuda.sliced_ell", backend_kind::cuda,
                                                                                plan_sliced_ell, run_sliced_ell};

}  // namespace sheaf::cuda
