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
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.direct"; empty: the planner's choice
};

/// Gathers records by an index list: out[i] = table[index[i]] for every i.
/// @param table  records at any stride. If the table is empty, every index is bad.
/// @param index  as many entries as out has records, aligned to their type. They may repeat.
/// @param out    records as wide as the table's, at any stride; may not overlap table or index. Bytes between records
///               keep their value.
/// A bad index surfaces at ctx.wait(), and its record of out is filled with zeros; with bounds::trust a bad index is
/// undefined behaviour.
/// @throws error(bad_argument) if counts or widths disagree, index is not aligned, out overlaps an input, or an array
/// is not in ctx's memory; error(no_variant) on OpenGL unless records have 4, 8, 12 or 16 bytes; and what every call
/// may throw (see context).
/// The result is bit-identical on every backend. The call is queued on ctx: on CUDA it returns before its work
/// is done, on other backends after. Source: He et al. 2007, section 3.2.
SHEAF_API void gather(const context& ctx, const_records table, index_span index, records out,
                      const gather_options& options = {});

/// What gather would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_gather(const context& ctx, const_records table, index_span index, records out,
                                     const gather_options& options = {});

}  // namespace sheaf
