#include "cuda/sparse/solvers/system_kernels.cuh"
#include "cuda/sparse/solvers/system_reads.hpp"
#include "cuda/sparse/solvers/system_rows.cuh"

// The variant cuda.separate: the product is a call of its own, of the caller's operator or of cuda.rows with its pieces
// of long rows. The host reads the scalars in every iteration, because it must know whether to call the operator again.
// Into a graph it calls the operator as often as there may be iterations, and kernels behind the end return at once.
namespace sheaf::cuda {
namespace {

using primitives::conjugate_gradient_steps;

/// Rows of a tile.
std::uint64_t rows_of_tiles(const conjugate_gradient_problem& p) noexcept {
  constexpr std::uint64_t rows_of_a_warp = 256;
  constexpr std::uint64_t most_tiles = 1 << 15;
  return tile_rows_of(p.product.rows, rows_of_a_warp, most_tiles);
}

// Beside the product there are three kernels: p.q, the new residual, and the new x and p. p and q are read once more
// than in cuda.streamed, and the host waits once.
plan::planned plan_separate(const conjugate_gradient_problem& problem, const plan::scope& scope) {
  if (problem.is_captured && !problem.is_operator) {
    return plan::rejected("waits for the host in each iteration, but the stream is being captured");
  }
  const machine& machine = scope.machine;
  core::scratch_arrays place(nullptr);
  take_vectors(problem, rows_of_tiles(problem), place);
  rows_decision rows;
  core::scratch_offsets of_product;
  plan::planned plan;
  if (!problem.is_operator) {
    constexpr double spread = 1.1;  // rows of uneven length
    rows = decide_rows(problem.product, of_product);
    price_rows(problem.product, machine, false, spread, plan);
  }
  plan.scratch_bytes = place.bytes() + of_product.bytes();
  plan.decided.set(rows);
  constexpr double kernels = 3;
  plan.add("round trip", machine.launch_seconds + kernels * machine.step_seconds);
  plan.add("vectors",
           machine.streamed(vector_traffic(problem) + 2 * problem.vector_bytes(), 5 * problem.vector_bytes()));
  return plan;
}

enum class residual_use : std::uint32_t { start, confirmation, result };

/// Sums of a residual that was made by others, and what follows from them. At the start p = z.
template <class Sum, class Value>
__global__ void __launch_bounds__(block_threads)
    sum_residual(const __grid_constant__ system_vectors<Value> vectors, const Value* residual, residual_use use) {
  if (use == residual_use::confirmation && (!vectors.state().steps.wants_confirmation() || block_ends(vectors, false)))
    return;
  sum_all_tiles<2>(vectors, 0, [&](std::uint64_t i) {
    if (use == residual_use::start) vectors.p[i] = static_cast<Value>(z_at<Sum>(vectors, i));
    return sums_of_residual<Sum>(vectors, residual[i], i);
  });
  finish_sums<2>(vectors, 0, [&](const row_sums<2>& sums) {
    solver_state& state = vectors.state();
    if (use == residual_use::result) {
      state.residual = sqrt(sums.sum[0]);
    } else if (use == residual_use::confirmation) {
      take_confirmation(state, sums);
    } else {
      take_start_residual(state, sums);
      keep_history(vectors, state);
    }
  });
}

/// The inverse of a diagonal that the caller gives.
template <class Value>
__global__ void __launch_bounds__(block_threads)
    invert_diagonal(const __grid_constant__ system_vectors<Value> v, const Value* diagonal) {
  for_rows(v, [&](std::uint64_t i) {
    v.inverse[i] = Value{1} / diagonal[i];
    if (!(diagonal[i] > 0)) v.state().has_bad_diagonal = 1;
  });
}

/// to = b - to
template <class Value>
__global__ void __launch_bounds__(block_threads)
    subtract_from_b(const __grid_constant__ system_vectors<Value> v, Value* to) {
  for_rows(v, [&](std::uint64_t i) { to[i] = v.b[i] - to[i]; });
}

/// q = the x that is to be confirmed, else the best one, of which nobody needs the product.
template <class Value>
__global__ void __launch_bounds__(block_threads) copy_x_to_confirm(const __grid_constant__ system_vectors<Value> v) {
  const solver_state& s = v.state();
  const Value* const x = v.x[s.steps.wants_confirmation() ? s.steps.next() : s.steps.result()];
  for_rows(v, [&](std::uint64_t i) { v.q[i] = x[i]; });
}

/// Makes the best x the caller's; where b is 0, x is.
template <class Value>
__global__ void __launch_bounds__(block_threads) take_best_x(const __grid_constant__ system_vectors<Value> vectors) {
  const solver_state& s = vectors.state();
  if (s.b_is_zero != 0) {
    for_rows(vectors, [&](std::uint64_t i) { vectors.x[0][i] = Value{0}; });
  } else if (s.steps.result() != 0) {
    for_rows(vectors, [&](std::uint64_t i) { vectors.x[0][i] = vectors.x[1][i]; });
  }
}

template <class Sum, class Value, class Column>
class separate_solver {
 public:
  separate_solver(const context& ctx, const conjugate_gradient_problem& p, const plan::planned& plan,
                  const conjugate_gradient_buffers& b, std::byte* scratch)
      : separate_solver(ctx, p, plan, b, core::scratch_arrays(scratch)) {}

