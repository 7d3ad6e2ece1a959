#include "cuda/sparse/prepared/sliced.cuh"
#include "cuda/sparse/solvers/system_kernels.cuh"
#include "cuda/sparse/solvers/system_reads.hpp"
#include "cuda/sparse/solvers/system_rows.cuh"
#include "cuda/sparse/sums/row_facts.cuh"

// The variant cuda.streamed: the kernels of cuda.rows and three over vectors in each iteration, all scalars on the
// device. The host queues iterations in batches and reads the scalars one batch behind; kernels that find the iteration
// at its end return at once. And cuda.sliced, the same with products by a sliced copy of the matrix.
namespace sheaf::cuda {
namespace {

enum class product_form : std::uint8_t { rows, slices };

struct streamed_decision {
  product_form product = product_form::rows;
  rows_decision rows;
  std::uint64_t tile_rows = 0;
  std::uint64_t multiprocessors = 0;  ///< among which rows of a sliced matrix are dealt
  std::uint64_t sliced_bytes = 0;     ///< that it takes at most
  std::uint64_t batch = 1;            ///< iterations that are queued before the host looks at scalars again

  void tell(plan::told& to) const {
    to.add("product", product == product_form::rows ? "rows" : "slices").add("batch_iterations", batch);
  }
};

sliced_shape slices_of_plan(const conjugate_gradient_problem& p, const streamed_decision& d) {
  return shape_of_slices(p.product, p.product.entries, d.multiprocessors, static_cast<std::uint32_t>(d.tile_rows));
}

/// Decides all but the batch.
/// @param scratch_bytes  that this takes
streamed_decision decide_arrays(const conjugate_gradient_problem& problem, product_form product, const machine& machine,
                                std::uint64_t& scratch_bytes) {
  const bool is_sliced = product == product_form::slices;
  streamed_decision decision;
  decision.product = product;
  // One block adds all tiles: of 2^11 it reads 8 with each thread. A sliced matrix is dealt to blocks by tiles, which
  // are small for that.
  const std::uint64_t most_tiles = is_sliced ? 1 << 13 : 1 << 11;
  decision.tile_rows = tile_rows_of(problem.product.rows, least_tile_rows, most_tiles);
  decision.multiprocessors = static_cast<std::uint64_t>(machine.parallelism);
  if (is_sliced) decision.sliced_bytes = bytes_of_slices(problem.product, slices_of_plan(problem, decision));
  core::scratch_arrays place(nullptr);
  take_vectors(problem, decision.tile_rows, place);
  place.take<row_facts>(1);
  place.take<std::byte>(decision.sliced_bytes);
  core::scratch_offsets of_product;
  decision.rows = decide_rows(problem.product, of_product);
  scratch_bytes = place.bytes() + of_product.bytes();
  return decision;
}

//   multiply_rows and sum_curvature, or multiply_sliced_rows: q = A p and p.q; the last block makes alpha.
//   step_residual: r -= alpha q, r.r and r.z, where z is not stored; the last block makes beta, and says where to stop.
//   step_vectors: x += alpha p and p = z + beta p, which reads p once for both.
// Vectors are read and written 12 times an iteration. Sums of p.q in the product of cuda.streamed would save two of
// them, but not the time: that product is faster where its warps do nothing else.
plan::planned plan_iterations(const conjugate_gradient_problem& problem, const plan::scope& scope,
                              product_form product) {
  if (problem.is_operator) return plan::rejected("needs a matrix, but the system has an operator");
  const bool is_sliced = product == product_form::slices;
  if (is_sliced && problem.is_captured) return plan::rejected("looks at the matrix first, but a capture cannot wait");
  if (is_sliced) {
    if (const char* reason = unfit_for_slices(problem.product)) return plan::rejected(reason);
  }
  const machine& machine = scope.machine;
  plan::planned plan;
  streamed_decision decision = decide_arrays(problem, product, machine, plan.scratch_bytes);
  constexpr double kernels = 5;
  constexpr double spread = 1.1;  // rows of uneven length
  plan.add("latency", kernels * machine.step_seconds);
  const std::uint64_t vectors = vector_traffic(problem) + 2 * problem.vector_bytes();
  const std::uint64_t streamed = problem.product.matrix_bytes() + vectors;
  const std::uint64_t footprint = problem.product.matrix_bytes() + 5 * problem.vector_bytes();
  if (is_sliced) {
    const sliced_shape shape = slices_of_plan(problem, decision);
    constexpr double iterations_of_slicing = 25;  // that are worth it: as many as the NAS benchmark does
    plan.add("streamed", machine.streamed(vectors, footprint));
    plan.add("product", sliced_product_seconds(problem.product, shape, machine));
    plan.add("slicing", slicing_seconds(problem.product, machine) / iterations_of_slicing);
  } else if (problem.product.entries == 0) {
    plan.add("streamed", machine.streamed(streamed, footprint));
  } else {
    add_reads(problem.product, machine, spread * machine.streamed(streamed, footprint), plan);
  }
  // Work for longer than the host takes to queue the next batch; of what is queued behind the end every kernel costs a
  // launch.
  constexpr double batch_seconds = 100e-6;
  constexpr double most_batch = 32;
  decision.batch = static_cast<std::uint64_t>(std::clamp(batch_seconds / plan.seconds, 1.0, most_batch));
  plan.decided.set(decision);
  return plan;
}

/// q = A p and p.q by a sliced matrix, with the sums of a block's rows in shared memory. Blocks begin with a tile, but
/// for those without rows, which begin behind the last.
template <class Sum, class Value>
__global__ void __launch_bounds__(sliced_threads, 1)
    multiply_sliced_rows(const __grid_constant__ system_vectors<Value> vectors,
                         const __grid_constant__ sliced_arrays<Value> arrays,
                         const __grid_constant__ sliced_shape shape) {
  extern __shared__ __align__(16) std::byte shared[];
  if (block_ends(vectors)) return;
  const unsigned rows = sum_rows_of_block<Sum>(arrays, shape, vectors.p, shared);
  __syncthreads();
  const auto* const sums = reinterpret_cast<const Sum*>(shared + x_slice_bytes);
  const std::uint64_t first_row = arrays.block_rows[blockIdx.x];
  sum_tiles_of<sliced_threads, 1>(vectors, 0, (first_row + vectors.tile_rows - 1) / vectors.tile_rows,
                                  (first_row + rows + vectors.tile_rows - 1) / vectors.tile_rows, [&](std::uint64_t i) {
                                    const auto q = static_cast<Value>(sums[i - first_row]);
                                    vectors.q[i] = q;
                                    return row_sums<1>{{static_cast<double>(vectors.p[i]) * static_cast<double>(q)}};
                                  });
  finish_curvature<sliced_threads>(vectors);
}

/// r = b - A x, p = z, and the sums of r. Where b is 0, x is.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    start_system(const __grid_constant__ system_vectors<Value> vectors,
                 const __grid_constant__ system_matrix<Value, Column> matrix) {
  solver_state& state = vectors.state();
  if (state.is_faulty[solver_state::diagonal] != 0) {
    if (blockIdx.x == 0 && threadIdx.x == 0) note_products(state);  // p has no values
    return;
  }
  const bool b_is_zero = state.b_is_zero != 0;
  const bool x_is_zero = state.x_is_zero != 0;
  const matrix_rows<Value, Column> rows(matrix.a);
  for_tiles(vectors, [&](std::uint64_t tile, std::uint64_t first, std::uint64_t last) {
    if (b_is_zero) {
      for (std::uint64_t i = first + threadIdx.x; i < last; i += block_threads) vectors.x[0][i] = Value{0};
      return;
    }
    if (!x_is_zero) {
      make_residual<block_threads, Sum>(rows, matrix, vectors, state.is_faulty[solver_state::start], vectors.x[0],
                                        vectors.r, first, last);
      __syncthreads();
    }
    sum_tiles_of<block_threads, 2>(vectors, 0, tile, tile + 1, [&](std::uint64_t i) {
      const Value r = x_is_zero ? vectors.b[i] : vectors.r[i];
      vectors.r[i] = r;
      vectors.p[i] = static_cast<Value>(z_at<Sum>(vectors, i));
      return sums_of_residual<Sum>(vectors, r, i);
    });
  });
  finish_sums<2>(vectors, 0, [&](const row_sums<2>& sums) {
    take_start_residual(state, sums);
    note_products(state);
    keep_history(vectors, state);
  });
}

/// r = b - A x of the x that the last step made, where it is to be confirmed.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    confirm_residual(const __grid_constant__ system_vectors<Value> vectors,
                     const __grid_constant__ system_matrix<Value, Column> matrix) {
  solver_state& state = vectors.state();
  if (!state.steps.wants_confirmation() || block_ends(vectors, false)) return;
  const Value* const x = vectors.x[state.steps.next()];
  const matrix_rows<Value, Column> rows(matrix.a);
  for_tiles(vectors, [&](std::uint64_t tile, std::uint64_t first, std::uint64_t last) {
    make_residual<block_threads, Sum>(rows, matrix, vectors, state.is_faulty[solver_state::iterations], x, vectors.r,
                                      first, last);
    __syncthreads();
    sum_tiles_of<block_threads, 2>(vectors, 0, tile, tile + 1,
                                   [&](std::uint64_t i) { return sums_of_residual<Sum>(vectors, vectors.r[i], i); });
  });
  finish_sums<2>(vectors, 0, [&](const row_sums<2>& sums) { take_confirmation(state, sums); });
}

