#include <omp.h>

#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "core/startable.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/sparse/multiply.hpp"
#include "cpu/sparse/row_cuts.hpp"
#include "cpu/sparse/row_reader.hpp"
#include "cpu/sparse/system_scratch.hpp"
#include "cpu/sparse/vector_steps.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {

struct fused_decision {
  rows_decision rows;  ///< what is a long row, and where their list and the sums of their pieces are
  std::uint64_t threads = 1;
  bool may_prefetch = false;

  void tell(plan::told& to) const { to.add("threads", threads).add("may_prefetch", may_prefetch); }
};

/// Bytes that an iteration reads and writes: the matrix; p and q for the product; r, q, r; x, p, r, x, p; and twice the
/// inverse of the diagonal.
std::uint64_t streamed_bytes(const conjugate_gradient_problem& p) noexcept {
  constexpr std::uint64_t vectors = 10;
  return p.product.matrix_bytes() + p.vector_bytes() * (vectors + (p.has_jacobi ? 2 : 0));
}

// All iterations are in one parallel region. A thread has the same rows in all passes, whose vectors may stay in its
// cache, and the passes meet at three barriers, where a sum is complete:
//   q = A p and p.q, block by block, while the block's q is in cache;
//   r -= alpha q, r.r and r.z, where z is not stored;
//   x += alpha p and p = z + beta p, which reads p once for both.
// Vectors are read and written 10 times an iteration. Threads share the pieces of rows that are longer than a thread's
// part should be, which takes one more barrier where there are such rows.
plan::planned plan_fused(const conjugate_gradient_problem& problem, const plan::scope& scope) {
  if (problem.is_operator) return plan::rejected("needs a matrix, but the system has an operator");
  const machine& machine = scope.machine;
  core::scratch_offsets place;
  fused_decision decision;
  place.take(system_vectors::scratch_bytes(problem));
  decision.rows = decide_rows(problem.product, machine, place);
  decision.threads = std::max<std::uint64_t>(
      1, std::min(parts_worth(streamed_bytes(problem), machine.parallelism), blocks_of(problem.product.rows)));
  decision.may_prefetch = may_prefetch_x(problem.product, machine);
  plan::planned plan;
  plan.scratch_bytes = place.bytes();
  plan.decided.set(decision);
  constexpr double barriers = 3;
  plan.add("barriers", decision.threads == 1 ? 0 : barriers * machine.barrier_seconds);
  const memory_cost x = gather_cost(gather_of_columns(problem.product), machine);
  const std::uint64_t footprint = problem.product.matrix_bytes() + 5 * problem.vector_bytes();
  plan.add_overlapped(overlap_exponent,
                      {{"streamed", machine.streamed(streamed_bytes(problem), footprint) + x.indexed_streamed},
                       {"random read", problem.product.entries == 0 ? 0 : x.indexed_random},
                       {"steps", step_seconds(problem.product, machine, decision.threads)}});
  return plan;
}

/// The threads of one parallel region.
struct team {
  std::uint64_t rank = 0;
  std::uint64_t size = 1;
  void barrier() const {
    if (size == 1) return;
#pragma omp barrier
  }
};

/// Rows whose pieces threads share. They are found once, before the first product.
class shared_rows {
 public:
  shared_rows(const rows_decision& decision, std::byte* scratch)
      : list_(reinterpret_cast<long_row*>(scratch + decision.long_rows_at)),
        sums_(scratch + decision.sums_at),
        least_entries_(decision.long_entries),
        most_rows_(decision.most_long_rows),
        found_(list_, decision.most_long_rows, decision.most_pieces, decision.long_entries) {}

  /// Notes the long ones of the rows [first, last). By all threads, each its own rows.
  void find(const row_reader& rows, std::uint64_t first, std::uint64_t last) {
    if (most_rows_ == 0) return;
    for (std::uint64_t row = first; row < last; ++row) {
      if (!rows.is_row(row)) continue;
      const std::uint64_t begin = rows.begin(row);
      const std::uint64_t count = rows.end(row) - begin;
      if (count >= least_entries_ && !found_.take(row, begin, count)) are_too_many_ = true;
    }
  }
  /// By one thread, behind a barrier.
  void sort() {
    std::sort(list_, list_ + found_.count(), [](const long_row& a, const long_row& b) { return a.row < b.row; });
  }

