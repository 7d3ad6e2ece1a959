#pragma once

#include "cuda/sparse/sums/sum_rows.hpp"

// The form of a sliced matrix: column blocking (cache blocking), and not sliced ELLPACK, which slices rows. Rows are
// dealt to thread blocks, one or a few for each multiprocessor, by their entries and the mean number of entries for
// each row. The entries of a block are grouped by slice, columns whose part of x fits shared memory, and within a slice
// by row. A row's entries of a slice are a range, which is padded to a multiple of four places, so that the sectors of
// its f64 values are its own.
namespace sheaf::cuda {

constexpr std::uint32_t lane_entries = 8;                         ///< entries of a range that a lane prefetches
constexpr std::uint32_t most_read_ahead = 2 * 32 * lane_entries;  ///< places behind a range that are counted, not read
constexpr std::uint32_t range_places = 4;                         ///< of which a range begins at a multiple

struct sliced_shape {
  std::uint64_t entries = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t slice_columns = 0;  ///< of a slice; a column within one has 16 bits
  std::uint32_t slices = 0;
  std::uint32_t blocks = 0;
  std::uint32_t row_weight = 0;  ///< a row counts for as many entries more when rows are dealt to blocks
  std::uint32_t lanes = 0;       ///< threads that share a range: a power of two up to 32
  std::uint32_t row_step = 1;    ///< blocks begin at multiples of so many rows

  constexpr std::uint64_t weight() const noexcept { return entries + std::uint64_t{row_weight} * rows; }
  constexpr std::uint64_t ranges() const noexcept { return std::uint64_t{slices} * rows; }
  /// Entries, and what ranges are filled up with.
  constexpr std::uint64_t most_places() const noexcept {
    return (entries + (ranges() + 1) * (range_places - 1)) / range_places * range_places;
  }
};

constexpr std::uint64_t x_slice_bytes = 200 << 10;     ///< of x, in shared memory
constexpr std::uint64_t row_sums_bytes = 24 << 10;     ///< of the sums of a block's rows, beside it
constexpr std::uint32_t most_slices = 32;              ///< which the lanes of a warp count
constexpr std::uint64_t longest_sliced_row = 1 << 11;  ///< a longer one would keep its lanes busy while others wait

inline std::uint64_t slices_of(const spmv_problem& p) noexcept {
  const std::uint64_t most_columns = std::min<std::uint64_t>(x_slice_bytes / p.value_bytes(), 1 << 16);
  return (p.columns + most_columns - 1) / most_columns;
}

/// Why a matrix is not sliced; null if it may be.
inline const char* unfit_for_slices(const spmv_problem& problem) noexcept {
  if (problem.transposed) return "groups entries by rows, but the product is transposed";
  if (problem.has_row_ends) return "groups rows that lie one after the other, but rows may lie in any order";
  if (problem.entries >> 32 != 0 || problem.rows >> 32 != 0) return "rows or entries exceed 32 bits";
  const std::uint64_t slices = slices_of(problem);
  if (slices > most_slices) return "x has more than 32 parts that fit in shared memory";
  if ((problem.entries + slices * problem.rows * (range_places - 1) + most_read_ahead) >> 32 != 0)
    return "places of entries exceed 32 bits";
  return nullptr;
}

/// @param multiprocessors  of the device; no bit of a result depends on them
inline sliced_shape shape_of_slices(const spmv_problem& problem, std::uint64_t entries, std::uint64_t multiprocessors,
                                    std::uint32_t row_step = 1) noexcept {
  sliced_shape shape;
  shape.row_step = row_step;
  shape.entries = entries;
  shape.rows = static_cast<std::uint32_t>(problem.rows);
  shape.columns = static_cast<std::uint32_t>(problem.columns);
  shape.slices = static_cast<std::uint32_t>(slices_of(problem));
  constexpr std::uint32_t values_of_word = 4;  // copies of 16 bytes
  shape.slice_columns = (shape.columns + shape.slices - 1) / shape.slices;
  shape.slice_columns = (shape.slice_columns + values_of_word - 1) / values_of_word * values_of_word;
  shape.row_weight =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, (entries + problem.rows - 1) / problem.rows));
  const std::uint64_t most_rows = row_sums_bytes / problem.sum_bytes();
  std::uint64_t blocks = multiprocessors;
  // The weights of rows as such are half of all weight at least, so a block has no more than 2 rows / blocks + 1 of
  // them, and fewer than row_step more to begin with a multiple.
  while (2 * problem.rows / blocks + 1 + row_step > most_rows) blocks += multiprocessors;
  shape.blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, problem.rows));
  // Entries past the prefetched ones are waited for, so lanes are chosen for ranges of 1.5 times the mean length.
  constexpr double usual_length = 1.5;
  const double mean = static_cast<double>(entries) / static_cast<double>(problem.rows * shape.slices);
  shape.lanes =
      std::bit_ceil(static_cast<std::uint32_t>(std::clamp(usual_length * mean / lane_entries, 1.0, 32.0) + 0.5));
  return shape;
}

/// Where a row's entries of a slice lie.
struct alignas(8) sliced_range {
  std::uint32_t begin;
  std::uint32_t end;
};

/// A sliced matrix as kernels see it.
template <class Value>
struct sliced_arrays {
  Value* values;              ///< of the entries, by block, slice and row
  std::uint16_t* columns;     ///< within the slice
  sliced_range* ranges;       ///< of each row of each slice of each block
  std::uint32_t* block_rows;  ///< blocks + 1: first row

  sliced_arrays(const sliced_shape& shape, core::scratch_arrays& place)
      : values(place.take<Value>(shape.most_places())),
        columns(place.take<std::uint16_t>(shape.most_places())),
        ranges(place.take<sliced_range>(shape.ranges())),
        block_rows(place.take<std::uint32_t>(shape.blocks + 1)) {}
};

/// Bytes that the arrays take.
inline std::uint64_t bytes_of_slices(const spmv_problem& p, const sliced_shape& shape) {
  core::scratch_arrays place(nullptr);
  if (p.value == value_type::f64) {
    sliced_arrays<double>(shape, place);
  } else {
    sliced_arrays<float>(shape, place);
  }
  return place.bytes();
}

/// Shared memory of a block: a slice of x, and the sums of its rows.
constexpr std::uint64_t sliced_block_bytes = x_slice_bytes + row_sums_bytes;

/// Predicted time of a product, and of slicing a matrix.
double sliced_product_seconds(const spmv_problem& problem, const sliced_shape& shape, const machine& machine);
double slicing_seconds(const spmv_problem& problem, const machine& machine);

}  // namespace sheaf::cuda