/// Makes the best x the caller's, and its residual, unless that is known.
template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(block_threads)
    finish_system(const __grid_constant__ system_vectors<Value> vectors,
                  const __grid_constant__ system_matrix<Value, Column> matrix) {
  solver_state& state = vectors.state();
  if (is_faulty(state) || state.b_is_zero != 0) return;
  const bool copies = state.steps.result() != 0;
  const bool is_known = state.steps.is_confirmed();
  const Value* const x = vectors.x[state.steps.result()];
  const matrix_rows<Value, Column> rows(matrix.a);
  for (std::uint64_t tile = blockIdx.x; tile < vectors.tiles && (copies || !is_known); tile += gridDim.x) {
    const std::uint64_t first = tile * vectors.tile_rows;
    const std::uint64_t last = min(vectors.rows, first + vectors.tile_rows);
    if (!is_known) {
      make_residual<block_threads, Sum>(rows, matrix, vectors, state.is_faulty[solver_state::iterations], x, vectors.q,
                                        first, last);
      __syncthreads();
      sum_tiles_of<block_threads, 2>(vectors, 0, tile, tile + 1,
                                     [&](std::uint64_t i) { return sums_of_residual<Sum>(vectors, vectors.q[i], i); });
    }
    for (std::uint64_t i = first + threadIdx.x; copies && i < last; i += block_threads) vectors.x[0][i] = x[i];
  }
  finish_sums<2>(vectors, 0,
                 [&](const row_sums<2>& sums) { state.residual = is_known ? state.steps.norm() : sqrt(sums.sum[0]); });
}

