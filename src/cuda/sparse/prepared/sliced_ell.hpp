#pragma once

#include <bit>

#include "cuda/sparse/sums/sum_rows.hpp"

// The form of a matrix in sliced ELLPACK (SELL-C-sigma; Kreutzer et al. 2014). Rows are sorted by length within windows
// of sigma rows, and as many of them as a warp takes at once are a slice, whose rows are padded to the longest. Step k
// of a slice is 32 places side by side, of which each lane has one. The slices of cuda.sliced are others, of x.
namespace sheaf::cuda {

constexpr std::uint32_t ell_window_rows = 4096;          ///< sigma
constexpr std::uint64_t longest_ell_row = 1 << 15;       ///< a longer one would keep its warp when all others are over
constexpr std::uint32_t far_padding = 0xffffffff;        ///< the column of a place that belongs to no entry
constexpr std::uint16_t near_padding = 0xffff;           ///< the same, of 16 bits
constexpr std::uint32_t no_ell_row = 0xffffffff;         ///< of a lane without a row
constexpr std::uint32_t is_hot = 0x80000000;             ///< of a column that is the number of a hot one
constexpr std::uint32_t near_columns_of_window = 65535;  ///< that 16 bits count from the first one of a window

/// Rows of more entries are a slice each, with all lanes of a warp.
inline std::uint64_t longest_sorted_row(const spmv_problem& p) noexcept {
  constexpr std::uint64_t means = 8;
  constexpr std::uint64_t least = 64;
  return std::clamp(means * p.entries / p.rows, least, longest_ell_row);
}

/// The first of the columns that have 16 bits in a window of rows: those about the diagonal of the matrix.
constexpr std::uint32_t first_near_column(std::uint64_t window, std::uint64_t rows, std::uint64_t columns) noexcept {
  constexpr std::uint64_t before = near_columns_of_window / 2 + 1;
  const std::uint64_t middle_row = window * ell_window_rows + ell_window_rows / 2;
  const std::uint64_t middle = (middle_row < rows ? middle_row : rows - 1) * columns / rows;
  return static_cast<std::uint32_t>(middle > before ? middle - before : 0);
}

/// What the places of an entry hold beside its value.
enum class ell_form : std::uint8_t {
  plain,  ///< its column
  split,  ///< near columns have 16 bits and places of their own; a lane a row
  hot,    ///< hot columns, whose x lies in shared memory, have numbers of their own; a lane a row
};

struct ell_shape {
  std::uint32_t lanes = 1;  ///< that share a row: a power of two
  ell_form form = ell_form::plain;
  std::uint32_t hot = 0;        ///< columns
  std::uint32_t long_rows = 0;  ///< slices of one row, which come first
  std::uint32_t slices = 0;     ///< of sorted rows
  std::uint32_t windows = 0;