  /// Rows that overlap may be more than there is room for, and then none is shared.
  bool any() const noexcept { return found_.count() > 0 && !are_too_many_; }
  /// A thread's share of the sums of all pieces.
  void sum_pieces(const team& t, const row_product& product, const row_kernels& kernels, row_faults& faults) const {
    const std::uint64_t first = part_begin(found_.pieces(), t.size, t.rank);
    const std::uint64_t last = part_begin(found_.pieces(), t.size, t.rank + 1);
    for (std::uint64_t r = 0; r < found_.count(); ++r) {
      const long_row& row = list_[r];
      const std::uint64_t end = std::min(last, row.first_piece + pieces_of(row.count));
      for (std::uint64_t piece = std::max(first, row.first_piece); piece < end; ++piece) {
        const std::uint64_t done = (piece - row.first_piece) * piece_entries;
        kernels.piece(product, row.begin + done, std::min(piece_entries, row.count - done), sums_, piece, faults);
      }
    }
  }
  /// Writes y of the rows of a block, of which the long ones have sums already.
  void multiply_block(const row_product& product, const row_kernels& kernels, value_range_of_block at,
                      row_faults& faults) const {
    long_row left[block_values];
    long_rows later(left, block_values, ~std::uint64_t{0}, least_entries_);
    kernels.rows(product, at.first, at.last, &later, faults);
    for (std::uint64_t i = 0; i < later.count(); ++i) {
      const long_row& row = *std::lower_bound(list_, list_ + found_.count(), left[i].row,
                                              [](const long_row& a, std::uint64_t wanted) { return a.row < wanted; });
      kernels.finish(product, row.row, sums_ + row.first_piece * kernels.sum_bytes, pieces_of(row.count));
    }
  }

 private:
  static std::uint64_t pieces_of(std::uint64_t entries) noexcept {
    return (entries + piece_entries - 1) / piece_entries;
  }

  long_row* list_;
  std::byte* sums_;
  std::uint64_t least_entries_;
  std::uint64_t most_rows_;
  long_rows found_;
  std::atomic<bool> are_too_many_ = false;
};

/// What threads share. All of it is constant, but for the vectors, the sums of blocks and what was found to be wrong.
class fused_solver {
 public:
  fused_solver(const conjugate_gradient_problem& problem, const fused_decision& decision,
               const conjugate_gradient_buffers& buffers, std::byte* scratch)
      : problem_(problem),
        buffers_(buffers),
        kernels_(vector_kernels_of(problem.product)),
        vectors_(core::arrays_in<system_vectors>(scratch, problem, buffers)),
        rows_(buffers.a, problem.product.entries),
        shared_(decision.rows, scratch),
        products_(row_kernels_of(problem.product, access_of(problem.product, buffers.a, decision.may_prefetch))) {
    product_.a = buffers.a;
    product_.entries = problem.product.entries;
    product_.column_limit = column_limit_of(problem.product);
  }

  bool found_fault() const noexcept { return has_fault_; }

  /// One thread's part of all iterations. What they decide is the same in all threads.
  void run(const team& team) {
    const part mine = part_of(team);
    bool is_positive = true;
    for_blocks(mine, [&](value_range_of_block at) {
      vectors_.sums[0][at.block()] = kernels_.dot(vectors_.b, vectors_.b, at);
      vectors_.sums[1][at.block()] = static_cast<double>(kernels_.nonzeros(vectors_.b, at));
      vectors_.sums[2][at.block()] = static_cast<double>(kernels_.nonzeros(vectors_.x[0], at));
      if (!problem_.has_jacobi) return;
      read_diagonal(problem_.product, buffers_.a, vectors_.inverse, at);
      if (!kernels_.invert(vectors_.inverse, vectors_.inverse, at)) is_positive = false;
    });
    if (!is_positive) has_bad_diagonal_ = true;
    if (team.size > 1) {
      shared_.find(rows_, mine.first_block * block_values,
                   std::min(problem_.product.rows, mine.last_block * block_values));
    }
    team.barrier();
    if (team.rank == 0) shared_.sort();
    const double b_squared = total(0);
    conjugate_gradient_steps steps(buffers_.goals, b_squared);
    const bool b_is_zero = total(1) == 0;
    if (b_is_zero) {
      for_blocks(mine, [&](value_range_of_block at) { kernels_.clear(vectors_.x[0], at); });
      if (team.rank == 0) buffers_.watch->report(0, 0, steps.target());
      return finish(team, steps, 0);
    }
    const bool x_is_zero = total(2) == 0;
    team.barrier();  // the sums are read
    start(team, mine, x_is_zero);
    team.barrier();
    if (has_fault_) return;
    steps.start(b_squared, total(0), has_bad_diagonal_ ? 0 : total(1));
    if (has_bad_diagonal_ && !steps.is_done()) steps.end(stop_reason::not_positive_definite);
    if (team.rank == 0) buffers_.watch->report(0, steps.norm(), steps.target());
    team.barrier();
    if (!steps.is_done() && buffers_.watch->asks_to_stop()) steps.end(stop_reason::stopped);
    while (!steps.is_done()) {
      iterate(team, mine, steps);
      if (has_fault_) return;
    }
    team.barrier();
    finish(team, steps, finish_solution(team, mine, steps));
  }

