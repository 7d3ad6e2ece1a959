#include <sheaf/distributed/conjugate_gradient.hpp>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/parallel_tasks.hpp"
#include "distributed/collectives.hpp"
#include "distributed/sparse/checks.hpp"
#include "distributed/sparse/vector_steps.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::distributed {
namespace {

using primitives::conjugate_gradient_goals;
using primitives::conjugate_gradient_steps;
using primitives::conjugate_gradient_watch;

constexpr std::string_view call_name = "conjugate_gradient";
constexpr std::string_view variant_name = "distributed";

/// Writes this rank's part of the diagonal; entries of a place that occur several times are added.
template <class Value>
void read_diagonal(const primitives::spmv_problem& problem, const csr_view& a, std::uint64_t first_row,
                   Value* diagonal) {
  const primitives::host_rows rows(problem, a);
  const auto* const numbers = static_cast<const Value*>(a.values.data);
  primitives::with_entries(a.column_indices, [&](const auto* column) {
    for (std::uint64_t row = 0; row < a.rows; ++row) {
      Value sum = 0;
      for (std::uint64_t place = rows.begin(row); place < rows.end(row); ++place) {
        if (static_cast<std::uint64_t>(column[place]) == first_row + row) sum += numbers[place];
      }
      diagonal[row] = sum;
    }
  });
}

/// One rank's part of the iteration. What it decides is the same on all ranks, because they have the same sums.
class distributed_solver {
 public:
  distributed_solver(group_state& state, const matrix_part& matrix, const csr_view& a, const_values b, values x,
                     const conjugate_gradient_options& options, bool any_reports)
      : state_(state),
        matrix_(matrix),
        a_(a),
        options_(options),
        any_reports_(any_reports),
        watch_(options),
        steps_kernels_(steps_of(b.type, options.sums)),
        rows_(b.count),
        width_(bytes(b.type)),
        blocks_((b.count + system_block_rows - 1) / system_block_rows),
        all_blocks_((matrix.rows().count() + system_block_rows - 1) / system_block_rows),
        b_(b.data),
        r_(state.ctx, rows_ * width_),
        p_(state.ctx, rows_ * width_),
        q_(state.ctx, rows_ * width_),
        x_own_(state.ctx, rows_ * width_),
        x_other_(state.ctx, options.keeps_last ? 0 : rows_ * width_),
        inverse_(state.ctx, options.preconditioner == preconditioner::jacobi ? rows_ * width_ : 0),
        sums_(blocks_ * 3),
        all_sums_(all_blocks_ * 3) {
    copy(x.data, x_own_.data());
    x_[0] = x_own_.data();
    x_[1] = x_other_.data();
    for (int r = 0; r < state.size; ++r)
      blocks_of_rank_.push_back((matrix.rows().count(r) + system_block_rows - 1) / system_block_rows);
  }

