#pragma once

#include <cstdint>
#include <string_view>

#include <sheaf/scatter_reduce.hpp>

namespace sheaf {

struct gather_reduce_options {
  access_pattern pattern = access_pattern::unknown();  ///< of the index
  sheaf::bounds bounds = sheaf::bounds::check;         ///< of the index; offsets are checked always
  reduction_start start = reduction_start::identity;
  /// A factor for each entry of index, with add and mean of floats: of table's type, or of f32 where that is f16 or
  /// bf16. No values: all are 1.
  const_values weights = {};
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.segments"; empty: the planner's choice
};

/// Gathers rows and combines them by segments, in one pass: out[s][k] is the reduction of table[index[j]][k] for all j
/// of offsets[s] <= j < offsets[s + 1]. Nothing in between is stored.
/// @param table    rows of 1 to 65,536 values (see const_value_rows).
/// @param index    rows of table, aligned to their type. They may repeat.
/// @param offsets  one more than out has rows, aligned to their type: segment s has the entries of index from
///                 offsets[s] up to but not including offsets[s + 1]. Entries before the first and behind the last
///                 segment are left out.
/// @param out      a row for each segment, of as many values as table's rows; may not overlap the other arrays.
/// @param op       add, min, max, multiply, mean or count, not subtract. A mean divides by the number of entries, with
///                 weights too.
/// Which types of table go to which types of out is the table of scatter_reduce, which also says how they are computed.
/// Options.start says what the rows are combined with, and what a segment without rows gives.
/// A bad index contributes nothing, nor to a mean's or count's number of rows. A segment that begins or ends past the
/// index, or ends before it begins, counts as empty. The first such segment, or if there is none the first bad index
/// of a segment, surfaces at ctx.wait() as error(bad_index).
/// @throws error(bad_argument) if counts, widths or types disagree, a stride or an address is not a multiple of the
/// value's bytes, out overlaps another array, or an array is not in ctx's memory; error(no_variant) on OpenGL; and what
/// every call may throw (see context).
/// The bits are the same in every run and for every number of threads. The call is queued on ctx: it returns before its
/// work is done on CUDA, after it elsewhere.
SHEAF_API void gather_reduce(const context& ctx, const_value_rows table, index_span index, index_span offsets,
                             value_rows out, reduction op, const gather_reduce_options& options = {});

/// What gather_reduce would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_gather_reduce(const context& ctx, const_value_rows table, index_span index,
                                            index_span offsets, value_rows out, reduction op,
                                            const gather_reduce_options& options = {});

}  // namespace sheaf
