#include <cooperative_groups.h>

#include "cuda/sparse/solvers/grid_exchange.cuh"
#include "cuda/sparse/solvers/system_reads.hpp"

// The variant cuda.persistent: one cooperative kernel for all iterations. A block has the same rows in all of them, cut
// so that blocks have equal numbers of entries, and every block adds all tiles for itself and comes to the same
// decisions, so that blocks exchange nothing but vectors and sums.
namespace sheaf::cuda {
namespace {

constexpr unsigned solver_threads = 1024;

/// Rows of a tile, by the size of the system alone. Blocks wait for the sums of all tiles, so that small systems have
/// few: 528 are four for each multiprocessor of the largest devices.
std::uint64_t rows_of_a_tile(std::uint64_t rows) noexcept {
  constexpr std::uint64_t least = 8;
  constexpr std::uint64_t small_rows = 1 << 15;
  constexpr std::uint64_t few_tiles = 528;
  constexpr std::uint64_t many_tiles = 8 * few_tiles;
  return std::max(least, ceil_div(rows, rows <= small_rows ? few_tiles : many_tiles));
}

// An iteration has two exchanges of sums: of p.q, and of r.r and r.z. Where p fits the shared memory of a block, every
// block has all of it there, and makes the next p from the residual that all wrote before the second exchange. Else
// blocks make their rows of p, and a barrier follows.
plan::planned plan_persistent(const conjugate_gradient_problem& problem, const plan::scope& scope) {
  if (problem.is_operator) return plan::rejected("needs a matrix, but the system has an operator");
  const machine& machine = scope.machine;
  core::scratch_arrays place(nullptr);
  const std::uint64_t tile_rows = rows_of_a_tile(problem.product.rows);
  const exchange_slots slots(ceil_div(problem.product.rows, tile_rows), place);
  take_vectors(problem, tile_rows, place);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  // Of a block, as most devices have at least; how much there is the kernel asks.
  constexpr std::uint64_t shared_bytes = 160 << 10;
  const bool keeps_direction = problem.vector_bytes() <= shared_bytes;
  // A block per multiprocessor has fewer reads under way than a grid of many, and work of unequal length.
  constexpr double spread = 1.5;
  constexpr double exchange_barriers = 1.2;  // an exchange over a barrier
  plan.add("barriers", (2 * exchange_barriers + (keeps_direction ? 0 : 1)) * machine.barrier_seconds);
  // Between them the residual, then offsets, columns, and p are read.
  const double dependent_reads = keeps_direction ? 3 : 5;
  plan.add("latency", dependent_reads * machine.access_seconds);
  const std::uint64_t streamed = problem.product.matrix_bytes() + vector_traffic(problem);
  const std::uint64_t footprint = problem.product.matrix_bytes() + 5 * problem.vector_bytes();
  const double streamed_seconds = spread * machine.streamed(streamed, footprint);
  if (keeps_direction) return plan.add("streamed", streamed_seconds);
  add_reads(problem.product, machine, streamed_seconds, plan);
  return plan;
}

/// What one launch of the kernel is to do.
struct launch_terms {
  std::uint64_t most_iterations;
  std::uint64_t shared_bytes;  ///< dynamic ones of a block
  bool begins;
  bool stops;  ///< at once, because the caller wants to
  bool has_row_ends;
};

/// One block's part of a solver.
template <class Sum, class Value, class Column>
class block_solver {
 public:
  __device__ block_solver(const system_vectors<Value>& vectors, const system_matrix<Value, Column>& m,
                          const exchange_slots& slots, const launch_terms& terms, const block_part& part,
                          solver_state& s, std::uint32_t& is_faulty, shared_space space)
      : vectors_(vectors),
        matrix_(m),
        slots_(slots),
        terms_(terms),
        part_(part),
        state_(s),
        is_faulty_(is_faulty),
        rows_(m.a) {
    p_ = space.take<Value>(vectors.rows);
    keeps_direction_ = p_ != nullptr;
    if (!keeps_direction_) p_ = vectors.p;
    Value* const own_q = space.take<Value>(part.last - part.first);
    q_ = own_q != nullptr ? own_q - part.first : vectors.q;
    rows_.template copy<solver_threads>(part.first, part.last, terms.has_row_ends, space);
  }

