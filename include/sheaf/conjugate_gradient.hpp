#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/csr.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>
#include <sheaf/spmv.hpp>

// Linear systems A x = b with a symmetric positive definite A (Hestenes and Stiefel 1952).
namespace sheaf {

/// What residuals are multiplied by before they become directions.
enum class preconditioner : std::uint8_t {
  none,
  jacobi,  ///< the inverse of A's diagonal
};

/// Why an iteration ended.
enum class stop_reason : std::uint8_t {
  converged,              ///< the true residual |b - A x| is at most the tolerance
  limit,                  ///< the iteration limit was reached before that
  stagnated,              ///< rounding keeps the true residual above the tolerance, and new iterations do not lower it
  breakdown,              ///< a sum is NaN, infinite or so small that it is 0, as where b has NaN
  not_positive_definite,  ///< a direction p with p . A p <= 0, or a diagonal value <= 0 with preconditioner::jacobi
  stopped,                ///< the progress function returned false
};

/// "converged", "not positive definite".
SHEAF_API std::string_view name(stop_reason reason) noexcept;

/// What a progress function receives: after 0 iterations, for the start value, and then after each progress_interval.
struct conjugate_gradient_progress {
  std::uint64_t iterations = 0;
  double residual = 0;  ///< |b - A x| according to the recurrence of residuals
  double target = 0;    ///< the iteration ends where the residual is at most this
};

struct conjugate_gradient_options {
  static constexpr std::uint64_t automatic_limit = ~std::uint64_t{0};

  double tolerance = 1e-8;                          ///< of the residual, relative to |b|; 0 or more
  double absolute_tolerance = 0;                    ///< of the residual, 0 or more; the larger of both is the target
  std::uint64_t iteration_limit = automatic_limit;  ///< automatic: ten times the rows, and 100 at least
  sheaf::preconditioner preconditioner = sheaf::preconditioner::none;
  const_values diagonal = {};  ///< A's, for an operator with preconditioner::jacobi alone; a matrix's own is read
  spmv_sums sums = spmv_sums::as_values;               ///< of products; dot products are of f64
  access_pattern pattern = access_pattern::unknown();  ///< of the matrix's columns, row by row
  bool keeps_last = false;                 ///< without convergence: x is that of the last iteration, not the best one
  std::vector<double>* history = nullptr;  ///< its contents are replaced by the residuals after 0, 1, 2, ... iterations
  /// Called on the calling thread. The iteration ends if it returns false, or throws, which conjugate_gradient passes
  /// on.
  std::function<bool(const conjugate_gradient_progress&)> progress = {};
  std::uint64_t progress_interval = 1;  ///< iterations between calls, 1 or more; a GPU waits for the host at each
  std::string_view variant = {};  ///< name of the variant to run, such as "cpu.fused"; empty: the planner's choice
};

struct conjugate_gradient_result {
  stop_reason reason = stop_reason::converged;
  std::uint64_t iterations = 0;  ///< completed; a breakdown or a direction that is not positive is met in the next one
  // What a breakdown leaves unknown of these is NaN: a norm whose square overflows or vanishes, and a target that
  // follows from it.
  double residual = 0;  ///< |b - A x| of the x that is returned, computed anew
  double target = 0;    ///< what the residual had to come down to
  double b_norm = 0;    ///< |b|
  std::string variant;  ///< the variant that ran; empty where there was nothing to do

  bool converged() const noexcept { return reason == stop_reason::converged; }
};

/// Solves A x = b by the conjugate gradient method for a symmetric positive definite matrix.
/// @param a  a square matrix of f32 or f64 values. Only that it is square is checked; directions p with p . A p <= 0
///           are noticed. A semidefinite A has solutions if b is in its range, and the iteration converges to one.
/// @param b  as many values as A has rows, of the type of A's values and aligned to it.
/// @param x  as many values likewise: the start value, then the result. It overlaps neither b nor A.
/// The iteration ends where |b - A x| <= max(tolerance |b|, absolute_tolerance) holds for the recurrence of residuals
/// and then for the true residual. Where only the first holds, the iteration continues from the true residual. It also
/// does so where the recurrence falls below epsilon |b|, epsilon being that of the values' type, and below sqrt(rows)
/// 2^-511 (f64) or sqrt(rows) 2^-126 (f32): residuals lose digits there, and might never meet the target. Where the
/// iteration does not converge, x is the one of least residual by the recurrence, the start value included, or with
/// keeps_last that of the last iteration. The result has its true residual, which rounding may have made larger than
/// that of the start value.
/// b = 0 gives x = 0 after 0 iterations. A system of no rows has converged. The result is a breakdown after 0
/// iterations, and x keeps its value, if b has NaN or infinity, if |b|^2 overflows, or if a converged residual could
/// not be distinguished from 0. It can be distinguished where the larger of the target and epsilon |b| is at least
/// 2^-511 (1.5e-154) for f64 and 2^-126 (1.2e-38) for f32. Products find faults of a matrix, so that they may go
/// unnoticed where no product is computed, as with b = 0.
/// @throws error(bad_argument) if sizes or types disagree, an option is out of its range, a diagonal is given, an array
/// is not aligned, x overlaps another array, or an array is not in ctx's memory; error(bad_index) for what spmv reports
/// of a matrix; error(no_variant) on OpenGL; error(out_of_memory); and what ctx.wait() throws for earlier calls. With
/// any of these, x keeps its value, unless memory for the history ran out on the way: the iteration then ends as if the
/// progress function had ended it.
/// Sums are added in an order that the sizes alone decide: x has the same bits in every run of one variant and for
/// every number of threads. The work is done when the call returns, on every backend. No iteration allocates memory,
/// except for the history.
/// While the stream is captured into a CUDA graph, the call returns at once, with stop_reason::limit and NaN for all
/// norms. The graph does up to iteration_limit iterations, which must be at most 65536, without history and progress.
/// It may skip the remaining ones once the recurrence has met the target or fallen as low as above, even if the true
/// residual has not. Source: Hestenes and Stiefel 1952; van der Vorst and Ye 2000 for the true residual.
SHEAF_API conjugate_gradient_result conjugate_gradient(const context& ctx, const csr_view& a, const_values b, values x,
                                                       const conjugate_gradient_options& options = {});

/// Applies a linear operator: out = A in. Both have n values of b's type in ctx's memory, and do not overlap. Work may
/// be queued on ctx.
using linear_operator = std::function<void(const context& ctx, const_values in, values out)>;

/// Solves A x = b likewise, for an operator. It is applied as often as a matrix would be multiplied by: once an
/// iteration, for the start value unless that is 0, and where the iteration ends. In a CUDA graph it is applied
/// iteration_limit + 2 times, because a graph has every application, also of iterations that prove unnecessary. b has
/// f32 or f64 values; options.diagonal has as many, does not overlap x, and is given with preconditioner::jacobi alone.
/// @throws error(bad_argument) likewise, and if apply is empty or a diagonal is missing
/// An exception of `apply`, and a bad index that its work reports, leave conjugate_gradient with x as it was before the
/// first iteration or in the best one so far.
SHEAF_API conjugate_gradient_result conjugate_gradient(const context& ctx, const linear_operator& apply, const_values b,
                                                       values x, const conjugate_gradient_options& options = {});

/// What conjugate_gradient would do with views of these shapes. Their data is not read and may be null. Seconds are
/// those of one iteration.
SHEAF_API explanation explain_conjugate_gradient(const context& ctx, const csr_view& a, const_values b, values x,
                                                 const conjugate_gradient_options& options = {});

}  // namespace sheaf
