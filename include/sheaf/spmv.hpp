#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/scatter_reduce.hpp>

// Sparse matrix-vector product (He et al. 2007, section 4.3).
namespace sheaf {

namespace primitives {
class prepared_product;
}
class prepared_spmv;
struct opengl_buffer;
/// Declared with its contract in sheaf/interop/opengl.hpp.
SHEAF_API void opengl_run(const prepared_spmv& prepared, const opengl_buffer& x, const opengl_buffer& y, double alpha,
                          double beta);

/// The type in which products and sums are computed.
enum class spmv_sums : std::uint8_t {
  as_values,  ///< that of the matrix's values
  f64,        ///< f64, for values of f32 too; a result is rounded once
};

struct spmv_options {
  double alpha = 1;         ///< alpha and beta are rounded to the type of the sums first
  double beta = 0;          ///< 0: y is written and never read, so that NaN in it does not spread
  bool transposed = false;  ///< multiplies by the transposed matrix
  spmv_sums sums = spmv_sums::as_values;
  reduction_order order = reduction_order::deterministic;  ///< of transposed sums; others always have one order
  access_pattern pattern = access_pattern::unknown();      ///< of the columns, row by row
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.rows"; empty: the planner's choice
};

/// Multiplies a sparse matrix by a vector: y = alpha A x + beta y, or with options.transposed y = alpha A^T x + beta y.
/// @param a  a matrix of f32 or f64 values.
/// @param x  as many values as A has columns (transposed: rows), of the type of A's values and aligned to it.
/// @param y  as many values as A has rows (transposed: columns), likewise; may not overlap x or A.
/// A fault of A surfaces at ctx.wait() as error(bad_index): the first row that begins or ends past the entries or ends
/// before it begins, or if there is none the entry of the lowest place whose column A does not have. Such a row counts
/// as empty, and such an entry as absent. NaN and infinity propagate as IEEE 754 says; alpha = 0 multiplies as any
/// other alpha.
/// @throws error(bad_argument) if counts or types disagree, an array is not aligned, y overlaps another array, or an
/// array is not in ctx's memory; error(no_variant) on OpenGL unless values and sums are f32, and there for transposed
/// products of rows with ends of their own; and what every call may throw (see context).
/// y has the same bits in every run of one variant and for every number of threads: sums depend on the matrix and on
/// options alone. Only a transposed product whose options.order is unordered may have other last bits in every run.
/// That is for CUDA, where it is 1.3 to 4 times as fast and takes no scratch; alpha x is rounded first in it, and f32
/// of magnitudes below 2^-126 may count as zero. Other backends add in order nevertheless. On OpenGL f32 below 2^-126
/// may always count as zero; a sum of n products errs there by up to n 2^-23 times the sum of their magnitudes (2.4e-7
/// of the largest result is the most that was measured).
/// The call is queued on ctx: it returns before its work is done on CUDA, after it elsewhere. Source: He et al. 2007,
/// section 4.3.
SHEAF_API void spmv(const context& ctx, const csr_view& a, const_values x, values y, const spmv_options& options = {});

/// What spmv would do with views of these shapes. Their data is not read and may be null.
SHEAF_API explanation explain_spmv(const context& ctx, const csr_view& a, const_values x, values y,
                                   const spmv_options& options = {});

/// What a preparation found, took and saves.
struct spmv_preparation : preparation_report {
  std::string product;   ///< the variant whose work a run does: of spmv, or of a preparation with runs of its own
  access_pattern order;  ///< the order of the columns, row by row, from a sample
  bool timed = false;    ///< whether the preparation timed runs, so that both times of a run are measured
};

struct prepare_spmv_options {
  bool transposed = false;
  spmv_sums sums = spmv_sums::as_values;
  reduction_order order = reduction_order::deterministic;  ///< of transposed sums, where runs are spmv's ("kept")
  access_pattern pattern = access_pattern::unknown();      ///< of the columns, where the preparation finds no order
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.transposed"; empty: the planner's choice
};

/// A product by a matrix that prepare_spmv inspected. It is a handle: copies share what was prepared. One thread at a
/// time uses it, as it does its context. The matrix's arrays must exist and stay as they are until the last copy is
/// destroyed. Runs of the variant "kept" read them; others may have copied entries, so that a changed value may or may
/// not count.
class SHEAF_API prepared_spmv {
 public:
  prepared_spmv(const context& ctx, std::shared_ptr<primitives::prepared_product> work, spmv_preparation report);

  /// Multiplies by the prepared matrix: y = alpha A x + beta y, or with A^T. Parameters and faults of A are those of
  /// spmv.
  /// @throws error(bad_argument) as spmv does, or if this object was moved from; error(out_of_memory) if the scratch of
  /// a run does not fit.
  /// The bits are the same in every run and for every number of threads, unless the variant is "kept" and the
  /// preparation's order is unordered; they may differ from spmv's. The call is queued on the context of the
  /// preparation, as spmv is.
  void run(const_values x, values y, double alpha = 1, double beta = 0) const;
  const spmv_preparation& report() const noexcept { return report_; }

 private:
  friend void opengl_run(const prepared_spmv& prepared, const opengl_buffer& x, const opengl_buffer& y, double alpha,
                         double beta);

  context ctx_;
  std::shared_ptr<primitives::prepared_product> work_;
  spmv_preparation report_;
};

/// Inspects a matrix for many products by it.
/// @param a              the matrix, as for spmv; its arrays must outlive the result.
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// The preparation finds the order of the columns from up to half a million of them. If 16 runs or more are expected,
/// it times runs beside spmv's, and where plans lie close beside those of a second preparation, which it then makes
/// too, and keeps the fastest: unless a variant is forced, or the vectors of these runs do not fit into an eighth of
/// memory and into the scratch limit. What it saves is counted against spmv with the order of options.
/// @throws error(bad_argument) as spmv does; error(bad_index) for a fault of the matrix, if the preparation reads it
/// (else the runs do: of "kept", and of "cpu.bsr" without dense blocks); and what ctx.wait() throws for earlier calls.
/// When the call returns, the preparation is done, and with it all work queued on ctx before.
SHEAF_API prepared_spmv prepare_spmv(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                     const prepare_spmv_options& options = {});

/// What prepare_spmv would plan for a matrix of this shape whose columns have the order options.pattern. Its data is
/// not read and may be null. Seconds are those of the preparation and of all expected runs. A preparation that then
/// finds its runs slower is replaced by "kept" or by one that was timed beside it, as prepared_spmv::report() says.
SHEAF_API explanation explain_prepare_spmv(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                           const prepare_spmv_options& options = {});

}  // namespace sheaf
