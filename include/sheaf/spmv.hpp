#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>

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

/// In which type products and sums are made.
enum class spmv_sums : std::uint8_t {
  as_values,  ///< that of the matrix's values
  f64,        ///< f64, for values of f32 too; a result is rounded once
};

struct spmv_options {
  double alpha = 1;         ///< with sums as_values of f32 both are rounded to f32 first
  double beta = 0;          ///< 0: y is written and never read, so that NaN in it does not spread
  bool transposed = false;  ///< multiplies by the transposed matrix
  spmv_sums sums = spmv_sums::as_values;
  access_pattern pattern = access_pattern::unknown();  ///< of the columns, row by row
  std::string_view variant = {};                       ///< takes this variant and not the planner's choice, "cpu.rows"
};

/// y = alpha A x + beta y, or with options.transposed y = alpha A^T x + beta y.
/// @param x  as many values as A has columns (transposed: rows), of the type of A's values.
/// @param y  as many as A has rows (transposed: columns), of the same type; may not overlap x or A.
/// The order of a sum depends on the matrix and on options alone: y has the same bits in every run of one variant and
/// for every number of threads. NaN and infinity propagate as IEEE 754 says, and alpha = 0 multiplies as any alpha.
/// What is wrong with A surfaces at ctx.wait() as error(bad_index): the first row that begins or ends past the entries
/// or ends before it begins, and else the entry of the lowest place whose column A does not have. Such a row counts as
/// empty, and such an entry as absent. Queued on ctx: returns before the work is done on CUDA, after it on the CPU and
/// on OpenGL; only transposed products of rows with ends of their own wait on CUDA, too. OpenGL takes values and sums
/// of f32, and may take numbers below 2^-126 for zero; a sum of n products errs there by up to n 2^-23 times the sum of
/// their magnitudes (2.4e-7 of the largest result is the most that was measured).
/// @throws error(bad_argument) if lengths or types disagree, y overlaps another view, or memory is not ctx's.
SHEAF_API void spmv(const context& ctx, const csr_view& a, const_values x, values y, const spmv_options& options = {});

/// What spmv would do with views of these shapes; their data is not touched and may be null.
SHEAF_API explanation explain_spmv(const context& ctx, const csr_view& a, const_values x, values y,
                                   const spmv_options& options = {});

/// What a preparation found out, cost and saves.
struct spmv_preparation : preparation_report {
  std::string product;   ///< name of the spmv variant that a run is, or of a preparation whose runs are none
  access_pattern order;  ///< what the columns were found to be, row by row
  bool timed = false;    ///< whether the preparation timed runs, so that both times of a run are measured
};

struct prepare_spmv_options {
  bool transposed = false;
  spmv_sums sums = spmv_sums::as_values;
  access_pattern pattern = access_pattern::unknown();  ///< of the columns, where the preparation finds no order
  std::string_view variant = {};  ///< takes this variant and not the planner's choice, "cpu.transposed"
};

/// A product by a matrix that prepare_spmv inspected. A handle; one thread uses it at a time, as it does its context.
/// The matrix's arrays must stay as they are until the last copy is destroyed: with the variant "kept" runs read them,
/// others have copied entries, values too, so a value that changes may or may not be seen.
class SHEAF_API prepared_spmv {
 public:
  prepared_spmv(const context& ctx, std::shared_ptr<primitives::prepared_product> work, spmv_preparation report);

  /// y = alpha A x + beta y as spmv makes it, with the matrix that was prepared. The bits are the same in every run and
  /// for every number of threads; they may be others than spmv's. Queued on the context of the preparation.
  /// @throws error(bad_argument) as spmv does, or if this object was moved from; error(out_of_memory) where the context
  /// has less scratch than a run takes, or is limited to less.
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
/// @param expected_runs  number of runs over which the planner spreads the cost of the preparation; 0 counts as 1.
/// Returns when the preparation is done, and with it all work queued on ctx before. The order of the columns is found
/// from up to half a million of them. Where runs would do other work than spmv, and 16 runs or more are to come, both
/// are timed on vectors of the preparation's own, and the faster is taken.
/// @throws error(bad_argument) as spmv does, and error(bad_index) for what is wrong with the matrix if the preparation
/// reads it; with the variant "kept" the runs do.
SHEAF_API prepared_spmv prepare_spmv(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                     const prepare_spmv_options& options = {});

/// What prepare_spmv would plan for a matrix of this shape whose columns have the order options.pattern; its data is
/// not touched and may be null. Seconds are those of the preparation and all expected runs. A preparation that then
/// finds its runs slower than spmv is not taken after all, which prepared_spmv::report() says.
SHEAF_API explanation explain_prepare_spmv(const context& ctx, const csr_view& a, std::uint64_t expected_runs,
                                           const prepare_spmv_options& options = {});

}  // namespace sheaf
