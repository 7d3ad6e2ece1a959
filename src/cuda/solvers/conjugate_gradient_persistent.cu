#include <cooperative_groups.h>

#include "cuda/movement/memory_cost.hpp"
#include "cuda/solvers/system_reads.hpp"
#include "cuda/solvers/system_rows.cuh"
#include "cuda/solvers/variants.hpp"

// The variant cuda.persistent: one cooperative kernel for all iterations. A block has the same rows in all of them, cut
// so that blocks have equal numbers of entries, and every block adds all tiles for itself and comes to the same
// decisions, so that blocks exchange nothing but vectors and sums.
namespace sheaf::cuda {
namespace {

using primitives::conjugate_gradient_buffers;
using primitives::conjugate_gradient_problem;

constexpr const char* operation = "cuda.persistent";
constexpr unsigned solver_threads = 512;

struct persistent_decision {
  system_scratch at;
  std::uint32_t lanes = 1;
  std::uint32_t joins_steps = 0;
  std::uint64_t long_entries = 0;
};

// An iteration has barriers after the sums of p.q and of r.r. A third one lies between the new p and its product,
// unless the product makes each p[column] of the old p and z, which reads two or three values for each entry in place
// of one: that is for systems so small that a barrier takes longer.
plan::planned plan_persistent(const conjugate_gradient_problem& p, const plan::scope& scope) {
  if (p.is_operator) return plan::rejected("takes a matrix, and the system has an operator");
  const machine& m = scope.machine;
  core::scratch_offsets nowhere;
  const rows_decision rows = decide_rows(p.product, nowhere);
  const memory_cost x = p.product.entries == 0 ? memory_cost{} : gather_cost(gather_of_columns(p.product), m);
  core::scratch_offsets place;
  persistent_decision d;
  constexpr std::uint64_t most_tiles = 1 << 12;
  d.joins_steps = (p.has_jacobi ? 2 : 1) * (x.access + x.indexed_bus) < m.barrier_seconds ? 1 : 0;
  d.at = system_scratch(p, tile_rows_of(p.product.rows, least_tile_rows, most_tiles), d.joins_steps != 0, place);
  d.lanes = rows.lanes;
  d.long_entries = rows.long_entries;
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(d);
  // Blocks are as many as the device holds at once and have work of unequal length, so that they wait for one another.
  constexpr double spread = 1.3;
  plan.add("barriers", (d.joins_steps != 0 ? 2 : 3) * m.barrier_seconds);
  // Between barriers, offsets, then columns, then x are read, and the sums of all tiles.
  constexpr double dependent_reads = 6;
  plan.add("latency", dependent_reads * m.access_seconds);
  const std::uint64_t streamed = p.product.matrix_bytes() + vector_traffic(p);
  const std::uint64_t footprint = p.product.matrix_bytes() + 5 * p.vector_bytes();
  if (p.product.entries == 0) return plan.add("streamed", m.streamed(streamed, footprint));
  plan.add_overlapped(x.overlap_exponent, {{"streamed", spread * m.streamed(streamed, footprint) + x.indexed_bus},
                                           {"random read", x.access}});
  return plan;
}

/// What one launch of the kernel is to do.
struct launch_terms {
  std::uint64_t most_iterations;
  bool begins;
  bool stops;        ///< at once, because the caller wants to
  bool joins_steps;  ///< products make the direction that they read
};

/// The rows and tiles of a block.
struct block_part {
  std::uint64_t first_tile;
  std::uint64_t last_tile;
  std::uint64_t first;
  std::uint64_t last;
};

/// The first tile of block `block`: the blocks before it have their share of entries and rows. All searches halve the
/// same ranges, so that cuts ascend whatever the offsets are. Rows with ends of their own are cut by their number.
template <class Value, class Column>
__device__ std::uint64_t cut_at(const system_vectors<Value>& v, const system_matrix<Value, Column>& m,
                                bool has_row_ends, std::uint64_t block) {
  constexpr std::uint64_t entries_of_a_row = 6;  // what the vectors of a row take beside its entries
  if (block >= gridDim.x) return v.tiles;
  if (has_row_ends) return v.tiles * block / gridDim.x;
  const row_offsets& rows = m.a.rows;
  const std::uint64_t begin = min(rows.begin(0), rows.limit);
  const auto work_before = [&](std::uint64_t row) {
    const std::uint64_t at = row == v.rows ? rows.end(row - 1) : rows.begin(row);
    return max(min(at, rows.limit), begin) - begin + entries_of_a_row * row;
  };
  const auto wanted = static_cast<std::uint64_t>(static_cast<double>(work_before(v.rows)) * static_cast<double>(block) /
                                                 static_cast<double>(gridDim.x));
  std::uint64_t low = 0;
  for (std::uint64_t high = v.tiles; low < high;) {
    const std::uint64_t middle = (low + high) / 2;
    // A tile is its block's in whose share its middle lies.
    const std::uint64_t row = min(v.rows, middle * v.tile_rows + v.tile_rows / 2);
    if (work_before(row) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// One block's part of a solver.
template <class Sum, class Value, class Column>
class block_solver {
 public:
  __device__ block_solver(const system_vectors<Value>& v, const system_matrix<Value, Column>& m,
                          const launch_terms& terms, const block_part& part, solver_state& s)
      : v_(v), m_(m), terms_(terms), part_(part), s_(s), grid_(cooperative_groups::this_grid()) {}

  __device__ void run() {
    if (terms_.begins) {
      if (!start()) return;
    } else {
      decide([&] { s_ = v_.memory->state; });
      direction_ = s_.direction;
    }
    if (terms_.stops) {
      decide([&] {
        if (!s_.steps.is_done()) s_.steps.end(stop_reason::stopped);
      });
    }
    for (std::uint64_t i = 0; i < terms_.most_iterations && !s_.steps.is_done(); ++i) {
      if (!iterate()) return;
    }
    if (pending_.is_there) step_own(pending_);
    if (s_.steps.is_done()) finish();
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      // Others may have noted faults in the device's copy.
      for (int i = 0; i < solver_state::phases; ++i) s_.is_faulty[i] = v_.memory->state.is_faulty[i];
      s_.direction = direction_;
      v_.memory->state = s_;
    }
  }

 private:
  /// A step whose x and p are still to be made.
  struct vector_step {
    bool is_there = false;
    double alpha = 0;
    double beta = 0;
    const Value* from = nullptr;
    Value* to = nullptr;
  };

  /// One thread decides for its block.
  template <class Decide>
  __device__ void decide(Decide body) {
    __syncthreads();
    if (threadIdx.x == 0) body();
    __syncthreads();
  }

  __device__ std::uint32_t& flag(solver_state::phase phase) { return v_.memory->state.is_faulty[phase]; }

  /// Whether a phase before the last barrier found a fault; the same in all blocks, because no later phase before the
  /// next barrier sets its word.
  __device__ bool found_fault(solver_state::phase phase) {
    return __syncthreads_or(threadIdx.x == 0 && *static_cast<volatile std::uint32_t*>(&flag(phase)) != 0 ? 1 : 0) != 0;
  }

  template <unsigned Count, class OfRow>
  __device__ void sum_own(int into, OfRow of_row) {
    sum_tiles_of<solver_threads, Count>(v_, into, part_.first_tile, part_.last_tile, 1, of_row);
  }

  template <class Body>
  __device__ void for_own(Body body) {
#pragma unroll 4
    for (std::uint64_t i = part_.first + threadIdx.x; i < part_.last; i += solver_threads) body(i);
  }

  static constexpr int curvature_sum = 0;
  static constexpr int residual_sums = 1;
  static constexpr int start_sums = 3;

  /// False if the matrix is faulty.
  __device__ bool start() {
    sum_own<3>(start_sums, [&](std::uint64_t i) { return sums_of_start(v_, i); });
    if (v_.inverse != nullptr) read_inverse<solver_threads, true, Value>(m_, v_, part_.first, part_.last);
    grid_.sync();
    if (v_.inverse != nullptr && found_fault(solver_state::diagonal)) return false;
    const row_sums<3> sums = total_of_tiles<solver_threads, 3>(v_, start_sums);
    decide([&] {
      take_start_sums(v_, s_, sums);
      s_.residual = 0;
      s_.direction = 0;
      s_.has_step = 0;
      s_.ended_blocks = 0;
      s_.has_bad_diagonal = *static_cast<volatile std::uint32_t*>(&v_.memory->state.has_bad_diagonal);
      for (std::uint32_t& word : s_.is_faulty) word = 0;
    });
    if (s_.b_is_zero != 0) {
      for_own([&](std::uint64_t i) { v_.x[0][i] = Value{0}; });
      decide([&] { take_start_residual(s_, {}); });
      return note_residual();
    }
    const bool x_is_zero = s_.x_is_zero != 0;
    if (!x_is_zero) {
      make_residual<solver_threads, true, Sum>(m_, v_, flag(solver_state::start), v_.x[0], v_.r, part_.first,
                                               part_.last);
      __syncthreads();
    }
    sum_own<2>(residual_sums, [&](std::uint64_t i) {
      const Value r = x_is_zero ? v_.b[i] : v_.r[i];
      v_.r[i] = r;
      v_.p[0][i] = static_cast<Value>(z_at<Sum>(v_, i));
      return sums_of_residual<Sum>(v_, r, i);
    });
    grid_.sync();
    if (found_fault(solver_state::start)) return false;
    const row_sums<2> of_residual = total_of_tiles<solver_threads, 2>(v_, residual_sums);
    decide([&] { take_start_residual(s_, of_residual); });
    return note_residual();
  }

  __device__ bool note_residual() {
    if (blockIdx.x == 0 && threadIdx.x == 0) keep_history(v_, s_);
    return true;
  }

  /// x += alpha p and p = z + beta p of the block's rows; the new p goes to the other array, if there are two.
  __device__ void step_own(const vector_step& step) {
    const Value* const p = v_.p[direction_];
    const std::uint32_t other = v_.p[0] == v_.p[1] ? direction_ : 1 - direction_;
    Value* const next = v_.p[other];
    for_own([&](std::uint64_t i) {
      const Value now = p[i];
      step.to[i] = added<Sum>(step.alpha, now, static_cast<Sum>(step.from[i]));
      const Sum z = z_at<Sum>(v_, i);
      next[i] = step.beta == 0 ? static_cast<Value>(z) : added<Sum>(step.beta, now, z);
    });
    direction_ = other;
  }

  /// q = A p, and p.q. Where a step is pending, p is made where it is read.
  __device__ void multiply() {
    const Value* const p = v_.p[direction_];
    const vector_step step = pending_;
    if (step.is_there) {
      step_own(step);
      pending_.is_there = false;
    }
    for_row_sums<solver_threads, true, Sum>(
        m_, flag(solver_state::iterations), part_.first, part_.last,
        [&](std::uint64_t, Column column, Sum value) {
          const Value of_column = step.is_there ? next_direction<Sum>(v_, p, step.beta, column) : p[column];
          return value * static_cast<Sum>(of_column);
        },
        [&](std::uint64_t row, Sum sum) { v_.q[row] = static_cast<Value>(sum); });
    __syncthreads();
    const Value* const own = v_.p[direction_];
    sum_own<1>(curvature_sum, [&](std::uint64_t i) {
      return row_sums<1>{{static_cast<double>(own[i]) * static_cast<double>(v_.q[i])}};
    });
  }

  /// False if the matrix is faulty.
  __device__ bool iterate() {
    multiply();
    grid_.sync();
    if (found_fault(solver_state::iterations)) return false;
    const row_sums<1> curvature = total_of_tiles<solver_threads, 1>(v_, curvature_sum);
    decide([&] { s_.steps.take_curvature(curvature.sum[0]); });
    if (s_.steps.is_done()) return true;
    const double alpha = s_.steps.alpha();
    sum_own<2>(residual_sums, [&](std::uint64_t i) { return step_residual_at<Sum>(v_, alpha, i); });
    grid_.sync();
    const row_sums<2> of_residual = total_of_tiles<solver_threads, 2>(v_, residual_sums);
    decide([&] { s_.steps.take_residual(of_residual.sum[0], of_residual.sum[1]); });
    if (s_.steps.is_done()) return true;
    note_residual();
    vector_step step;
    step.is_there = true;
    step.alpha = alpha;
    step.beta = s_.steps.beta();
    step.from = v_.x[s_.steps.current()];
    step.to = v_.x[s_.steps.next()];
    if (s_.steps.wants_confirmation()) {
      confirm(step);
    } else if (terms_.joins_steps) {
      pending_ = step;
    } else {
      step_own(step);
      grid_.sync();
    }
    decide([&] { s_.steps.end_step(); });
    return true;
  }

  /// x += alpha p, r = b - A x, and p of what follows.
  __device__ void confirm(const vector_step& step) {
    Value* const p = v_.p[direction_];
    for_own([&](std::uint64_t i) { step.to[i] = added<Sum>(step.alpha, p[i], static_cast<Sum>(step.from[i])); });
    grid_.sync();
    make_residual<solver_threads, true, Sum>(m_, v_, flag(solver_state::iterations), step.to, v_.r, part_.first,
                                             part_.last);
    __syncthreads();
    sum_own<2>(residual_sums, [&](std::uint64_t i) { return sums_of_residual<Sum>(v_, v_.r[i], i); });
    grid_.sync();
    const row_sums<2> found = total_of_tiles<solver_threads, 2>(v_, residual_sums);
    decide([&] { s_.steps.confirm(found.sum[0], found.sum[1]); });
    if (s_.steps.is_done()) return;
    const double beta = s_.steps.beta();
    for_own([&](std::uint64_t i) { p[i] = next_direction<Sum>(v_, p, beta, i); });
    grid_.sync();
  }

  /// Makes the best x the caller's, and its residual, unless that is known. Blocks that come here wrote their last x
  /// before a barrier, or write it here.
  __device__ void finish() {
    if (s_.b_is_zero != 0) return;
    const Value* const x = v_.x[s_.steps.result()];
    const bool is_known = s_.steps.is_confirmed();
    if (!is_known) {
      grid_.sync();
      make_residual<solver_threads, true, Sum>(m_, v_, flag(solver_state::iterations), x, v_.q, part_.first,
                                               part_.last);
      __syncthreads();
      sum_own<2>(residual_sums, [&](std::uint64_t i) { return sums_of_residual<Sum>(v_, v_.q[i], i); });
    }
    if (s_.steps.result() != 0) for_own([&](std::uint64_t i) { v_.x[0][i] = x[i]; });
    if (!is_known) {
      grid_.sync();
      const row_sums<2> found = total_of_tiles<solver_threads, 2>(v_, residual_sums);
      decide([&] { s_.residual = sqrt(found.sum[0]); });
    } else {
      decide([&] { s_.residual = s_.steps.norm(); });
    }
  }

  const system_vectors<Value>& v_;
  const system_matrix<Value, Column>& m_;
  const launch_terms& terms_;
  const block_part& part_;
  solver_state& s_;
  cooperative_groups::grid_group grid_;
  vector_step pending_;
  std::uint32_t direction_ = 0;  ///< which of the two arrays has p, but for a step that is pending
};

template <class Sum, class Value, class Column>
__global__ void __launch_bounds__(solver_threads)
    solve_system(const __grid_constant__ system_vectors<Value> v,
                 const __grid_constant__ system_matrix<Value, Column> m, const __grid_constant__ launch_terms terms,
                 bool has_row_ends) {
  __shared__ block_part part;
  alignas(solver_state) __shared__ unsigned char state[sizeof(solver_state)];
  if (threadIdx.x < 2) {
    const std::uint64_t cut = cut_at(v, m, has_row_ends, std::uint64_t{blockIdx.x} + threadIdx.x);
    (threadIdx.x == 0 ? part.first_tile : part.last_tile) = cut;
    (threadIdx.x == 0 ? part.first : part.last) = min(v.rows, cut * v.tile_rows);
  }
  __syncthreads();
  block_solver<Sum, Value, Column> solver(v, m, terms, part, *reinterpret_cast<solver_state*>(state));
  solver.run();
}

template <class Sum, class Value, class Column>
class persistent_solver {
 public:
  persistent_solver(const context& ctx, const conjugate_gradient_problem& p, const persistent_decision& d,
                    const conjugate_gradient_buffers& b, std::byte* scratch)
      : ctx_(ctx),
        b_(b),
        v_(vectors_of<Value>(p, d.at, b, scratch)),
        has_row_ends_(p.product.has_row_ends),
        joins_steps_(d.joins_steps != 0) {
    rows_decision rows;
    rows.lanes = d.lanes;
    rows.long_entries = d.long_entries;
    const csr_guard guard = guard_of(ctx, p.product, primitives::csr_call::conjugate_gradient);
    m_ = matrix_of<Value, Column>(p, rows, b, guard);
  }

  /// All iterations in one launch, unless somebody wants to hear of them.
  void run() {
    primitives::conjugate_gradient_watch& watch = *b_.watch;
    system_reads reads(ctx_, operation, v_.memory, watch);
    const std::uint64_t every = watch.reports_every();
    const bool waits = every != ~std::uint64_t{0};
    const std::uint64_t most = watch.wants_reports() ? history_entries - 1 : ~std::uint64_t{0};
    queue(waits ? 0 : most, true, false);
    const solver_state* s = &reads.read_and_take();
    while (!s->steps.is_done() && !system_reads::is_faulty(*s)) {
      const std::uint64_t batch = waits ? std::min(most, every - s->steps.iterations() % every) : most;
      queue(batch, false, watch.asks_to_stop());
      s = &reads.read_and_take();
    }
    *b_.result = s->steps.summary(s->residual);
  }

  void capture() { queue(~std::uint64_t{0}, true, false); }

 private:
  void queue(std::uint64_t iterations, bool begins, bool stops) const {
    if (begins) require(cudaMemsetAsync(v_.memory, 0, sizeof(solver_memory), ctx_.stream()), operation);
    const launch_terms terms{iterations, begins, stops, joins_steps_};
    launch_cooperative(ctx_, operation, solve_system<Sum, Value, Column>, v_.tiles, solver_threads, 0, v_, m_, terms,
                       has_row_ends_);
  }

  const context& ctx_;
  const conjugate_gradient_buffers& b_;
  system_vectors<Value> v_;
  system_matrix<Value, Column> m_;
  bool has_row_ends_;
  bool joins_steps_;
};

void run_persistent(const context& ctx, const conjugate_gradient_problem& p, const plan::planned& plan,
                    const conjugate_gradient_buffers& b, std::byte* scratch) {
  const device_scope scope(ctx.device());
  const auto d = plan.decided.get<persistent_decision>();
  with_product_types(p.product, [&]<class Types>(Types) {
    persistent_solver<typename Types::sum, typename Types::value, typename Types::column> solver(ctx, p, d, b, scratch);
    if (p.is_captured) return solver.capture();
    solver.run();
  });
}

}  // namespace

constinit const primitives::conjugate_gradient_variant conjugate_gradient_persistent{
    "cuda.persistent", backend_kind::cuda, plan_persistent, run_persistent};

}  // namespace sheaf::cuda
