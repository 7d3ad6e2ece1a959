#pragma once

#include <cstdint>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/values.hpp>

namespace sheaf {

/// The operation that combines values of one record of out. Sums and differences of integers wrap around; to subtract a
/// value gives what adding its negative gives. For floats -0 is below +0, and a minimum or maximum of values
/// with a NaN among them is the positive quiet NaN.
enum class reduction : std::uint8_t { add, min, max, subtract };

/// What the order of additions and subtractions of floats may depend on.
enum class reduction_order : std::uint8_t {
  deterministic,  ///< on the positions alone: one variant gives the same result in every run on a device
  unordered,      ///< on which worker comes first, as with atomics on CUDA: the last bits differ from run to run
};

struct scatter_reduce_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  reduction_order order = reduction_order::deterministic;
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cuda.atomic"
};

/// out[index[i]] = out[index[i]] op in[i] for every i; an index may repeat (Ujaldon and Saltz 2005 do this by
/// blending).
/// @param in     values of out's type.
/// @param index  as many as in has values.
/// @param out    values that in's are combined with; may not overlap in or index.
/// A bad index changes nothing and surfaces at ctx.wait(). Integers, minima and maxima are bit-identical on every
/// backend; options.order says whether sums and differences of floats are the same in every run. Queued on ctx: returns
/// before the work is done on CUDA, after it elsewhere. On OpenGL, and on CUDA in the unordered order, a sum or
/// difference of f32 may take values below 2^-126 for zero.
/// @throws error(bad_argument) if lengths or types disagree, spans overlap or are not in ctx's memory.
SHEAF_API void scatter_reduce(const context& ctx, const_values in, index_span index, values out, reduction op,
                              const scatter_reduce_options& options = {});

/// What scatter_reduce would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_scatter_reduce(const context& ctx, const_values in, index_span index, values out,
                                             reduction op, const scatter_reduce_options& options = {});

}  // namespace sheaf