  /// What the caller's functions threw, after run(), which ended on all ranks alike.
  std::exception_ptr thrown() const noexcept {
    try {
      watch_.rethrow();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  conjugate_gradient_result run(const conjugate_gradient_goals& goals, values x) {
    const bool has_diagonal = invert_diagonal();
    const double has_bad_diagonal = has_diagonal ? 0 : 1;
    for_blocks([&](std::uint64_t block, block_range at) {
      set(block, 0, steps_kernels_.dot(b_, b_, at));
      set(block, 1, static_cast<double>(steps_kernels_.nonzeros(b_, at)));
      set(block, 2, static_cast<double>(steps_kernels_.nonzeros(x_[0], at)));
    });
    gather_sums(3);
    const double b_squared = total(0);
    const bool b_is_zero = total(1) == 0;
    const bool x_is_zero = total(2) == 0;
    conjugate_gradient_steps steps(goals, b_squared);
    if (b_is_zero) {
      if (rows_ > 0) std::memset(x.data, 0, rows_ * width_);
      report(0, 0, steps.target());
      return named(steps.summary(0));
    }
    const bool all_positive = all_max(has_bad_diagonal) == 0;
    if (x_is_zero) {
      copy(b_, r_.data());
    } else {
      make_residual(x_[0], r_.data());
    }
    residual_sums sums = sums_of(r_.data());
    each_block([&](block_range at) { steps_kernels_.step_direction(p_.data(), r_.data(), inverse(), 0, at); });
    steps.start(b_squared, sums.squared, all_positive ? sums.with_z : 0);
    if (!all_positive && !steps.is_done()) steps.end(stop_reason::not_positive_definite);
    report(0, steps.norm(), steps.target());
    if (!steps.is_done() && asks_to_stop()) steps.end(stop_reason::stopped);
    while (!steps.is_done()) step(steps);
    double residual = steps.norm();
    if (!steps.is_confirmed()) {
      make_residual(x_[steps.result()], q_.data());
      residual = std::sqrt(sums_of(q_.data()).squared);
    }
    copy(x_[steps.result()], x.data);
    return named(steps.summary(residual));
  }

 private:
  template <class Work>
  void for_blocks(Work work) const {
    constexpr std::uint64_t blocks_of_task = 64;
    core::for_each_task(
        (blocks_ + blocks_of_task - 1) / blocks_of_task, static_cast<std::uint64_t>(state_.ctx.threads()),
        [&](std::uint64_t task) {
          const std::uint64_t end = std::min(blocks_, (task + 1) * blocks_of_task);
          for (std::uint64_t block = task * blocks_of_task; block < end; ++block) {
            work(block, block_range{block * system_block_rows, std::min(rows_, (block + 1) * system_block_rows)});
          }
        });
  }
  template <class Work>
  void each_block(Work work) const {
    for_blocks([&](std::uint64_t, block_range at) { work(at); });
  }

  void set(std::uint64_t block, std::uint64_t sum, double value) noexcept { sums_[sum * blocks_ + block] = value; }

  /// Brings the first sums of all blocks to all ranks.
  void gather_sums(std::uint64_t count) {
    std::vector<std::uint64_t> lengths;
    for (const std::uint64_t blocks : blocks_of_rank_) lengths.push_back(blocks * count * sizeof(double));
    gathered_.resize(all_blocks_ * count);
    gather_parts(state_, std::as_bytes(std::span(sums_).first(blocks_ * count)), lengths,
                 reinterpret_cast<std::byte*>(gathered_.data()));
    // Ranks send one sum of all of their blocks behind another; here each sum's blocks lie side by side.
    std::uint64_t from = 0;
    std::uint64_t first = 0;
    for (const std::uint64_t blocks : blocks_of_rank_) {
      for (std::uint64_t s = 0; s < count; ++s, from += blocks)
        std::copy_n(gathered_.data() + from, blocks, all_sums_.data() + s * all_blocks_ + first);
      first += blocks;
    }
  }
  double total(std::uint64_t sum) const noexcept {
    return sum_of_blocks(all_sums_.data() + sum * all_blocks_, all_blocks_);
  }
  double all_max(double mine) {
    std::vector<double> all(static_cast<std::size_t>(state_.size));
    all_gather(state_, &mine, sizeof mine, all.data());
    return *std::max_element(all.begin(), all.end());
  }

  residual_sums gathered_residual() {
    if (inverse() == nullptr) {
      gather_sums(1);
      return {total(0), total(0)};
    }
    gather_sums(2);
    return {total(0), total(1)};
  }
  residual_sums sums_of(const void* r) {
    for_blocks(
        [&](std::uint64_t block, block_range at) { keep(block, steps_kernels_.sums_of_residual(r, inverse(), at)); });
    return gathered_residual();
  }
  void keep(std::uint64_t block, const residual_sums& sums) noexcept {
    set(block, 0, sums.squared);
    if (inverse() != nullptr) set(block, 1, sums.with_z);
  }

  void step(conjugate_gradient_steps& steps) {
    matrix_.multiply(state_, p_.data(), q_.data(), 1, 0);
    for_blocks(
        [&](std::uint64_t block, block_range at) { set(block, 0, steps_kernels_.dot(p_.data(), q_.data(), at)); });
    gather_sums(1);
    if (!steps.take_curvature(total(0))) return;
    for_blocks([&](std::uint64_t block, block_range at) {
      keep(block, steps_kernels_.step_residual(r_.data(), q_.data(), inverse(), steps.alpha(), at));
    });
    const residual_sums sums = gathered_residual();
    if (!steps.take_residual(sums.squared, sums.with_z)) return;
    report(steps.iterations(), steps.norm(), steps.target());
    const void* const from = x_[steps.current()];
    void* const to = x_[steps.next()];
    if (!steps.wants_confirmation()) {
      each_block([&](block_range at) {
        steps_kernels_.step_solution(from, to, p_.data(), steps.alpha(), at);
        steps_kernels_.step_direction(p_.data(), r_.data(), inverse(), steps.beta(), at);
      });
    } else {
      each_block([&](block_range at) { steps_kernels_.step_solution(from, to, p_.data(), steps.alpha(), at); });
      make_residual(to, r_.data());
      const residual_sums found = sums_of(r_.data());
      steps.confirm(found.squared, found.with_z);
      if (!steps.is_done()) {
        each_block(
            [&](block_range at) { steps_kernels_.step_direction(p_.data(), r_.data(), inverse(), steps.beta(), at); });
      }
    }
    if (!steps.is_done() && asks_to_stop()) steps.end(stop_reason::stopped);
    steps.end_step();
  }

  /// to = b - A x
  void make_residual(const void* x, void* to) {
    copy(b_, to);
    matrix_.multiply(state_, x, to, -1, 1);
  }

  void report(std::uint64_t iterations, double residual, double target) {
    if (watch_.wants_reports()) watch_.report(iterations, residual, target);
  }
  /// Whether the progress function of any rank ends the iteration.
  bool asks_to_stop() { return any_reports_ && all_max(watch_.asks_to_stop() ? 1 : 0) > 0; }

  bool invert_diagonal() {
    if (inverse_.size() == 0) return true;
    primitives::spmv_problem problem;
    problem.entries = a_.column_indices.count;
    const std::uint64_t first = matrix_.rows().begin(state_.rank);
    if (width_ == sizeof(double)) {
      read_diagonal(problem, a_, first, inverse_.as<double>());
    } else {
      read_diagonal(problem, a_, first, inverse_.as<float>());
    }
    std::atomic<bool> is_positive = true;
    each_block([&](block_range at) {
      if (!steps_kernels_.invert(inverse_.data(), at)) is_positive = false;
    });
    return is_positive;
  }
  /// Null without a preconditioner; a rank without rows has one of no values.
  const void* inverse() const noexcept {
    static constexpr double nothing = 0;
    if (options_.preconditioner != preconditioner::jacobi) return nullptr;
    return inverse_.size() == 0 ? static_cast<const void*>(&nothing) : inverse_.data();
  }

  void copy(const void* from, void* to) const noexcept {
    if (rows_ > 0) std::memcpy(to, from, rows_ * width_);
  }
  static conjugate_gradient_result named(conjugate_gradient_result result) {
    result.variant = variant_name;
    return result;
  }

  group_state& state_;
  const matrix_part& matrix_;
  const csr_view& a_;
  const conjugate_gradient_options& options_;
  bool any_reports_;
  conjugate_gradient_watch watch_;
  const vector_steps& steps_kernels_;
  std::uint64_t rows_;
  std::uint64_t width_;
  std::uint64_t blocks_;      ///< of this rank
  std::uint64_t all_blocks_;  ///< of all
  const void* b_;
  buffer r_, p_, q_, x_own_, x_other_, inverse_;
  void* x_[2];
  std::vector<double> sums_;  ///< three of each block
  std::vector<double> all_sums_;
  std::vector<double> gathered_;
  std::vector<std::uint64_t> blocks_of_rank_;
};

void require_system(const group_state& state, const csr_view& a, const layout& rows, const_values b, values x,
                    const conjugate_gradient_options& options) {
  primitives::require_enumerator(call_name, "sums", options.sums, spmv_sums::f64);
  primitives::require_enumerator(call_name, "preconditioner", options.preconditioner, preconditioner::jacobi);
  if (!(options.tolerance >= 0))
    primitives::refuse("{}: the tolerance is {}, not 0 or more", call_name, options.tolerance);
  if (!(options.absolute_tolerance >= 0)) {
    primitives::refuse("{}: the absolute tolerance is {}, not 0 or more", call_name, options.absolute_tolerance);
  }
  if (options.progress_interval == 0) primitives::refuse("{}: the progress interval is 0, not 1 or more", call_name);
  if (options.diagonal.count != 0) primitives::refuse("{}: a diagonal is given, but the matrix has its own", call_name);
  require_matrix(call_name, state, a, rows, rows);
  for (int r = 0; r < state.size; ++r) {
    if (rows.count(r) == 0 || rows.begin(r) % system_block_rows == 0) continue;
    primitives::refuse("{}: part {} of the rows begins at row {}, not at a multiple of {}", call_name, r, rows.begin(r),
                       system_block_rows);
  }
  require_vector(call_name, state, "b", b, a.rows, a.values.type);
  require_vector(call_name, state, "x", x, a.rows, a.values.type);
  const std::uint64_t vector_bytes = a.rows * bytes(a.values.type);
  primitives::require_no_overlap(call_name, x.data, vector_bytes, "x", b.data, vector_bytes, "b");
  primitives::require_apart(call_name, x, "x", a);
}

conjugate_gradient_goals goals_of(const conjugate_gradient_options& options, value_type value, std::uint64_t rows) {
  conjugate_gradient_goals goals{options.tolerance, options.absolute_tolerance, options.iteration_limit,
                                 options.keeps_last};
  if (value == value_type::f32) {
    goals.precision = std::numeric_limits<float>::epsilon();
    goals.least = std::numeric_limits<float>::min();
  }
  goals.vanishing = goals.least * std::sqrt(static_cast<double>(rows));
  if (options.iteration_limit == conjugate_gradient_options::automatic_limit)
    goals.limit = std::max<std::uint64_t>(100, 10 * rows);
  return goals;
}

}  // namespace

conjugate_gradient_result conjugate_gradient(const group& ranks, const csr_view& a, const layout& rows, const_values b,
                                             values x, const conjugate_gradient_options& options) {
  std::exception_ptr thrown;
  auto result = collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value agreed[] = {agreed_digest("the layout of rows", fingerprint(rows)),
                                   {"the type of values", static_cast<std::uint64_t>(a.values.type)},
                                   {"sums", static_cast<std::uint64_t>(options.sums)},
                                   {"the preconditioner", static_cast<std::uint64_t>(options.preconditioner)},
                                   agreed_real("the tolerance", options.tolerance),
                                   agreed_real("the absolute tolerance", options.absolute_tolerance),
                                   {"the iteration limit", options.iteration_limit},
                                   {"keeps_last", options.keeps_last ? 1U : 0U}};
    const std::uint64_t shared[] = {options.history != nullptr || options.progress ? 1U : 0U};
    const auto headers = state.agree(call_name, agreed, shared, [&] { require_system(state, a, rows, b, x, options); });
    bool any_reports = false;
    for (const call_header& header : headers) any_reports = any_reports || header.shared[0] != 0;
    if (options.history != nullptr) options.history->clear();
    if (rows.count() == 0) return conjugate_gradient_result{};
    const reports_aside aside(state);  // errors of earlier calls are not this one's
    const matrix_part matrix(state, a, rows, rows, options.sums, primitives::csr_call::conjugate_gradient, call);
    distributed_solver solver(state, matrix, a, b, x, options, any_reports);
    auto found = solver.run(goals_of(options, a.values.type, rows.count()), x);
    thrown = solver.thrown();
    return found;
  });
  if (thrown != nullptr) std::rethrow_exception(thrown);
  return result;
}

}  // namespace sheaf::distributed
