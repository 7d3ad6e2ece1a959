#pragma once

#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>

namespace sheaf {

struct gather_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.direct"
};

/// out[i] = table[index[i]] for every i (He et al. 2007, section 3.2).
/// @param table  records of 1 byte to 64 KiB, at any stride; may be empty if index is.
/// @param index  as many as out has records; an index may repeat.
/// @param out    records as wide as the table's; may not overlap table or index. Bytes between records keep their
/// value. A bad index writes zero bytes to its record of out and surfaces at ctx.wait(). Bit-identical on every
/// backend. Queued on ctx: returns before the work is done on CUDA, after it elsewhere.
/// @throws error(bad_argument) if lengths or widths disagree, spans overlap or are not in ctx's memory.
SHEAF_API void gather(const context& ctx, const_records table, index_span index, records out,
                      const gather_options& options = {});

/// What gather would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_gather(const context& ctx, const_records table, index_span index, records out,
                                     const gather_options& options = {});

}  // namespace sheaf
