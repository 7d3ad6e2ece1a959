#pragma once

#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf {

/// Which writer wins where index names a record of out more than once.
enum class duplicates : std::uint8_t {
  /// One writer, unspecified which. The record is whole if it is one aligned word: 1, 2, 4, 8 or 16 bytes wide, with
  /// addresses and strides that are multiples of the width. Other records may mix bytes of several writers. To C++, two
  /// threads that write one record race, and ThreadSanitizer says so.
  any,
  last,  ///< the writer at the last position of the list; its record is whole at any width
};

struct scatter_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  sheaf::duplicates duplicates = sheaf::duplicates::any;
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.direct"
};

/// out[index[i]] = in[i] for every i (He et al. 2007, section 3.2).
/// @param in     records of 1 byte to 64 KiB, at any stride.
/// @param index  as many as in has records; distinct, or see duplicates.
/// @param out    records as wide as in's; may not overlap in or index. Records that no index names keep their value.
/// A bad index writes nothing and surfaces at ctx.wait(). Bit-identical on every backend for distinct indices and
/// for duplicates::last. Queued on ctx: returns before the work is done on CUDA, after it elsewhere.
/// @throws error(bad_argument) if lengths or widths disagree, spans overlap or are not in ctx's memory.
SHEAF_API void scatter(const context& ctx, const_records in, index_span index, records out,
                       const scatter_options& options = {});

/// What scatter would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_scatter(const context& ctx, const_records in, index_span index, records out,
                                      const scatter_options& options = {});

}  // namespace sheaf
