#pragma once

#include <sheaf/scatter_reduce.hpp>

#include "lab/description/job.hpp"

namespace sheaf::primitives {

struct reduce_part {
  reduction op = reduction::add;
  reduction_order order = reduction_order::deterministic;
};

/// Of reductions of rows: problem_spec::record_bytes are those of a row that is read, of values of the type `value`.
struct rows_part {
  std::optional<value_type> out = {};  ///< the type of out, if it is another
  reduction_start start = reduction_start::out;
  std::uint64_t segment_entries = 16;  ///< entries of a segment of gather_reduce
  bool has_weights = false;            ///< the entries of gather_reduce
};

}  // namespace sheaf::primitives

namespace sheaf::jobs {

/// The views of a gather_reduce's arrays; without weights there are no values of them.
struct segment_views {
  const_value_rows table;
  index_span index;
  index_span offsets;
  value_rows out;
  const_values weights;
};

segment_views views_of_segments(const problem_spec& problem, const array_set& arrays);

}  // namespace sheaf::jobs
