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
  stopped,                ///< the progress function said so
};

/// "converged", "not positive definite".
SHEAF_API std::string_view name(stop_reason reason) noexcept;

/// What a progress function is told: after 0 iterations of the start value, then after each progress_interval.
struct conjugate_gradient_progress {
  std::uint64_t iterations = 0;
  double residual = 0;  ///< |b - A x| as the recurrence of residuals has it
  double target = 0;    ///< the iteration ends where the residual is no more than this
};

struct conjugate_gradient_options {
  static constexpr std::uint64_t automatic_limit = ~std::uint64_t{0};

  double tolerance = 1e-8;                          ///< of the residual, relative to |b|
  double absolute_tolerance = 0;                    ///< of the residual; the larger of both is the target
  std::uint64_t iteration_limit = automatic_limit;  ///< automatic: ten times the rows, and 100 at least
  sheaf::preconditioner preconditioner = sheaf::preconditioner::none;
  const_values diagonal = {};  ///< with preconditioner::jacobi: A's, where A is an operator; a matrix's own is read
  spmv_sums sums = spmv_sums::as_values;               ///< of products; dot products are of f64
  access_pattern pattern = access_pattern::unknown();  ///< of the matrix's columns, row by row
  bool keeps_last = false;  ///< x is that of the last iteration also where that did not converge, not the best
  std::vector<double>* history = nullptr;  ///< gets the residual after 0, 1, 2, ... iterations, in place of what it has
  /// Called on the calling thread. False ends the iteration; what it throws does too, and leaves conjugate_gradient.
  std::function<bool(const conjugate_gradient_progress&)> progress = {};
  std::uint64_t progress_interval = 1;  ///< iterations between calls; a GPU waits for the host at each
  std::string_view variant = {};        ///< takes this variant and not the planner's choice, "cpu.fused"
};

struct conjugate_gradient_result {
  stop_reason reason = stop_reason::converged;
  std::uint64_t iterations = 0;  ///< done; a breakdown or a direction that is not positive is met in the next one
  // Of these, what a breakdown leaves unknown is NaN: a norm whose square overflows or vanishes, and a target that
  // follows from it.
  double residual = 0;  ///< |b - A x| of the x that is returned, computed anew
  double target = 0;    ///< what the residual had to come down to
  double b_norm = 0;    ///< |b|
  std::string variant;  ///< what ran; empty where there was nothing to do

  bool converged() const noexcept { return reason == stop_reason::converged; }
};

/// Solves A x = b by the conjugate gradient method for a symmetric positive definite matrix; only that A is square is
/// checked, and directions p with p . A p <= 0 are noticed.
/// @param b  as many values as A has rows, of the type of A's values.
/// @param x  as many: the start value, and the result; overlaps neither b nor A.
/// The iteration ends where |b - A x| <= max(tolerance |b|, absolute_tolerance) holds for the recurrence of residuals
/// and then for the true residual; where only the first holds, it goes on from the true residual. So it does where the
/// recurrence comes down to sqrt(rows) 2^-511 for f64 and sqrt(rows) 2^-126 for f32, below which values lose digits, so
/// that no limit is reached in vain. Where it does not converge, x is the one of least residual by the recurrence, the
/// start value included; the result has its true residual, which rounding may have made larger than that of the start
/// value. A semidefinite A has solutions if b is in its range, and converges to one. b = 0 gives x = 0 after 0
/// iterations, no row nothing. Where b has NaN or infinity, or |b|^2 overflows, or residuals that converged could not
/// be told from 0, x stays as it was: breakdown after 0 iterations. They can be told where the target, or |b| times the
/// epsilon of the values if that is more, is 2^-511 (1.5e-154) or more for f64 and 2^-126 (1.2e-38) for f32. Products
/// find what is wrong with a matrix, so where none is done, as with b = 0, it need not be noticed. Sums are made in an
/// order that the sizes alone decide: x has the same bits in every run of one variant and for every number of threads.
/// Returns when it is done, on every backend; no iteration allocates memory, but for the history. While its stream is
/// captured into a graph it returns at once, with NaN for all residuals: the graph does up to iteration_limit
/// iterations, of which there must be a number, with neither history nor progress. Where the recurrence comes down so
/// far before the true residual does, a graph may leave out the iterations behind.
/// @throws error(bad_argument) if sizes or types disagree, views overlap or memory is not ctx's; error(out_of_memory);
/// error(bad_index) for what spmv reports of a matrix. With any of these, x stays as it was, but where memory
/// for the history ran out on the way: the iteration then ends as one that the progress function has ended.
SHEAF_API conjugate_gradient_result conjugate_gradient(const context& ctx, const csr_view& a, const_values b, values x,
                                                       const conjugate_gradient_options& options = {});

/// Applies a linear operator: out = A in, both of n values of b's type in ctx's memory, apart from each other. Work may
/// be queued on ctx.
using linear_operator = std::function<void(const context& ctx, const_values in, values out)>;

/// The same for an operator, which is applied as often as a matrix would be multiplied by: once an iteration, for the
/// start value unless that is 0, and where the iteration ends. What it throws leaves conjugate_gradient with x as it
/// was before the first iteration or in the best one so far. While its stream is captured into a graph, iteration_limit
/// + 2 times: a graph has every application, also of iterations that it finds are not needed.
SHEAF_API conjugate_gradient_result conjugate_gradient(const context& ctx, const linear_operator& apply, const_values b,
                                                       values x, const conjugate_gradient_options& options = {});

/// What conjugate_gradient would do with views of these shapes; their data is not touched and may be null. Seconds are
/// those of one iteration.
SHEAF_API explanation explain_conjugate_gradient(const context& ctx, const csr_view& a, const_values b, values x,
                                                 const conjugate_gradient_options& options = {});

}  // namespace sheaf
