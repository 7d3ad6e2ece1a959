#pragma once

#include <cstdint>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/values.hpp>

namespace sheaf {

/// The operation that combines values in a record of out. Sums and differences of integers wrap around. Subtracting a
/// value gives what adding its negative gives. For floats -0 is below +0, and a minimum or maximum that involves a NaN
/// is the positive quiet NaN.
enum class reduction : std::uint8_t { add, min, max, subtract };

/// What the order of additions and subtractions of floats may depend on.
enum class reduction_order : std::uint8_t {
  deterministic,  ///< on the positions alone: one variant gives the same bits in every run on a device
  unordered,      ///< also on timing, as with atomics on CUDA: the last bits differ from run to run
};

struct scatter_reduce_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  reduction_order order = reduction_order::deterministic;
  std::string_view variant = {};  ///< name of the variant to run, such as "cuda.atomic"; empty: the planner's choice
};

/// Combines values by an index list: out[index[i]] = out[index[i]] op in[i] for every i.
/// @param in     values of out's type, aligned to it.
/// @param index  as many entries as in has values, aligned to their type. They may repeat.
/// @param out    the values that in's are combined with, aligned to their type; may not overlap in or index.
/// A bad index changes nothing and surfaces at ctx.wait().
/// @throws error(bad_argument) if counts or types disagree, an array is not aligned, out overlaps an input, or an array
/// is not in ctx's memory; error(no_variant) on OpenGL unless values are f32; and what every call may throw (see
/// context).
/// Integers, minima and maxima are bit-identical on every backend. For sums and differences of floats, options.order
/// says whether the bits are the same in every run. On the CPU the deterministic order is that of the positions. On
/// OpenGL, and on CUDA in the unordered order, a sum or difference of f32 may take values below 2^-126 for zero. The
/// call is queued on ctx: it returns before its work is done on CUDA, after it elsewhere. Source: Ujaldon and Saltz
/// 2005, section 3.2, who do this by blending.
SHEAF_API void scatter_reduce(const context& ctx, const_values in, index_span index, values out, reduction op,
                              const scatter_reduce_options& options = {});

/// What scatter_reduce would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_scatter_reduce(const context& ctx, const_values in, index_span index, values out,
                                             reduction op, const scatter_reduce_options& options = {});

}  // namespace sheaf
