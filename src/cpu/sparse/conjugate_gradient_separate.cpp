#include <atomic>

#include "core/cpu_state.hpp"
#include "core/scratch_offsets.hpp"
#include "cpu/sparse/system_scratch.hpp"
#include "cpu/sparse/vector_steps.hpp"
#include "cpu/threads/parts.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/host_matrix.hpp"

namespace sheaf::cpu {

using namespace primitives;

namespace {
using product_choice = plan::choice<spmv_variant>;

struct separate_decision {
  std::uint64_t product_at = 0;  ///< scratch of the product
  std::uint64_t parts = 1;       ///< of the vectors
};

/// The product of an iteration. Plans decide nothing by reads_y, so it is also that of a residual.
spmv_problem product_of(const conjugate_gradient_problem& p, bool reads_y) noexcept {
  spmv_problem product = p.product;
  product.reads_y = reads_y;
  return product;
}

// The product is a call of its own, by the cheapest variant of spmv or by the caller's operator, and so are the dot
// product p.q, the new residual with its sums, and the new x and p. q is read once more than in cpu.fused, p too, and
// each of the four begins and ends a parallel region.
plan::planned plan_separate(const conjugate_gradient_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  separate_decision decision;
  decision.product_at = system_vectors::scratch_bytes(problem);
  const std::uint64_t streamed = problem.vector_bytes() * (problem.has_jacobi ? 12 : 10);
  decision.parts = std::min(parts_worth(streamed, machine.parallelism), blocks_of(problem.product.rows));
  plan::planned plan;
  plan.scratch_bytes = decision.product_at;
  if (!problem.is_operator) {
    const auto inner = std::make_shared<product_choice>(
        plan::cheapest(spmv_variants(), product_of(problem, false), backend_kind::cpu,
                       plan::inner_scope(scope, decision.product_at), plan::forced_name("spmv", {}, scope.context)));
    if (inner->variant == nullptr) return plan::rejected("no product can run within the context's limits");
    plan.scratch_bytes += inner->plan.scratch_bytes;
    plan.add("product", inner->plan.seconds);
    plan.inner_calls = inner;
  }
  constexpr double regions = 3;
  plan.add("latency", decision.parts == 1 ? 0 : regions * machine.step_seconds);
  plan.add("streamed", machine.streamed(streamed, problem.product.matrix_bytes() + 5 * problem.vector_bytes()));
  plan.decided.set(decision);
  return plan;
}

class separate_solver {
 public:
  separate_solver(const context& ctx, const conjugate_gradient_problem& problem, const plan::planned& plan,
                  const conjugate_gradient_buffers& buffers, std::byte* scratch)
      : ctx_(ctx),
        state_(core::cpu(ctx)),
        p_(problem),
        b_(buffers),
        d_(plan.decided.get<separate_decision>()),
        inner_(problem.is_operator ? nullptr : &plan.inner<product_choice>()),
        product_scratch_(scratch + d_.product_at),
        kernels_(vector_kernels_of(problem.product)),
        v_(core::arrays_in<system_vectors>(scratch, problem, buffers)) {}

  void run() {
    const double b_squared = total([&](value_range_of_block at) { return kernels_.dot(v_.b, v_.b, at); });
    conjugate_gradient_steps steps(b_.goals, b_squared);
    if (is_zero(v_.b)) {
      for_blocks([&](value_range_of_block at) { kernels_.clear(v_.x[0], at); });
      b_.watch->report(0, 0, steps.target());
      *b_.result = steps.summary(0);
      return;
    }
    try {
      iterate(steps, b_squared);
    } catch (...) {
      take_best(steps);
      throw;
    }
  }

 private:
  void iterate(conjugate_gradient_steps& steps, double b_squared) {
    const bool has_diagonal = invert_diagonal();
    if (is_zero(v_.x[0])) {
      copy(v_.b, v_.r);
    } else if (!make_residual(v_.x[0], v_.r)) {
      return;
    }
    const residual_sums first = sums_of(v_.r);
    for_blocks([&](value_range_of_block at) { kernels_.step_direction(v_.p, v_.r, v_.inverse, 0, at); });
    steps.start(b_squared, first.squared, has_diagonal ? first.with_z : 0);
    if (!has_diagonal && !steps.is_done()) steps.end(stop_reason::not_positive_definite);
    b_.watch->report(0, steps.norm(), steps.target());
    while (!steps.is_done()) {
      if (b_.watch->asks_to_stop()) {
        steps.end(stop_reason::stopped);
      } else if (!step(steps)) {
        return take_best(steps);
      }
    }
    take_best(steps);
    double residual = steps.norm();
    if (!steps.is_confirmed()) {
      if (!make_residual(v_.x[0], v_.q)) return;
      residual = std::sqrt(sums_of(v_.q).squared);
    }
    *b_.result = steps.summary(residual);
  }