  __device__ void run() {
    if (terms_.begins) {
      if (!start()) return;
    } else {
      decide([&] { state_ = vectors_.memory->state; });
      exchanges_ = state_.exchanges;
      if (keeps_direction_) for_all([&](std::uint64_t i) { p_[i] = vectors_.p[i]; });
    }
    if (terms_.stops && !state_.steps.is_done()) decide([&] { state_.steps.end(stop_reason::stopped); });
    for (std::uint64_t i = 0; i < terms_.most_iterations && !state_.steps.is_done(); ++i) {
      if (!iterate()) return;
    }
    __syncthreads();
    if (state_.steps.is_done()) {
      finish();
    } else if (keeps_direction_) {
      for_own([&](std::uint64_t i) { vectors_.p[i] = p_[i]; });
    }
    decide([&] { state_.exchanges = exchanges_; });
    if (blockIdx.x == 0 && threadIdx.x == 0) vectors_.memory->state = state_;
  }

 private:
  /// One thread decides for its block.
  template <class Decide>
  __device__ void decide(Decide body) {
    __syncthreads();
    if (threadIdx.x == 0) body();
    __syncthreads();
  }

  template <class Body>
  __device__ void for_own(Body body) {
#pragma unroll 4
    for (std::uint64_t i = part_.first + threadIdx.x; i < part_.last; i += solver_threads) body(i);
  }

  template <class Body>
  __device__ void for_all(Body body) {
#pragma unroll 4
    for (std::uint64_t i = threadIdx.x; i < vectors_.rows; i += solver_threads) body(i);
  }

  /// Exchanges sums of the block's tiles. False if something is wrong with the matrix, which the host finds noted.
  template <unsigned Count, class OfRow, class Take>
  __device__ bool exchange(solver_state::phase phase, OfRow of_row, Take take) {
    const bool found_fault = exchange_sums<solver_threads, Count>(slots_, vectors_, ++exchanges_, is_faulty_ != 0,
                                                                  part_.first_tile, part_.last_tile, of_row, take);
    if (found_fault && blockIdx.x == 0 && threadIdx.x == 0) vectors_.memory->state.is_faulty[phase] = 1;
    return !found_fault;
  }

  /// False if the matrix is faulty.
  __device__ bool start() {
    if (vectors_.inverse != nullptr) {
      read_inverse<solver_threads, Value>(rows_, matrix_, vectors_, is_faulty_, part_.first, part_.last);
      __syncthreads();
    }
    if (!exchange<3>(
            solver_state::diagonal, [&](std::uint64_t i) { return sums_of_start(vectors_, i); },
            [&](const row_sums<3>& sums) {
              take_start_sums(vectors_, state_, sums);
              state_.residual = 0;
              state_.has_step = 0;
              state_.ended_blocks = 0;
              state_.has_bad_diagonal = *static_cast<volatile std::uint32_t*>(&vectors_.memory->state.has_bad_diagonal);
              for (std::uint32_t& word : state_.is_faulty) word = 0;
            })) {
      return false;
    }
    if (state_.b_is_zero != 0) {
      for_own([&](std::uint64_t i) { vectors_.x[0][i] = Value{0}; });
      decide([&] { take_start_residual(state_, {}); });
      return note_residual();
    }
    const bool x_is_zero = state_.x_is_zero != 0;
    if (!x_is_zero) {
      make_residual<solver_threads, Sum>(rows_, matrix_, vectors_, is_faulty_, vectors_.x[0], vectors_.r, part_.first,
                                         part_.last);
      __syncthreads();
    }
    const auto of_row = [&](std::uint64_t i) {
      const Value r = x_is_zero ? vectors_.b[i] : vectors_.r[i];
      vectors_.r[i] = r;
      if (!keeps_direction_) p_[i] = static_cast<Value>(z_at<Sum>(vectors_, i));
      return sums_of_residual<Sum>(vectors_, r, i);
    };
    if (!exchange<2>(solver_state::start, of_row,
                     [&](const row_sums<2>& sums) { take_start_residual(state_, sums); })) {
      return false;
    }
    if (keeps_direction_) for_all([&](std::uint64_t i) { p_[i] = static_cast<Value>(z_at<Sum>(vectors_, i)); });
    return note_residual();
  }

  __device__ bool note_residual() {
    if (blockIdx.x == 0 && threadIdx.x == 0) keep_history(vectors_, state_);
    return true;
  }