template <class Sum, class Value, class Column>
class streamed_solver {
 public:
  streamed_solver(const context& ctx, const conjugate_gradient_problem& p, const plan::planned& plan,
                  const conjugate_gradient_buffers& b, std::byte* scratch)
      : streamed_solver(ctx, p, plan.decided.get<streamed_decision>(), b, core::scratch_arrays(scratch)) {}

  void run() {
    if (!look_at_rows()) return;
    start();
    primitives::conjugate_gradient_watch& watch = *buffers_.watch;
    system_reads reads(ctx_, vectors_.memory, watch, read_memory::pinned);
    const bool waits = watch.reports_every() != ~std::uint64_t{0};
    constexpr std::uint64_t most_waited_for = 32;
    if (waits && !goes_on(reads.read_and_take())) return finish(reads);
    std::uint64_t queued = 0;
    std::uint64_t number = 0;  // of the next batch
    bool has_untaken = false;  // the copy after the batch before is under way
    while (true) {
      std::uint64_t batch = decision_.batch;
      if (waits) batch = std::min(most_waited_for, watch.reports_every() - queued % watch.reports_every());
      batch = std::min(batch, buffers_.goals.limit - queued);
      for (std::uint64_t i = 0; i < batch; ++i) queue_iteration();
      queued += batch;
      reads.read(number);
      const bool takes_own = waits || queued >= buffers_.goals.limit;
      if (has_untaken || takes_own) {
        const solver_state* state = has_untaken ? &reads.take(number - 1) : nullptr;
        if (takes_own && (state == nullptr || needs_nothing(*state))) state = &reads.take(number);
        if (!goes_on(*state)) break;
        if (state->steps.wants_confirmation()) {
          // All that was queued behind the step that wants it did nothing.
          queue_confirmation();
          queued = state->steps.iterations();
          reads.read(number);
          if (!goes_on(reads.take(number))) break;
          has_untaken = false;
          ++number;
          continue;
        }
      }
      has_untaken = !takes_own;
      ++number;
    }
    finish(reads);
  }

