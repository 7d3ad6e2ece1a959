#pragma once

#include "primitives/sparse/conjugate_gradient_steps.hpp"
#include "primitives/sparse/spmv.hpp"

// Conjugate gradient between ranks, of which each has a part of the rows: what a backend does with the vectors of one
// rank. Whoever calls it multiplies by the matrix, and brings the sums that every rank makes of its own rows to all
// ranks. The scalars lie where the context works, and are the same on all ranks, because all add the same sums in the
// same order: the host looks at them from time to time.
namespace sheaf::primitives {

/// Rows whose values are summed at once, whichever rank has them: parts of the rows begin at multiples of this many.
constexpr std::uint64_t rank_block_rows = 256;

/// What is summed.
enum class rank_sums : std::uint8_t {
  start_values,    ///< of b.b, of values of b that are not 0, of such values of x, of diagonal values not above 0
  start_residual,  ///< r.r and r.z
  curvature,       ///< p.q
  residual,        ///< r.r and r.z
  confirmation,    ///< r.r and r.z
  result,          ///< q.q
};
constexpr std::uint64_t most_rank_sums = 4;

/// The scalars of an iteration between ranks.
struct rank_state {
  static constexpr std::uint64_t history_entries = 32;

  conjugate_gradient_steps steps{{}, 0};
  double b_squared = 0;
  double residual = 0;  ///< of rank_sums::result
  // The step of the vectors that is to come. `steps` may have ended the iteration already.
  double alpha = 0;
  double beta = 0;
  std::int32_t from = 0;  ///< the array of x, and the one where x + alpha p goes
  std::int32_t to = 0;
  std::uint32_t has_step = 0;       ///< of x
  std::uint32_t has_direction = 0;  ///< of p
  std::uint32_t b_is_zero = 0;
  std::uint32_t x_is_zero = 0;
  std::uint32_t has_bad_diagonal = 0;
  double history[history_entries]{};  ///< the residual of iteration i in place i % history_entries

  /// Whether nothing is to be done before the host has looked at these scalars.
  SHEAF_HOST_DEVICE bool waits_for_host() const noexcept { return steps.is_done() || steps.wants_confirmation(); }
  /// Takes the sums of all ranks.
  SHEAF_HOST_DEVICE void take(rank_sums what, const conjugate_gradient_goals& goals, const double* sum) noexcept;

 private:
  SHEAF_HOST_DEVICE void keep_history() noexcept { history[steps.iterations() % history_entries] = steps.norm(); }
  SHEAF_HOST_DEVICE void take_residual(const double* sum) noexcept;
};

SHEAF_HOST_DEVICE inline void rank_state::take_residual(const double* sum) noexcept {
  if (waits_for_host() || !steps.take_residual(sum[0], sum[1])) return;
  keep_history();
  alpha = steps.alpha();
  beta = steps.beta();
  from = steps.current();
  to = steps.next();
  has_step = 1;
  if (steps.wants_confirmation()) return;
  has_direction = 1;
  steps.end_step();
}

SHEAF_HOST_DEVICE inline void rank_state::take(rank_sums what, const conjugate_gradient_goals& goals,
                                               const double* sum) noexcept {
  has_step = 0;
  has_direction = 0;
  switch (what) {
    case rank_sums::start_values:
      steps = conjugate_gradient_steps(goals, sum[0]);
      b_squared = sum[0];
      b_is_zero = sum[1] == 0 ? 1 : 0;
      x_is_zero = sum[2] == 0 ? 1 : 0;
      has_bad_diagonal = sum[3] != 0 ? 1 : 0;
      break;
    case rank_sums::start_residual:
      steps.start(b_squared, sum[0], has_bad_diagonal != 0 ? 0 : sum[1]);
      if (has_bad_diagonal != 0 && !steps.is_done()) steps.end(stop_reason::not_positive_definite);
      keep_history();
      break;
    case rank_sums::curvature:
      if (!waits_for_host()) steps.take_curvature(sum[0]);
      break;
    case rank_sums::residual: take_residual(sum); break;
    case rank_sums::confirmation:
      steps.confirm(sum[0], sum[1]);
      beta = steps.beta();
      has_direction = steps.is_done() ? 0 : 1;
      steps.end_step();
      break;
    case rank_sums::result: residual = std::sqrt(sum[0]); break;
  }
}

/// One rank's part of a system. Arrays lie where the context works; those of a rank without rows may be null.
struct rank_system {
  spmv_problem product;  ///< by this rank's rows
  conjugate_gradient_goals goals;
  bool has_jacobi = false;
  const void* b = nullptr;
  void* x[2]{};  ///< the second is null where the last x is kept
  void* r = nullptr;
  void* p = nullptr;
  void* q = nullptr;
  void* inverse = nullptr;        ///< of the diagonal, with has_jacobi
  std::uint64_t first_block = 0;  ///< of this rank's rows, among all
  std::uint64_t blocks = 0;
  std::uint64_t all_blocks = 0;
  double* sums = nullptr;  ///< count_of() for each block of all ranks, side by side
  rank_state* state = nullptr;

  /// Sums of each block.
  std::uint64_t count_of(rank_sums what) const noexcept {
    if (what == rank_sums::start_values) return most_rank_sums;
    return has_jacobi && what != rank_sums::curvature ? 2 : 1;
  }
};

/// What a backend brings. Each function is queued on the context.
struct rank_steps {
  /// Writes the diagonal of a matrix to `inverse`, where entries of a place that occur several times are added.
  /// @param a          this rank's rows, which were found right, with the columns of the whole matrix
  /// @param first_row  of this rank
  void (*read_diagonal)(const context& ctx, const rank_system& system, const csr_view& a, std::uint64_t first_row);
  /// Makes the sums of this rank's blocks, and before them what they are made of: the inverse of the diagonal
  /// (start_values), p = z (start_residual), r -= alpha q (residual). Nothing where the state waits for the host amid
  /// an iteration.
  void (*sum)(const context& ctx, const rank_system& system, rank_sums what);
  /// Adds the sums of all blocks in their order, and decides what follows.
  void (*take)(const context& ctx, const rank_system& system, rank_sums what);
  /// x and p, as the state says.
  void (*step_vectors)(const context& ctx, const rank_system& system);
};

/// src/composition defines it.
const rank_steps& rank_steps_of(backend_kind backend);

}  // namespace sheaf::primitives

// Defined by the backends.
namespace sheaf {
namespace cpu {
extern const primitives::rank_steps steps_of_rank;
}
namespace cuda {
extern const primitives::rank_steps steps_of_rank;
}
}  // namespace sheaf