  /// False if the matrix is faulty.
  __device__ bool iterate() {
    __syncthreads();
    for_row_sums<solver_threads, Sum>(
        rows_, matrix_, is_faulty_, part_.first, part_.last,
        [&](std::uint64_t, Column column, Sum value) { return value * static_cast<Sum>(p_[column]); },
        [&](std::uint64_t row, Sum sum) { q_[row] = static_cast<Value>(sum); });
    __syncthreads();
    if (!exchange<1>(
            solver_state::iterations,
            [&](std::uint64_t i) { return row_sums<1>{{static_cast<double>(p_[i]) * static_cast<double>(q_[i])}}; },
            [&](const row_sums<1>& sums) { state_.steps.take_curvature(sums.sum[0]); })) {
      return false;
    }
    if (state_.steps.is_done()) return true;
    const double alpha = state_.steps.alpha();
    const auto step_row = [&](std::uint64_t i) { return step_residual_at<Sum>(vectors_, alpha, q_[i], i); };
    if (vectors_.inverse == nullptr) {
      exchange<1>(
          solver_state::iterations, [&](std::uint64_t i) { return row_sums<1>{{step_row(i).sum[0]}}; },
          [&](const row_sums<1>& sums) { state_.steps.take_residual(sums.sum[0], sums.sum[0]); });
    } else {
      exchange<2>(solver_state::iterations, step_row,
                  [&](const row_sums<2>& sums) { state_.steps.take_residual(sums.sum[0], sums.sum[1]); });
    }
    if (state_.steps.is_done()) return true;
    note_residual();
    const double beta = state_.steps.beta();
    const Value* const from = vectors_.x[state_.steps.current()];
    Value* const to = vectors_.x[state_.steps.next()];
    if (state_.steps.wants_confirmation()) {
      confirm(alpha, from, to);
    } else {
      step(alpha, beta, from, to);
    }
    decide([&] { state_.steps.end_step(); });
    return true;
  }

  /// x += alpha p and p = z + beta p.
  __device__ void step(double alpha, double beta, const Value* from, Value* to) {
    const auto step_row = [&](std::uint64_t i) {
      const Value now = p_[i];
      if (i >= part_.first && i < part_.last) to[i] = added<Sum>(alpha, now, static_cast<Sum>(from[i]));
      const Sum z = z_at<Sum>(vectors_, i);
      p_[i] = beta == 0 ? static_cast<Value>(z) : added<Sum>(beta, now, z);
    };
    step_direction(step_row);
  }

  /// Makes the direction of all rows that the block has it of.
  template <class OfRow>
  __device__ void step_direction(OfRow of_row) {
    if (keeps_direction_) {
      for_all(of_row);
    } else {
      for_own(of_row);
      cooperative_groups::this_grid().sync();
    }
  }

  /// x += alpha p, r = b - A x, and p of what follows.
  __device__ void confirm(double alpha, const Value* from, Value* to) {
    for_own([&](std::uint64_t i) { to[i] = added<Sum>(alpha, p_[i], static_cast<Sum>(from[i])); });
    cooperative_groups::this_grid().sync();
    make_residual<solver_threads, Sum>(rows_, matrix_, vectors_, is_faulty_, to, vectors_.r, part_.first, part_.last);
    __syncthreads();
    exchange<2>(
        solver_state::iterations, [&](std::uint64_t i) { return sums_of_residual<Sum>(vectors_, vectors_.r[i], i); },
        [&](const row_sums<2>& sums) { state_.steps.confirm(sums.sum[0], sums.sum[1]); });
    if (state_.steps.is_done()) return;
    const double beta = state_.steps.beta();
    step_direction([&](std::uint64_t i) { p_[i] = next_direction<Sum>(vectors_, p_, beta, i); });
  }

  /// Makes the best x the caller's, and its residual, unless that is known. Blocks that come here wrote their last x
  /// before a barrier or an exchange, or write it here.
  __device__ void finish() {
    if (state_.b_is_zero != 0) return;
    const Value* const x = vectors_.x[state_.steps.result()];
    const bool is_known = state_.steps.is_confirmed();
    if (!is_known) {
      cooperative_groups::this_grid().sync();
      make_residual<solver_threads, Sum>(rows_, matrix_, vectors_, is_faulty_, x, q_, part_.first, part_.last);
      __syncthreads();
    }
    if (state_.steps.result() != 0) for_own([&](std::uint64_t i) { vectors_.x[0][i] = x[i]; });
    if (is_known) return decide([&] { state_.residual = state_.steps.norm(); });
    exchange<2>(
        solver_state::iterations, [&](std::uint64_t i) { return sums_of_residual<Sum>(vectors_, q_[i], i); },
        [&](const row_sums<2>& sums) { state_.residual = sqrt(sums.sum[0]); });
  }