 private:
  struct part {
    std::uint64_t first_block;
    std::uint64_t last_block;
  };

  /// Parts have equal numbers of entries and rows, to a block.
  part part_of(const team& team) const {
    const row_cuts cuts(problem_.product, rows_, team.size);
    const auto block_at = [&](std::uint64_t cut) {
      if (cut == team.size) return vectors_.blocks;
      return std::min(vectors_.blocks, (cuts.begin(cut) + block_values / 2) / block_values);
    };
    return {team.rank == 0 ? 0 : block_at(team.rank), block_at(team.rank + 1)};
  }

  template <class Work>
  void for_blocks(const part& mine, Work work) const {
    for (std::uint64_t block = mine.first_block; block < mine.last_block; ++block) {
      work(value_range_of_block{block * block_values, std::min(problem_.product.rows, (block + 1) * block_values)});
    }
  }

  double total(int sum) const noexcept { return sum_of_blocks(vectors_.sums[sum], vectors_.blocks); }

  /// y = A x, or with reads_y y = y - A x.
  row_product product_by(const void* x, void* y, bool reads_y) const {
    row_product product = product_;
    product.x = x;
    product.y = y;
    product.alpha = reads_y ? -1 : 1;
    product.beta = 1;
    product.reads_y = reads_y;
    return product;
  }

  /// Before a product's blocks, where x is complete.
  void sum_shared_rows(const team& t, const row_product& product, row_faults& faults) const {
    if (!shared_.any()) return;
    shared_.sum_pieces(t, product, products_, faults);
    t.barrier();
  }

  void multiply(const row_product& product, value_range_of_block at, row_faults& faults) const {
    if (shared_.any()) return shared_.multiply_block(product, products_, at, faults);
    products_.rows(product, at.first, at.last, nullptr, faults);
  }

  void note(const row_faults& faults) noexcept {
    if (faults.found()) has_fault_ = true;
  }

  /// r = b - A x, p = z, and the sums 0 and 1 of the residual.
  void start(const team& t, const part& mine, bool x_is_zero) {
    row_faults faults;
    const row_product product = product_by(vectors_.x[0], vectors_.r, true);
    if (!x_is_zero) sum_shared_rows(t, product, faults);
    for_blocks(mine, [&](value_range_of_block at) {
      kernels_.copy(vectors_.b, vectors_.r, at);
      if (!x_is_zero) multiply(product, at, faults);
      keep_sums(at, kernels_.sums_of_residual(vectors_.r, vectors_.inverse, at));
      kernels_.step_direction(vectors_.p, vectors_.r, vectors_.inverse, 0, at);
    });
    note(faults);
  }

  void keep_sums(value_range_of_block at, const residual_sums& sums) const noexcept {
    vectors_.sums[0][at.block()] = sums.squared;
    vectors_.sums[1][at.block()] = sums.with_z;
  }