  void run() {
    begin();
    solver_state state = reads_.peek();
    if (system_reads::is_faulty(state)) return;
    if (state.b_is_zero != 0) {
      require(cudaMemsetAsync(vectors_.x[0], 0, problem_.vector_bytes(), ctx_.stream()), ctx_);
      buffers_.watch->report(0, 0, state.steps.target());
      *buffers_.result = state.steps.summary(0);
      return;
    }
    try {
      iterate(state);
    } catch (...) {
      take_best(state.steps);
      throw;
    }
  }

  /// An operator's iterations in a graph: as many as may be done, and their end.
  void capture() {
    begin();
    make_residual_of(vectors_.x[0], vectors_.r);
    queue_sums(vectors_.r, residual_use::start);
    for (std::uint64_t i = 0; i < buffers_.goals.limit; ++i) {
      queue_step();
      queue_over_rows(ctx_, step_vectors<Sum, Value>, vectors_);
    }
    queue_over_rows(ctx_, copy_x_to_confirm<Value>, vectors_);
    make_residual_of(vectors_.q, vectors_.r);
    queue_sums(vectors_.r, residual_use::confirmation);
    queue_over_rows(ctx_, restart_direction<Sum, Value>, vectors_);
    queue_over_rows(ctx_, take_best_x<Value>, vectors_);
  }

 private:
  separate_solver(const context& ctx, const conjugate_gradient_problem& problem, const plan::planned& plan,
                  const conjugate_gradient_buffers& buffers, core::scratch_arrays place)
      : ctx_(ctx),
        problem_(problem),
        rows_(plan.decided.get<rows_decision>()),
        buffers_(buffers),
        vectors_(vectors_in<Value>(problem, buffers, rows_of_tiles(problem), place)),
        product_scratch_(place.rest()),
        reads_(ctx, vectors_.memory, *buffers.watch) {
    if (!problem.is_operator) guard_ = guard_of(ctx, problem.product, primitives::csr_call::conjugate_gradient);
  }

  void begin() const {
    require(cudaMemsetAsync(vectors_.memory, 0, sizeof(solver_memory), ctx_.stream()), ctx_);
    queue(begin_system<Value>);
    invert();
  }

  void iterate(solver_state& state) {
    if (state.x_is_zero != 0) {
      copy(vectors_.b, vectors_.r);
    } else {
      make_residual_of(vectors_.x[0], vectors_.r);
    }
    queue_sums(vectors_.r, residual_use::start);
    if (!read(state)) return;
    while (!state.steps.is_done()) {
      if (buffers_.watch->asks_to_stop()) {
        state.steps.end(stop_reason::stopped);
      } else if (!step(state)) {
        return take_best(state.steps);
      }
    }
    take_best(state.steps);
    state.residual = state.steps.norm();
    if (!state.steps.is_confirmed()) {
      make_residual_of(vectors_.x[0], vectors_.q);
      queue_sums(vectors_.q, residual_use::result);
      state.residual = reads_.peek().residual;
    }
    *buffers_.result = state.steps.summary(state.residual);
  }