  /// A graph has as many iterations as may be done, and their end.
  void capture() {
    start();
    for (std::uint64_t i = 0; i < buffers_.goals.limit; ++i) queue_iteration();
    queue_confirmation();
    launch_rows(finish_system<Sum, Value, Column>);
  }

 private:
  streamed_solver(const context& ctx, const conjugate_gradient_problem& problem, const streamed_decision& decision,
                  const conjugate_gradient_buffers& buffers, core::scratch_arrays place)
      : ctx_(ctx),
        decision_(decision),
        buffers_(buffers),
        product_(problem.product),
        vectors_(vectors_in<Value>(problem, buffers, decision.tile_rows, place)),
        facts_(place.take<row_facts>(1)),
        slices_at_(place.take<std::byte>(decision.sliced_bytes)),
        product_scratch_(place.rest()),
        guard_(guard_of(ctx, problem.product, primitives::csr_call::conjugate_gradient)),
        matrix_(matrix_of<Value, Column>(problem, buffers, guard_)) {
    product_.reads_y = false;
    guard_.is_faulty = &vectors_.memory->state.is_faulty[solver_state::iterations];
  }

  /// Where no row is long, products need no second kernel, which costs an iteration more than a look at all rows does,
  /// and the matrix may be sliced. False if a row is wrong, which was reported.
  bool look_at_rows() {
    constexpr std::uint64_t worth = 8;
    const bool may_slice = decision_.product == product_form::slices;
    if (!(may_slice || decision_.rows.has_long_rows) || buffers_.goals.limit < worth) return true;
    csr_guard guard = guard_;
    guard.is_faulty = nullptr;
    const row_facts facts = inspect_rows(ctx_, product_, buffers_.a, guard, facts_);
    if (facts.has_faults != 0) return false;
    core::scratch_offsets place;
    decision_.rows = decide_rows(product_, place, facts.longest);
    is_sliced_ =
        may_slice && facts.entries > 0 && facts.longest <= longest_sliced_row && blocks_hold(ctx_, sliced_block_bytes);
    if (is_sliced_) {
      shape_ = shape_of_slices(product_, facts.entries, decision_.multiprocessors,
                               static_cast<std::uint32_t>(vectors_.tile_rows));
    }
    return true;
  }

  sliced_arrays<Value> slices() const {
    core::scratch_arrays place(slices_at_);
    return sliced_arrays<Value>(shape_, place);
  }

