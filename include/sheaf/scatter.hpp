#pragma once

#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf {

/// Which writer wins where index names a record of out more than once.
enum class duplicates : std::uint8_t {
  /// One writer; which one is unspecified. The record is whole if it is one aligned word: 1, 2, 4, 8 or 16 bytes wide,
  /// with addresses and strides that are multiples of the width. Other records may mix bytes of several writers. In C++
  /// terms the writers are in a data race, which ThreadSanitizer reports.
  any,
  last,  ///< the writer at the last position of the list; its record is whole at any width
};

struct scatter_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  sheaf::duplicates duplicates = sheaf::duplicates::any;
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.direct"; empty: the planner's choice
};

/// Scatters records by an index list: out[index[i]] = in[i] for every i.
/// @param in     records at any stride.
/// @param index  as many entries as in has records, aligned to their type. options.duplicates says what happens where
///               they repeat.
/// @param out    records as wide as in's, at any stride; may not overlap in or index. Records that no index names keep
///               their value.
/// A bad index writes nothing and surfaces at ctx.wait().
/// @throws error(bad_argument) if counts or widths disagree, index is not aligned, out overlaps an input, or an array
/// is not in ctx's memory; error(no_variant) on OpenGL unless records have 4, 8, 12 or 16 bytes; and what every call
/// may throw (see context).
/// For distinct indices, and with duplicates::last, the result is bit-identical on every backend. The call is queued on
/// ctx: it returns before its work is done on CUDA, after it elsewhere. Source: He et al. 2007, section 3.2.
SHEAF_API void scatter(const context& ctx, const_records in, index_span index, records out,
                       const scatter_options& options = {});

/// What scatter would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_scatter(const context& ctx, const_records in, index_span index, records out,
                                      const scatter_options& options = {});

}  // namespace sheaf
