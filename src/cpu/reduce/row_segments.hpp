#pragma once

#include "core/scratch_offsets.hpp"
#include "cpu/reduce/kernels.hpp"
#include "primitives/index_reader.hpp"

// Reductions of rows by segments of a list: the last step of all that combine rows by slots, segments or rows of a
// matrix.
namespace sheaf::cpu {

/// Where the segments of a list lie. The bits of a bound are sign-extended, and a segment that begins behind its end or
/// ends past the list is empty and a fault.
struct segment_bounds {
  index_span begins;  ///< one more than there are segments, or with `ends` as many
  index_span ends;    ///< of begins' type; without data, a segment ends where the next begins
  std::uint64_t count = 0;
  std::uint64_t entries = 0;  ///< of the list

  std::uint64_t begin(std::uint64_t segment) const noexcept { return primitives::bits_at(begins, segment); }
  std::uint64_t end(std::uint64_t segment) const noexcept {
    return ends.data != nullptr ? primitives::bits_at(ends, segment) : primitives::bits_at(begins, segment + 1);
  }
};

/// One reduction by segments.
struct segment_reduction {
  const_value_rows rows;  ///< what the list names
  index_span list;        ///< entries that name no row are faults, and are left out
  bool trusts_list = false;
  segment_bounds bounds;
  const_values weights;  ///< one for each entry of the list, or none
  value_rows out;        ///< a row for each segment
  values counts;         ///< the number of rows that came to each segment, or none
  reduction op = reduction::add;
  reduction_start start = reduction_start::identity;
  bool scales = false;  ///< out = alpha sums + beta out, in place of what `start` says
  double alpha = 1;
  double beta = 0;
};

/// The size of a reduction, for plans.
struct segment_shape {
  std::uint64_t entries = 0;
  std::uint64_t segments = 0;
  std::uint64_t row_bytes = 0;      ///< read for each entry
  std::uint64_t sum_row_bytes = 0;  ///< of a row of sums
  std::uint64_t out_row_bytes = 0;
  std::uint64_t piece_rows = 0;  ///< see rows_per_piece()
};

/// What a plan decides for reduce_segments().
struct segment_decision {
  std::uint64_t threads;
  std::uint64_t tasks;          ///< ranges of segments, of about equal work
  std::uint64_t piece_rows;     ///< longer segments are cut into pieces of so many entries
  std::uint64_t long_segments;  ///< that are noted, to be cut once all others are done
  std::uint64_t pieces;         ///< that are combined at a time

  void tell(plan::told& to) const { to.add("threads", threads).add("tasks", tasks).add("piece_rows", piece_rows); }
};

segment_decision decide_segments(const segment_shape& shape, const machine& machine);
std::uint64_t segment_scratch_bytes(const segment_shape& shape, const segment_decision& decided);

/// Reduces all segments. The bits of a row of out depend on the list and on piece_rows alone.
/// @returns whether there was a fault, of bounds or of the list
bool reduce_segments(const segment_reduction& r, const segment_shape& shape, const segment_decision& decided,
                     std::byte* scratch);

/// Seconds that the instructions of a reduction take, on all threads.
double segment_step_seconds(const segment_shape& shape, std::uint64_t values_per_row, const machine& machine);

}  // namespace sheaf::cpu