  /// False if the product reported a fault.
  bool step(conjugate_gradient_steps& steps) {
    if (!multiply(v_.p, v_.q)) return false;
    const double curvature = total([&](value_range_of_block at) { return kernels_.dot(v_.p, v_.q, at); });
    if (!steps.take_curvature(curvature)) return true;
    const residual_sums sums = total_of_residual(
        [&](value_range_of_block at) { return kernels_.step_residual(v_.r, v_.q, v_.inverse, steps.alpha(), at); });
    if (!steps.take_residual(sums.squared, sums.with_z)) return true;
    b_.watch->report(steps.iterations(), steps.norm(), steps.target());
    const void* const from = v_.x[steps.current()];
    void* const to = v_.x[steps.next()];
    if (!steps.wants_confirmation()) {
      for_blocks([&](value_range_of_block at) {
        kernels_.step_both(from, to, steps.alpha(), v_.p, v_.r, v_.inverse, steps.beta(), at);
      });
    } else {
      for_blocks([&](value_range_of_block at) { kernels_.step_solution(from, to, v_.p, steps.alpha(), at); });
      if (!make_residual(to, v_.r)) return false;
      const residual_sums found = sums_of(v_.r);
      steps.confirm(found.squared, found.with_z);
      for_blocks([&](value_range_of_block at) { kernels_.step_direction(v_.p, v_.r, v_.inverse, steps.beta(), at); });
    }
    if (!steps.is_done() && b_.watch->asks_to_stop()) steps.end(stop_reason::stopped);
    steps.end_step();
    return true;
  }

  template <class Work>
  void for_blocks(Work work) const {
    for_each_range(v_.blocks, d_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t block = begin; block < end; ++block) {
        work(value_range_of_block{block * block_values, std::min(p_.product.rows, (block + 1) * block_values)});
      }
    });
  }

  template <class Work>
  double total(Work work) const {
    for_blocks([&](value_range_of_block at) { v_.sums[0][at.block()] = work(at); });
    return sum_of_blocks(v_.sums[0], v_.blocks);
  }

  template <class Work>
  residual_sums total_of_residual(Work work) const {
    for_blocks([&](value_range_of_block at) {
      const residual_sums sums = work(at);
      v_.sums[0][at.block()] = sums.squared;
      v_.sums[1][at.block()] = sums.with_z;
    });
    return {sum_of_blocks(v_.sums[0], v_.blocks), sum_of_blocks(v_.sums[1], v_.blocks)};
  }

  residual_sums sums_of(const void* r) const {
    return total_of_residual([&](value_range_of_block at) { return kernels_.sums_of_residual(r, v_.inverse, at); });
  }

  bool is_zero(const void* x) const {
    return total([&](value_range_of_block at) { return static_cast<double>(kernels_.nonzeros(x, at)); }) == 0;
  }

  void copy(const void* from, void* to) const {
    for_blocks([&](value_range_of_block at) { kernels_.copy(from, to, at); });
  }

  void take_best(const conjugate_gradient_steps& s) const {
    if (s.result() != 0) copy(v_.x[1], v_.x[0]);
  }

  /// False if a value is not above 0.
  bool invert_diagonal() const {
    if (!p_.has_jacobi) return true;
    std::atomic<bool> is_positive = true;
    for_blocks([&](value_range_of_block at) {
      if (!p_.is_operator) read_diagonal(p_.product, b_.a, v_.inverse, at);
      if (!kernels_.invert(p_.is_operator ? b_.diagonal : v_.inverse, v_.inverse, at)) is_positive = false;
    });
    return is_positive;
  }

  /// y = A x. False if that reported a fault.
  bool multiply(const void* x, void* y) const {
    if (p_.is_operator) {
      const std::uint64_t n = p_.product.rows;
      (*b_.apply)(ctx_, const_values(x, n, p_.product.value), values(y, n, p_.product.value));
    } else {
      inner_->variant->run(ctx_, product_of(p_, false), inner_->plan, {b_.a, x, y, 1, 0}, product_scratch_);
    }
    return state_.status() != work_status::failed;
  }

  /// r = b - A x. False if the product reported a fault.
  bool make_residual(const void* x, void* r) const {
    if (!p_.is_operator) {
      copy(v_.b, r);
      inner_->variant->run(ctx_, product_of(p_, true), inner_->plan, {b_.a, x, r, -1, 1}, product_scratch_);
      return state_.status() != work_status::failed;
    }
    if (!multiply(x, r)) return false;
    for_blocks([&](value_range_of_block at) { kernels_.subtract_from(v_.b, r, at); });
    return true;
  }

  const context& ctx_;
  core::cpu_state& state_;
  const conjugate_gradient_problem& p_;
  const conjugate_gradient_buffers& b_;
  separate_decision d_;
  const product_choice* inner_;
  std::byte* product_scratch_;
  const vector_kernels& kernels_;
  system_vectors v_;
};

void run_separate(const context& ctx, const conjugate_gradient_problem& problem, const plan::planned& plan,
                  const conjugate_gradient_buffers& buffers, std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const std::uint64_t call = state.begin_call();
  separate_solver(ctx, problem, plan, buffers, scratch).run();
  if (problem.is_operator) return;
  // What the product reported is reported by this call, which began before it. Where the diagonal is not positive, the
  // matrix was not read yet.
  if (state.status() == work_status::failed || buffers.result->reason == stop_reason::not_positive_definite) {
    state.keep_first(find_fault(problem.product, buffers.a, csr_call::conjugate_gradient, call));
  }
}

}  // namespace

extern constinit const conjugate_gradient_variant conjugate_gradient_separate{"cpu.separate", backend_kind::cpu,
                                                                              plan_separate, run_separate};

}  // namespace sheaf::cpu