  static bool needs_nothing(const solver_state& s) {
    return !s.steps.is_done() && !system_reads::is_faulty(s) && !s.steps.wants_confirmation();
  }

  /// Ends the iteration where the caller wants to.
  bool goes_on(const solver_state& s) const {
    if (s.steps.is_done() || system_reads::is_faulty(s)) return false;
    if (s.steps.wants_confirmation() || !buffers_.watch->asks_to_stop()) return true;
    launch_blocks(ctx_, end_system, 1, 1, vectors_.memory, stop_reason::stopped);
    return false;
  }

  template <class Kernel>
  void launch_rows(Kernel kernel) const {
    launch(ctx_, kernel, blocks_of_system(ctx_, vectors_.tiles), vectors_, matrix_);
  }

  void start() const {
    require(cudaMemsetAsync(vectors_.memory, 0, sizeof(solver_memory), ctx_.stream()), ctx_);
    queue_over_tiles(ctx_, begin_system<Value>, vectors_);
    if (vectors_.inverse != nullptr) launch_rows(check_diagonal<Value, Column>);
    if (is_sliced_) {
      // Checks all columns, so it comes before the kernel that may write x.
      csr_guard guard = guard_;
      guard.is_faulty = &vectors_.memory->state.is_faulty[solver_state::diagonal];
      slice_matrix<Value, Column>(ctx_, product_, buffers_.a, guard, shape_, slices(), guard.is_faulty);
    }
    launch_rows(start_system<Sum, Value, Column>);
  }

  /// q = A p and p.q.
  void multiply() const {
    if (is_sliced_) {
      launch_shared(ctx_, multiply_sliced_rows<Sum, Value>, shape_.blocks, sliced_threads, sliced_block_bytes, vectors_,
                    slices(), shape_);
      return;
    }
    multiply_rows(ctx_, product_, decision_.rows, {buffers_.a, vectors_.p, vectors_.q, 1, 0}, guard_, {},
                  product_scratch_, &vectors_.memory->state.skips_products);
    queue_over_tiles(ctx_, sum_curvature<Value>, vectors_);
  }

  void queue_iteration() const {
    multiply();
    queue_over_tiles(ctx_, step_residual<Sum, Value>, vectors_);
    queue_over_rows(ctx_, step_vectors<Sum, Value>, vectors_);
  }

  void queue_confirmation() const {
    launch_rows(confirm_residual<Sum, Value, Column>);
    queue_over_rows(ctx_, restart_direction<Sum, Value>, vectors_);
  }

  void finish(system_reads& reads) const {
    launch_rows(finish_system<Sum, Value, Column>);
    const solver_state& s = reads.read_and_take();
    *buffers_.result = s.steps.summary(s.residual);
  }

  const context& ctx_;
  streamed_decision decision_;
  const conjugate_gradient_buffers& buffers_;
  spmv_problem product_;
  sliced_shape shape_;
  bool is_sliced_ = false;
  system_vectors<Value> vectors_;
  row_facts* facts_;
  std::byte* slices_at_;
  std::byte* product_scratch_;
  csr_guard guard_;
  system_matrix<Value, Column> matrix_;
};

}  // namespace

extern constinit const primitives::conjugate_gradient_variant conjugate_gradient_streamed{
    "cuda.streamed", backend_kind::cuda,
    [](const conjugate_gradient_problem& p, const plan::scope& scope) {
      return plan_iterations(p, scope, product_form::rows);
    },
    run_solver<streamed_solver>};

extern constinit const primitives::conjugate_gradient_variant conjugate_gradient_sliced{
    "cuda.sliced", backend_kind::cuda,
    [](const conjugate_gradient_problem& p, const plan::scope& scope) {
      return plan_iterations(p, scope, product_form::slices);
    },
    run_solver<streamed_solver>};

}  // namespace sheaf::cuda