  constexpr bool is_split() const noexcept { return form == ell_form::split; }
  constexpr std::uint32_t rows_of_slice() const noexcept { return 32 / lanes; }
  constexpr std::uint32_t slices_of_window() const noexcept { return ell_window_rows / rows_of_slice(); }
};

constexpr std::uint64_t least_rows_of_lanes = 1 << 17;  ///< from which on a lane a row keeps all warps busy

/// Whether a matrix is split, so that what is not near is padded to little.
constexpr bool is_ell_split(std::uint64_t rows, std::uint64_t entries, std::uint64_t near) noexcept {
  return rows >= least_rows_of_lanes && near >= entries - entries / 10;
}

constexpr std::uint64_t hot_x_bytes = 192 << 10;  ///< of x, in shared memory, with a 0 that padding reads

/// Columns whose x may lie in shared memory.
inline std::uint64_t most_hot_columns(const spmv_problem& p) noexcept { return hot_x_bytes / p.value_bytes() - 1; }

/// Whether it may pay to look for hot columns: every block reads their x, in each run, and x should not be hot as a
/// whole. One entry in `hot_sample` is counted.
inline bool may_have_hot_columns(const spmv_problem& p) noexcept {
  constexpr std::uint64_t least_entries = 1 << 22;
  constexpr std::uint64_t most_columns = 1 << 27;
  return p.rows >= least_rows_of_lanes && p.entries >= least_entries && p.columns <= most_columns &&
         p.columns >= 4 * most_hot_columns(p);
}
constexpr std::uint64_t hot_sample = 8;

/// Counts of columns are told apart up to 63, and by eighths of powers of two from there on.
constexpr unsigned count_bins = 272;
constexpr unsigned bin_of_count(std::uint32_t count) noexcept {
  constexpr unsigned exact = 64;
  if (count < exact) return count;
  const auto power = static_cast<unsigned>(std::bit_width(count)) - 1;
  return exact + (power - 6) * 8 + ((count >> (power - 3)) & 7);
}

/// What a sample of the entries says of how often columns come.
struct column_counts {
  std::uint64_t columns[count_bins];
  std::uint64_t entries[count_bins];
};

/// The least bin of hot columns; count_bins: none is, because all that fit have fewer than two fifths of the entries.
constexpr unsigned least_hot_bin(const column_counts& counts, std::uint64_t most_hot) noexcept {
  std::uint64_t all = 0;
  for (const std::uint64_t of_bin : counts.entries) all += of_bin;
  unsigned bin = count_bins;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;
  while (bin > 1 && columns + counts.columns[bin - 1] <= most_hot) {
    --bin;
    columns += counts.columns[bin];
    entries += counts.entries[bin];
  }
  return 5 * entries >= 2 * all ? bin : count_bins;
}

/// Lanes of a row that is not split. A lane a row reads x of adjacent rows at once, and adds nothing across lanes; two
/// pay where rows are short and of uneven length, because a slice is padded to less (H200: rows of the lengths of a
/// web's 6 % faster in f64, 11 % in f32; features at random 6 % slower). Where rows are few, more lanes keep the
/// machine busy; so that the order of sums follows from the matrix, the warps that do so are a constant.
constexpr std::uint32_t lanes_of_ell_row(std::uint64_t rows, std::uint64_t entries) noexcept {
  constexpr std::uint64_t least_warps = 4096;
  constexpr std::uint32_t most_lanes = 4;
  constexpr std::uint64_t entries_of_lane = 8;
  const std::uint64_t mean = entries / rows;
  std::uint32_t lanes = mean >= 8 && mean < 18 ? 2 : 1;
  while (lanes < most_lanes && rows * lanes / 32 < least_warps && mean >= 2 * lanes * entries_of_lane) lanes *= 2;
  return lanes;
}

inline ell_shape shape_of_ell(const spmv_problem& p, std::uint32_t lanes, ell_form form,
                              std::uint64_t long_rows) noexcept {
  ell_shape shape;
  shape.lanes = lanes;
  shape.form = form;
  shape.long_rows = static_cast<std::uint32_t>(long_rows);
  shape.slices = static_cast<std::uint32_t>((p.rows + shape.rows_of_slice() - 1) / shape.rows_of_slice());
  shape.windows = static_cast<std::uint32_t>((p.rows + ell_window_rows - 1) / ell_window_rows);
  return shape;
}

/// Why a matrix has no such form; null if it may have. Steps have 32 bits, and are 32 entries.
inline const char* unfit_for_sliced_ell(const spmv_problem& p) noexcept {
  if (p.transposed) return "sorts rows, but the product is transposed";
  if (p.entries == 0 || p.columns == 0 || p.rows == 0) return "the matrix has no entries";
  if (p.columns >> 32 != 0 || p.rows >> 32 != 0) return "rows or columns exceed 32 bits";
  constexpr unsigned bits_of_entries = 34;  // padded to no more than 2^32 steps
  if (p.entries >> bits_of_entries != 0) return "entries exceed 34 bits";
  return nullptr;
}

/// The arrays of a matrix as kernels see them. Entry j of a row is in step j / lanes of its slice, by lane j % lanes of
/// the row's; of a split matrix, near entries and others are counted for themselves.
template <class Value>
struct ell_arrays {
  std::uint32_t* rows = nullptr;         ///< long ones, then those of each slice; no_ell_row: none
  std::uint32_t* begins = nullptr;       ///< of slices, long ones first, and one behind the last: in steps
  std::uint32_t* near_begins = nullptr;  ///< of sorted slices, and one behind the last; null: not split
  std::uint32_t* near_firsts = nullptr;  ///< of windows: the first near column
  std::uint32_t* hot_columns = nullptr;  ///< null: none are hot
  std::uint32_t* columns = nullptr;      ///< or numbers of hot ones, with the bit is_hot
  std::uint16_t* near_columns = nullptr;
  Value* values = nullptr;
  Value* near_values = nullptr;
};

}  // namespace sheaf::cuda