  void iterate(const team& team, const part& mine, conjugate_gradient_steps& steps) {
    row_faults faults;
    const row_product product = product_by(vectors_.p, vectors_.q, false);
    sum_shared_rows(team, product, faults);
    for_blocks(mine, [&](value_range_of_block at) {
      multiply(product, at, faults);
      vectors_.sums[2][at.block()] = kernels_.dot(vectors_.p, vectors_.q, at);
    });
    note(faults);
    team.barrier();
    if (has_fault_ || !steps.take_curvature(total(2))) return;
    for_blocks(mine, [&](value_range_of_block at) {
      keep_sums(at, kernels_.step_residual(vectors_.r, vectors_.q, vectors_.inverse, steps.alpha(), at));
    });
    team.barrier();
    if (!steps.take_residual(total(0), total(1))) return;
    if (team.rank == 0) buffers_.watch->report(steps.iterations(), steps.norm(), steps.target());
    const void* const from = vectors_.x[steps.current()];
    void* const to = vectors_.x[steps.next()];
    if (!steps.wants_confirmation()) {
      for_blocks(mine, [&](value_range_of_block at) {
        kernels_.step_both(from, to, steps.alpha(), vectors_.p, vectors_.r, vectors_.inverse, steps.beta(), at);
      });
    } else {
      for_blocks(mine,
                 [&](value_range_of_block at) { kernels_.step_solution(from, to, vectors_.p, steps.alpha(), at); });
      confirm(team, mine, steps, to);
    }
    team.barrier();
    if (!steps.is_done() && buffers_.watch->asks_to_stop()) steps.end(stop_reason::stopped);
    steps.end_step();
  }

  void confirm(const team& t, const part& mine, conjugate_gradient_steps& steps, const void* x) {
    t.barrier();
    make_true_residual(t, mine, x, vectors_.r);
    t.barrier();
    steps.confirm(total(0), total(1));
    if (steps.is_done()) return;
    for_blocks(mine, [&](value_range_of_block at) {
      kernels_.step_direction(vectors_.p, vectors_.r, vectors_.inverse, steps.beta(), at);
    });
  }

  /// to = b - A x, and its sums 0 and 1.
  void make_true_residual(const team& t, const part& mine, const void* x, void* to) {
    row_faults faults;
    const row_product product = product_by(x, to, true);
    sum_shared_rows(t, product, faults);
    for_blocks(mine, [&](value_range_of_block at) {
      kernels_.copy(vectors_.b, to, at);
      multiply(product, at, faults);
      keep_sums(at, kernels_.sums_of_residual(to, vectors_.inverse, at));
    });
  }

  /// Makes the best x the caller's, and returns its residual.
  double finish_solution(const team& team, const part& mine, const conjugate_gradient_steps& steps) {
    if (steps.result() != 0) {
      for_blocks(mine, [&](value_range_of_block at) { kernels_.copy(vectors_.x[1], vectors_.x[0], at); });
      team.barrier();
    }
    if (steps.is_confirmed()) return steps.norm();
    make_true_residual(team, mine, vectors_.x[0], vectors_.q);
    team.barrier();
    return std::sqrt(total(0));
  }

  void finish(const team& t, const conjugate_gradient_steps& s, double residual) const {
    if (t.rank == 0) *buffers_.result = s.summary(residual);
  }

  const conjugate_gradient_problem& problem_;
  const conjugate_gradient_buffers& buffers_;
  const vector_kernels& kernels_;
  system_vectors vectors_;
  row_reader rows_;
  shared_rows shared_;
  row_kernels products_;
  row_product product_;
  // Only ever set, and read behind a barrier.
  std::atomic<bool> has_fault_ = false;
  std::atomic<bool> has_bad_diagonal_ = false;
};

void run_fused(const context& ctx, const conjugate_gradient_problem& problem, const plan::planned& plan,
               const conjugate_gradient_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  const auto decision = plan.decided.get<fused_decision>();
  fused_solver solver(problem, decision, buffers, scratch);
  if (decision.threads == 1) {
    solver.run({});
  } else {
#pragma omp parallel num_threads(core::startable(static_cast <int>(decision.threads)))
    solver.run({static_cast<std::uint64_t>(omp_get_thread_num()), static_cast<std::uint64_t>(omp_get_num_threads())});
  }
  // Where the diagonal is not positive, the matrix was not read yet.
  if (solver.found_fault() || buffers.result->reason == stop_reason::not_positive_definite) {
    state.keep_first(find_fault(problem.product, buffers.a, csr_call::conjugate_gradient, call));
  }
}

}  // namespace

extern constinit const conjugate_gradient_variant conjugate_gradient_fused{"cpu.fused", backend_kind::cpu, plan_fused,
                                                                           run_fused};

}  // namespace sheaf::cpu