  const system_vectors<Value>& vectors_;
  const system_matrix<Value, Column>& matrix_;
  const exchange_slots& slots_;
  const launch_terms& terms_;
  const block_part& part_;
  solver_state& state_;
  std::uint32_t& is_faulty_;  ///< whether the block found a fault
  matrix_rows<Value, Column> rows_;
  Value* p_;  ///< of all rows: the block's own, in shared memory, or that of all blocks
  Value* q_;  ///< q_[row] is there for the block's rows
  bool keeps_direction_;
  std::uint64_t exchanges_ = 0;
};

template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(solver_threads)
    solve_system(const __grid_constant__ system_vectors<Value> vectors,
                 const __grid_constant__ system_matrix<Value, Column> matrix,
                 const __grid_constant__ exchange_slots slots, const __grid_constant__ launch_terms terms) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ block_part part;
  __shared__ std::uint32_t is_faulty;
  alignas(solver_state) __shared__ unsigned char state[sizeof(solver_state)];
  __shared__ long long ahead[2];
  if (threadIdx.x == 0) is_faulty = 0;
  find_part(vectors, matrix, terms.has_row_ends, ahead, part);
  block_solver<Sum, Value, Column> solver(vectors, matrix, slots, terms, part, *reinterpret_cast<solver_state*>(state),
                                          is_faulty, shared_space(shared_bytes, terms.shared_bytes));
  solver.run();
}

template <class Sum, class Value, class Column>
class persistent_solver {
 public:
  persistent_solver(const context& ctx, const conjugate_gradient_problem& p, const plan::planned&,
                    const conjugate_gradient_buffers& b, std::byte* scratch)
      : persistent_solver(ctx, p, b, core::scratch_arrays(scratch)) {}

  /// All iterations in one launch, unless somebody wants to hear of them.
  void run() {
    primitives::conjugate_gradient_watch& watch = *buffers_.watch;
    system_reads reads(ctx_, vectors_.memory, watch);
    const std::uint64_t every = watch.reports_every();
    const bool waits = every != ~std::uint64_t{0};
    const std::uint64_t most = watch.wants_reports() ? history_entries - 1 : ~std::uint64_t{0};
    queue(waits ? 0 : most, true, false);
    const solver_state* state = &reads.read_and_take();
    while (!state->steps.is_done() && !system_reads::is_faulty(*state)) {
      const std::uint64_t batch = waits ? std::min(most, every - state->steps.iterations() % every) : most;
      queue(batch, false, watch.asks_to_stop());
      state = &reads.read_and_take();
    }
    *buffers_.result = state->steps.summary(state->residual);
  }

  void capture() { queue(~std::uint64_t{0}, true, false); }

 private:
  persistent_solver(const context& ctx, const conjugate_gradient_problem& problem,
                    const conjugate_gradient_buffers& buffers, core::scratch_arrays place)
      : ctx_(ctx),
        buffers_(buffers),
        slots_(ceil_div(problem.product.rows, rows_of_a_tile(problem.product.rows)), place),
        vectors_(vectors_in<Value>(problem, buffers, rows_of_a_tile(problem.product.rows), place)),
        matrix_(matrix_of<Value, Column>(problem, buffers,
                                         guard_of(ctx, problem.product, primitives::csr_call::conjugate_gradient))),
        has_row_ends_(problem.product.has_row_ends) {}

  void queue(std::uint64_t iterations, bool begins, bool stops) const {
    if (begins) {
      // The scalars lie behind the slots.
      auto* const begin = reinterpret_cast<std::byte*>(slots_.slots);
      auto* const end = reinterpret_cast<std::byte*>(vectors_.memory + 1);
      require(cudaMemsetAsync(begin, 0, static_cast<std::size_t>(end - begin), ctx_.stream()), ctx_);
    }
    constexpr auto kernel = solve_system<Sum, Value, Column>;
    const std::uint64_t shared_bytes = state_of(ctx_).allow_shared(reinterpret_cast<const void*>(kernel));
    const launch_terms terms{iterations, shared_bytes, begins, stops, has_row_ends_};
    launch_cooperative(ctx_, kernel, vectors_.tiles, solver_threads, shared_bytes, vectors_, matrix_, slots_, terms);
  }

  const context& ctx_;
  const conjugate_gradient_buffers& buffers_;
  exchange_slots slots_;
  system_vectors<Value> vectors_;
  system_matrix<Value, Column> matrix_;
  bool has_row_ends_;
};

}  // namespace

extern constinit const primitives::conjugate_gradient_variant conjugate_gradient_persistent{
    "cuda.persistent", backend_kind::cuda, plan_persistent, run_solver<persistent_solver>};

}  // namespace sheaf::cuda
