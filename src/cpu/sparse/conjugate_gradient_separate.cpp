
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

  void tell(plan::told& to) const { to.add("parts", parts); }
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
        problem_(problem),
        buffers_(buffers),
        decision_(plan.decided.get<separate_decision>()),
        inner_(problem.is_operator ? nullptr : &plan.inner<product_choice>()),
        product_scratch_(scratch + decision_.product_at),
        kernels_(vector_kernels_of(problem.product)),
        vectors_(core::arrays_in<system_vectors>(scratch, problem, buffers)) {}

  void run() {
    const double b_squared = total([&](value_range_of_block at) { return kernels_.dot(vectors_.b, vectors_.b, at); });
    conjugate_gradient_steps steps(buffers_.goals, b_squared);
    if (is_zero(vectors_.b)) {
      for_blocks([&](value_range_of_block at) { kernels_.clear(vectors_.x[0], at); });
      buffers_.watch->report(0, 0, steps.target());
      *buffers_.result = steps.summary(0);
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
    if (is_zero(vectors_.x[0])) {
      copy(vectors_.b, vectors_.r);
    } else if (!make_residual(vectors_.x[0], vectors_.r)) {
      return;
    }
    const residual_sums first = sums_of(vectors_.r);
    for_blocks(
        [&](value_range_of_block at) { kernels_.step_direction(vectors_.p, vectors_.r, vectors_.inverse, 0, at); });
    steps.start(b_squared, first.squared, has_diagonal ? first.with_z : 0);
    if (!has_diagonal && !steps.is_done()) steps.end(stop_reason::not_positive_definite);
    buffers_.watch->report(0, steps.norm(), steps.target());
    while (!steps.is_done()) {
      if (buffers_.watch->asks_to_stop()) {
        steps.end(stop_reason::stopped);
      } else if (!step(steps)) {
        return take_best(steps);
      }
    }
    take_best(steps);
    double residual = steps.norm();
    if (!steps.is_confirmed()) {
      if (!make_residual(vectors_.x[0], vectors_.q)) return;
      residual = std::sqrt(sums_of(vectors_.q).squared);
    }
    *buffers_.result = steps.summary(residual);
  }

  /// False if the product reported a fault.
  bool step(conjugate_gradient_steps& steps) {
    if (!multiply(vectors_.p, vectors_.q)) return false;
    const double curvature = total([&](value_range_of_block at) { return kernels_.dot(vectors_.p, vectors_.q, at); });
    if (!steps.take_curvature(curvature)) return true;
    const residual_sums sums = total_of_residual([&](value_range_of_block at) {
      return kernels_.step_residual(vectors_.r, vectors_.q, vectors_.inverse, steps.alpha(), at);
    });
    if (!steps.take_residual(sums.squared, sums.with_z)) return true;
    buffers_.watch->report(steps.iterations(), steps.norm(), steps.target());
    const void* const from = vectors_.x[steps.current()];
    void* const to = vectors_.x[steps.next()];
    if (!steps.wants_confirmation()) {
      for_blocks([&](value_range_of_block at) {
        kernels_.step_both(from, to, steps.alpha(), vectors_.p, vectors_.r, vectors_.inverse, steps.beta(), at);
      });
    } else {
      for_blocks([&](value_range_of_block at) { kernels_.step_solution(from, to, vectors_.p, steps.alpha(), at); });
      if (!make_residual(to, vectors_.r)) return false;
      const residual_sums found = sums_of(vectors_.r);
      steps.confirm(found.squared, found.with_z);
      for_blocks([&](value_range_of_block at) {
        kernels_.step_direction(vectors_.p, vectors_.r, vectors_.inverse, steps.beta(), at);
      });
    }
    if (!steps.is_done() && buffers_.watch->asks_to_stop()) steps.end(stop_reason::stopped);
    steps.end_step();
    return true;
  }

  template <class Work>
  void for_blocks(Work work) const {
    for_each_range(vectors_.blocks, decision_.parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      for (std::uint64_t block = begin; block < end; ++block) {
        work(value_range_of_block{block * block_values, std::min(problem_.product.rows, (block + 1) * block_values)});
      }
    });
  }

  template <class Work>
  double total(Work work) const {
    for_blocks([&](value_range_of_block at) { vectors_.sums[0][at.block()] = work(at); });
    return sum_of_blocks(vectors_.sums[0], vectors_.blocks);
  }

  template <class Work>
  residual_sums total_of_residual(Work work) const {
    for_blocks([&](value_range_of_block at) {
      const residual_sums sums = work(at);
      vectors_.sums[0][at.block()] = sums.squared;
      vectors_.sums[1][at.block()] = sums.with_z;
    });
    return {sum_of_blocks(vectors_.sums[0], vectors_.blocks), sum_of_blocks(vectors_.sums[1], vectors_.blocks)};
  }

  residual_sums sums_of(const void* r) const {
    return total_of_residual(
        [&](value_range_of_block at) { return kernels_.sums_of_residual(r, vectors_.inverse, at); });
  }

  bool is_zero(const void* x) const {
    return total([&](value_range_of_block at) { return static_cast<double>(kernels_.nonzeros(x, at)); }) == 0;
  }

  void copy(const void* from, void* to) const {
    for_blocks([&](value_range_of_block at) { kernels_.copy(from, to, at); });
  }

  void take_best(const conjugate_gradient_steps& s) const {
    if (s.result() != 0) copy(vectors_.x[1], vectors_.x[0]);
  }

  /// False if a value is not above 0.
  bool invert_diagonal() const {
    if (!problem_.has_jacobi) return true;
    std::atomic<bool> is_positive = true;
    for_blocks([&](value_range_of_block at) {
      if (!problem_.is_operator) read_diagonal(problem_.product, buffers_.a, vectors_.inverse, at);
      if (!kernels_.invert(problem_.is_operator ? buffers_.diagonal : vectors_.inverse, vectors_.inverse, at))
        is_positive = false;
    });
    return is_positive;
  }

  /// y = A x. False if that reported a fault.
  bool multiply(const void* x, void* y) const {
    if (problem_.is_operator) {
      const std::uint64_t n = problem_.product.rows;
      (*buffers_.apply)(ctx_, const_values(x, n, problem_.product.value), values(y, n, problem_.product.value));
    } else {
      inner_->variant->run(ctx_, product_of(problem_, false), inner_->plan, {buffers_.a, x, y, 1, 0}, product_scratch_);
    }
    return state_.status() != work_status::failed;
  }

  /// r = b - A x. False if the product reported a fault.
  bool make_residual(const void* x, void* r) const {
    if (!problem_.is_operator) {
      copy(vectors_.b, r);
      inner_->variant->run(ctx_, product_of(problem_, true), inner_->plan, {buffers_.a, x, r, -1, 1}, product_scratch_);
      return state_.status() != work_status::failed;
    }
    if (!multiply(x, r)) return false;
    for_blocks([&](value_range_of_block at) { kernels_.subtract_from(vectors_.b, r, at); });
    return true;
  }

  const context& ctx_;
  core::cpu_state& state_;
  const conjugate_gradient_problem& problem_;
  const conjugate_gradient_buffers& buffers_;
  separate_decision decision_;
  const product_choice* inner_;
  std::byte* product_scratch_;
  const vector_kernels& kernels_;
  system_vectors vectors_;
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