  /// The product and the new residual.
  void queue_step() const {
    multiply(vectors_.p, vectors_.q, 1, false);
    queue(sum_curvature<Value>);
    queue(step_residual<Sum, Value>);
  }

  /// False if the product reported a fault.
  bool step(solver_state& state) {
    queue_step();
    const conjugate_gradient_steps before = state.steps;
    if (!read(state)) {
      state.steps = before;  // for which x there is
      state.steps.end(stop_reason::breakdown);
      return false;
    }
    if (state.has_step == 0) return true;
    queue_over_rows(ctx_, step_vectors<Sum, Value>, vectors_);
    if (state.steps.wants_confirmation()) {
      make_residual_of(vectors_.x[state.steps.next()], vectors_.r);
      queue_sums(vectors_.r, residual_use::confirmation);
      queue_over_rows(ctx_, restart_direction<Sum, Value>, vectors_);
      if (!read(state)) return false;
      if (!state.steps.is_done() && buffers_.watch->asks_to_stop()) state.steps.end(stop_reason::stopped);
    } else {
      if (buffers_.watch->asks_to_stop()) state.steps.end(stop_reason::stopped);
      state.steps.end_step();  // as the device does
    }
    return true;
  }

  /// Waits for the device. False if something was reported.
  bool read(solver_state& s) {
    s = reads_.read_and_take();
    return ctx_.state().status() != work_status::failed;
  }

  void queue(void (*kernel)(system_vectors<Value>)) const { queue_over_tiles(ctx_, kernel, vectors_); }

  void queue_sums(const Value* residual, residual_use use) const {
    queue_over_tiles(ctx_, sum_residual<Sum, Value>, vectors_, residual, use);
  }

  void copy(const Value* from, Value* to) const {
    require(cudaMemcpyAsync(to, from, problem_.vector_bytes(), cudaMemcpyDeviceToDevice, ctx_.stream()), ctx_);
  }

  void take_best(const conjugate_gradient_steps& s) const {
    if (s.result() != 0) copy(vectors_.x[1], vectors_.x[0]);
  }

  void invert() const {
    if (vectors_.inverse == nullptr) return;
    if (problem_.is_operator) {
      queue_over_rows(ctx_, invert_diagonal<Value>, vectors_, static_cast<const Value*>(buffers_.diagonal));
    } else {
      launch(ctx_, check_diagonal<Value, Column>, blocks_of_system(ctx_, vectors_.tiles), vectors_,
             matrix_of<Value, Column>(problem_, buffers_, guard_));
    }
  }

  /// y = alpha A x, or y + alpha A x of a matrix.
  void multiply(const Value* x, Value* y, double alpha, bool reads_y) const {
    if (problem_.is_operator) {
      (*buffers_.apply)(ctx_, const_values(x, vectors_.rows, problem_.product.value),
                        values(y, vectors_.rows, problem_.product.value));
      return;
    }
    spmv_problem product = problem_.product;
    product.reads_y = reads_y;
    multiply_rows(ctx_, product, rows_, {buffers_.a, x, y, alpha, 1}, guard_, {}, product_scratch_);
  }

  /// to = b - A x
  void make_residual_of(const Value* x, Value* to) const {
    if (!problem_.is_operator) {
      copy(vectors_.b, to);
      return multiply(x, to, -1, true);
    }
    multiply(x, to, 1, false);
    queue_over_rows(ctx_, subtract_from_b<Value>, vectors_, to);
  }

  const context& ctx_;
  const conjugate_gradient_problem& problem_;
  rows_decision rows_;
  const conjugate_gradient_buffers& buffers_;
  system_vectors<Value> vectors_;
  std::byte* product_scratch_;
  system_reads reads_;
  csr_guard guard_;
};

}  // namespace

extern constinit const primitives::conjugate_gradient_variant conjugate_gradient_separate{
    "cuda.separate", backend_kind::cuda, plan_separate, run_solver<separate_solver>};

}  // namespace sheaf::cuda
