#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <sheaf/csr.hpp>
#include <sheaf/scatter_reduce.hpp>

// Product of a sparse matrix and a dense one, which lies row by row.
namespace sheaf {

namespace primitives {
class prepared_rows_product;
}

struct spmm_options {
  double alpha = 1;         ///< alpha and beta are rounded to the type of the sums first
  double beta = 0;          ///< 0: Y is written and never read, so that NaN in it does not spread
  bool transposed = false;  ///< multiplies by the transposed matrix
  reduction_order order = reduction_order::deterministic;  ///< of transposed sums; others are deterministic always
  access_pattern pattern = access_pattern::unknown();      ///< of the columns, row by row
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.rows"; empty: the planner's choice
};

/// Multiplies a sparse matrix by a dense one: Y = alpha A X + beta Y, or with options.transposed Y = alpha A^T X +
/// beta Y.
/// @param a  a matrix of values of X's type, or of f32 where that is f16 or bf16.
/// @param x  as many rows as A has columns (transposed: rows), of 1 to 1,024 values of f16, bf16, f32 or f64.
/// @param y  as many rows as A has rows (transposed: columns), of as many values, of X's type, or of f32 where that is
///           f16 or bf16; may not overlap X or A.
/// f64 is computed in f64, all else in f32; f16 and bf16 are rounded once, at the end.
/// Faults of A surface at ctx.wait() as those of spmv do, and such rows and entries count as there. NaN and infinity
/// propagate as IEEE 754 says.
/// @throws error(bad_argument) if counts, widths or types disagree, a stride or an address is not a multiple of the
/// value's bytes, Y overlaps another array, or an array is not in ctx's memory; error(no_variant) on OpenGL where X has
/// more than one column; and what every call may throw (see context).
/// Y has the same bits in every run of one variant and for every number of threads, unless options.order allows others.
/// The call is queued on ctx: it returns before its work is done on CUDA, after it elsewhere.
SHEAF_API void spmm(const context& ctx, const csr_view& a, const_value_rows x, value_rows y,
                    const spmm_options& options = {});

/// What spmm would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_spmm(const context& ctx, const csr_view& a, const_value_rows x, value_rows y,
                                   const spmm_options& options = {});

/// What prepare_spmm took and saves.
struct spmm_preparation : preparation_report {};

struct prepare_spmm_options {
  bool transposed = false;
  reduction_order order = reduction_order::deterministic;  ///< of transposed sums, where runs are spmm's ("kept")
  access_pattern pattern = access_pattern::unknown();      ///< of the columns, row by row
  std::uint64_t values_per_row = 64;  ///< columns of X of most runs, by which the preparation plans
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.transposed"; empty: the planner's choice
};

/// Products by a matrix that prepare_spmm inspected. It is a handle: copies share what was prepared. One thread at a
/// time uses it, as it does its context. The matrix's arrays must exist and stay as they are until the last copy is
/// destroyed.
class SHEAF_API prepared_spmm {
 public:
  prepared_spmm(const context& ctx, std::shared_ptr<primitives::prepared_rows_product> work, spmm_preparation report);

  /// Multiplies by the prepared matrix: Y = alpha A X + beta Y, or with A^T. Parameters and errors are those of spmm.
  /// The bits are the same in every run and for every number of threads, unless the variant is "kept" and the
  /// preparation's order is unordered; they may differ from spmm's. The call is queued on the context of the
  /// preparation, as spmm is.
  void run(const_value_rows x, value_rows y, double alpha = 1, double beta = 0) const;
  const spmm_preparation& report() const noexcept { return report_; }

 private:
  context ctx_;
  std::shared_ptr<primitives::prepared_rows_product> work_;
  spmm_preparation report_;
};

/// Inspects a matrix for many products by it.
/// @param a              the matrix, as for spmm; its arrays must outlive the result.
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// @throws error(bad_argument) as spmm does; error(bad_index) for a fault of the matrix, if the preparation reads it
/// (with the variant "kept", the runs read it); and what ctx.wait() throws for earlier calls.
/// When the call returns, the preparation is done, and with it all work queued on ctx before.
SHEAF_API prepared_spmm prepare_spmm(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                     const prepare_spmm_options& options = {});

/// What prepare_spmm would plan for a matrix of this shape. Its data is not read and may be null. Seconds are those of
/// the preparation and of all expected runs.
SHEAF_API explanation explain_prepare_spmm(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                           const prepare_spmm_options& options = {});

}  // namespace sheaf
