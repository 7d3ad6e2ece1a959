#pragma once

#include "cuda/sparse/sums/sum_rows.hpp"
#include "primitives/sparse/prepare_spmv.hpp"

// The form of a segmented matrix. Its entries are cut into windows of about as many places, one for each warp, whatever
// rows they belong to, and a bit for each place says whether a row begins there.
namespace sheaf::cuda {

constexpr unsigned places_of_lane = window_places / 32;  ///< of a window, that a lane adds one after another

/// Window w begins `shift` places behind the w-th multiple of the stride, where a row begins if one does so near.
struct segment_window {
  std::uint32_t row;       ///< of the first place; where rows may be empty, its number among those that are not
  std::uint8_t shift;      ///< up to window_places - stride
  std::uint8_t continues;  ///< 1 if the first row began in an earlier window
  std::uint16_t reserved;
};

struct segments_shape {
  std::uint64_t first = 0;   ///< place of the first entry
  std::uint64_t end = 0;     ///< behind the last one
  std::uint64_t places = 0;  ///< of the matrix's arrays
  std::uint32_t stride = 0;
  std::uint32_t windows = 0;

  constexpr std::uint32_t most_shift() const noexcept { return window_places - stride; }
  /// Whether a window may begin within a row of so many entries.
  constexpr bool may_cut(std::uint64_t entries_of_row) const noexcept { return entries_of_row > most_shift(); }
};

/// Strides leave room for rows of up to 16 or 32 entries to be whole.
inline segments_shape shape_of_segments(const spmv_problem& problem, std::uint64_t first,
                                        std::uint64_t entries) noexcept {
  constexpr std::uint64_t short_mean = 16;
  const bool are_short = entries <= short_mean * problem.rows;
  segments_shape shape;
  shape.first = first;
  shape.end = first + entries;
  shape.places = problem.entries;
  shape.stride = are_short ? 240 : 224;
  shape.windows = static_cast<std::uint32_t>((entries + shape.stride - 1) / shape.stride);
  return shape;
}

/// A segmented matrix as kernels see it.
struct segments_arrays {
  segments_shape shape;
  segment_window* windows = nullptr;  ///< and one behind the last
  std::uint16_t* lanes = nullptr;     ///< 32 of a window: a bit for each place where a row begins, and how
                                      ///< many rows begin in the lanes before
  std::uint16_t* columns = nullptr;   ///< counted from the bases; null, as the bases: columns are the caller's
  std::uint32_t* bases = nullptr;     ///< of each window
  std::uint32_t* rows = nullptr;      ///< those with entries; null: all have
  std::uint32_t* empty_rows = nullptr;
  std::uint64_t empty_count = 0;
  std::uint32_t* begins_of_cut = nullptr;   ///< of a window that continues a row: the window where that begins
  std::uint32_t* windows_of_cut = nullptr;  ///< of a window whose last row goes on: windows with a part of it
};

/// Whether a matrix of so many entries is cut: where rows are longer in the mean, a warp sums one or two at once, and
/// bits for entries gain nothing. Windows number rows and columns with 32 bits.
constexpr bool is_segmented(const spmv_problem& p, std::uint64_t entries) noexcept {
  constexpr std::uint64_t longest_mean = 96;
  constexpr unsigned window_bits = 39;  // of entries that no more than 2^32 windows hold
  return p.rows >> 32 == 0 && p.columns >> 32 == 0 && p.entries >> window_bits == 0 && entries >= window_places &&
         entries <= longest_mean * p.rows;
}

struct row_facts;

/// What a preparation needs in scratch.
struct segmenting_scratch {
  row_facts* facts;
  unsigned* faults;
  unsigned* begins;            ///< bits of the rows that begin in each window
  std::uint32_t* rows_before;  ///< of each window

  segmenting_scratch(const spmv_problem& problem, core::scratch_arrays& place);
};

/// Cuts a matrix whose rows are right. Waits for the device. Null if columns are bad, which were reported.
std::shared_ptr<primitives::prepared_product> make_segmented(const context& ctx, const spmv_problem& problem,
                                                             const csr_view& a, const csr_guard& guard,
                                                             const row_facts& facts, const segmenting_scratch& at);

}  // namespace sheaf::cuda
