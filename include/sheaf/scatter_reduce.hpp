#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/value_rows.hpp>
#include <sheaf/values.hpp>

namespace sheaf {

namespace primitives {
class prepared_reduction;
}

/// The operation that combines values in a record of out. Sums, differences and products of integers wrap around.
/// Subtracting a value gives what adding its negative gives. For floats -0 is below +0, and a minimum or maximum that
/// involves a NaN is the positive quiet NaN. A mean is the sum divided by the number of rows; one of integers is summed
/// in 64 bits and rounded towards zero. A count is the number of rows, whatever they hold.
enum class reduction : std::uint8_t { add, min, max, subtract, multiply, mean, count };

/// What the order of additions, subtractions and multiplications of floats may depend on.
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
/// @param in     values of out's type, aligned to it. Those of 1 and 2 bytes, other types of out that the call for rows
///               takes, and multiply, mean and count are computed as rows of one value: see below.
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

/// What the rows that come to a row of out are combined with.
enum class reduction_start : std::uint8_t {
  out,       ///< with what out holds. In a mean that counts as one row; to a count the number of rows is added
  identity,  ///< with the identity element, which a row of out that none comes to gets: 0 of add, subtract, mean and
             ///< count, 1 of multiply, +infinity or the largest number of out's type of min, and -infinity or the least
             ///< of max. Out is written and never read
};

struct scatter_reduce_rows_options {
  access_pattern pattern = access_pattern::unknown();
  sheaf::bounds bounds = sheaf::bounds::check;
  reduction_order order = reduction_order::deterministic;
  reduction_start start = reduction_start::out;
  /// Where to write how many rows came to each row of out, in u32, i32, u64 or i64: as many values as out has rows, in
  /// the context's memory, overlapping nothing. No values: nowhere.
  values counts = {};
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.sorted"; empty: the planner's choice
};

/// Combines whole rows by an index list: out[index[i]][k] = out[index[i]][k] op in[i][k] for every i and k.
/// @param in     as many rows as index has entries, of 1 to 65,536 values (see const_value_rows).
/// @param index  rows of out, aligned to their type. They may repeat.
/// @param out    rows of as many values as in's; rows may not overlap one another, nor in or index.
///
/// | in                  | out                                                       |
/// |---------------------|-----------------------------------------------------------|
/// | any type            | the same type                                             |
/// | f16, bf16           | f32                                                       |
/// | i8, i16             | i32, i64                                                  |
/// | u8, u16             | u32, u64                                                  |
/// | any, of a count     | any: only in's shape is looked at, and its data is unread |
///
/// f16 and bf16 are combined in f32 and rounded once, at the end; f32 and f64 in their own type, and integers modulo
/// the range of out's (a mean's sum modulo 2^64). A bad index changes nothing, counts nowhere, and surfaces at
/// ctx.wait().
/// @throws error(bad_argument) if counts, widths or types disagree, a stride or an address is not a multiple of the
/// value's bytes, out or counts overlap another array, or an array is not in ctx's memory; error(no_variant) on OpenGL;
/// and what every call may throw (see context).
/// Results are bit-identical on every backend, except sums, differences, products and means of floats. Of these, the
/// deterministic order has the same bits in every run and for every number of threads, and options.order allows
/// another. The call is queued on ctx: it returns before its work is done on CUDA, after it elsewhere.
SHEAF_API void scatter_reduce(const context& ctx, const_value_rows in, index_span index, value_rows out, reduction op,
                              const scatter_reduce_rows_options& options = {});

/// What scatter_reduce would do with rows of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_scatter_reduce(const context& ctx, const_value_rows in, index_span index, value_rows out,
                                             reduction op, const scatter_reduce_rows_options& options = {});

/// What prepare_scatter_reduce took and saves.
struct scatter_reduce_preparation : preparation_report {};

struct prepare_scatter_reduce_options {
  access_pattern pattern = access_pattern::unknown();
  std::uint64_t row_bytes = 256;  ///< bytes of a row of most runs, by which the preparation plans
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.by_slot"; empty: the planner's choice
};

struct scatter_reduce_run_options {
  reduction_start start = reduction_start::out;
  values counts = {};  ///< as in scatter_reduce_rows_options
};

/// A list by which rows are combined many times. It is a handle: copies share what was prepared. One thread at a time
/// uses it, as it does its context.
class SHEAF_API prepared_scatter_reduce {
 public:
  prepared_scatter_reduce(const context& ctx, std::shared_ptr<primitives::prepared_reduction> work,
                          scatter_reduce_preparation report);

  /// Combines rows by the prepared list, as scatter_reduce does: of any type, width, stride and operation.
  /// @param in   as many rows as the list has entries.
  /// @param out  as many rows as prepared for.
  /// @throws error(bad_argument) as scatter_reduce does, or if this object was moved from; error(out_of_memory) if the
  /// scratch of a run does not fit.
  /// Results are those of scatter_reduce in the deterministic order, and have the same bits in every run; sums,
  /// differences, products and means of floats may have other last bits than scatter_reduce's. The call is queued on
  /// the context of the preparation, as scatter_reduce is.
  void run(const_value_rows in, value_rows out, reduction op, const scatter_reduce_run_options& options = {}) const;
  const scatter_reduce_preparation& report() const noexcept { return report_; }

 private:
  context ctx_;
  std::shared_ptr<primitives::prepared_reduction> work_;
  scatter_reduce_preparation report_;
};

/// Inspects a list for reductions of rows into outputs of out_count rows; what runs need of the list is copied.
/// @param index          the list; it must not change while the call runs.
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// @throws error(bad_argument) if index is not aligned or not in ctx's memory; error(bad_index) for its first entry
/// that out_count rows do not have; and what ctx.wait() throws for earlier calls. When the call returns, the
/// preparation is done, and with it all work queued on ctx before.
SHEAF_API prepared_scatter_reduce prepare_scatter_reduce(const context& ctx, index_span index, std::uint64_t out_count,
                                                         std::uint64_t expected_runs,
                                                         const prepare_scatter_reduce_options& options = {});

/// What prepare_scatter_reduce would plan for a list of this length. Its data is not read and may be null. Seconds are
/// those of the preparation and of all expected runs.
SHEAF_API explanation explain_prepare_scatter_reduce(const context& ctx, index_span index, std::uint64_t out_count,
                                                     std::uint64_t expected_runs,
                                                     const prepare_scatter_reduce_options& options = {});

}  // namespace sheaf
