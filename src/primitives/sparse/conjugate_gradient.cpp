#include "primitives/sparse/conjugate_gradient.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/enum_names.hpp"

namespace sheaf {

std::string_view name(stop_reason reason) noexcept {
  switch (reason) {
    case stop_reason::converged: return "converged";
    case stop_reason::limit: return "limit";
    case stop_reason::stagnated: return "stagnated";
    case stop_reason::breakdown: return "breakdown";
    case stop_reason::not_positive_definite: return "not positive definite";
    case stop_reason::stopped: return "stopped";
  }
  return "?";
}

namespace primitives {

std::span<const conjugate_gradient_variant> conjugate_gradient_variants() {
  return list_of<conjugate_gradient_variant>();
}

namespace {

constexpr std::uint64_t most_values_of_vector = std::uint64_t{1} << 59;  // of 8 bytes

void require_options(const conjugate_gradient_options& options) {
  require_enumerator(conjugate_gradient_call, "sums", options.sums, spmv_sums::f64);
  require_enumerator(conjugate_gradient_call, "preconditioner", options.preconditioner, preconditioner::jacobi);
  if (!(options.tolerance >= 0))
    refuse("{}: the tolerance is {}, not 0 or more", conjugate_gradient_call, options.tolerance);
  if (!(options.absolute_tolerance >= 0)) {
    refuse("{}: the absolute tolerance is {}, not 0 or more", conjugate_gradient_call, options.absolute_tolerance);
  }
  if (options.progress_interval == 0) refuse("{}: the progress interval is 0, not 1 or more", conjugate_gradient_call);
}

void require_vector(std::string_view what, const_values values, std::uint64_t count, value_type type) {
  require_type(conjugate_gradient_call, what, values.type, value_type::f64);
  if (values.type != type) {
    refuse("{}: {} has values of type {}, but the system has {}", conjugate_gradient_call, what, name(values.type),
           name(type));
  }
  if (values.count != count)
    refuse("{}: {} has {} values for {} rows", conjugate_gradient_call, what, values.count, count);
}

/// Whether the call is captured into a graph, which wants a number of iterations and has nobody to tell of them.
bool is_captured(const context& ctx, const conjugate_gradient_options& options) {
  if (!ctx.state().is_captured()) return false;
  constexpr std::uint64_t most_iterations = 1 << 16;
  if (options.iteration_limit > most_iterations) {
    refuse("{}: the stream is being captured into a graph, which needs an iteration_limit of at most {}",
           conjugate_gradient_call, most_iterations);
  }
  if (options.history != nullptr || options.progress) {
    refuse("{}: the stream is being captured into a graph, which allows neither history nor progress",
           conjugate_gradient_call);
  }
  return true;
}

conjugate_gradient_problem describe(const context& ctx, const csr_view& a, const conjugate_gradient_options& options) {
  require_options(options);
  require_csr_shape(conjugate_gradient_call, a);
  if (a.rows != a.columns) refuse("{}: the matrix is {} x {}, not square", conjugate_gradient_call, a.rows, a.columns);
  if (options.diagonal.count != 0)
    refuse("{}: a diagonal is given, but the matrix has its own", conjugate_gradient_call);
  conjugate_gradient_problem problem;
  problem.product = describe_spmv(conjugate_gradient_call, ctx, a, false, options.sums, options.pattern);
  problem.has_jacobi = options.preconditioner == preconditioner::jacobi;
  problem.keeps_last = options.keeps_last;
  problem.is_captured = is_captured(ctx, options);
  return problem;
}

conjugate_gradient_problem describe_operator(const context& ctx, const_values b,
                                             const conjugate_gradient_options& options) {
  require_options(options);
  require_enumerator(conjugate_gradient_call, "the type of b", b.type, value_type::f64);
  if (b.type != value_type::f32 && b.type != value_type::f64) {
    refuse("{}: b has values of an integer type, not f32 or f64", conjugate_gradient_call);
  }
  if (b.count > most_values_of_vector)
    refuse("{}: b has {} values, more than memory can hold", conjugate_gradient_call, b.count);
  conjugate_gradient_problem problem;
  problem.is_operator = true;
  problem.product.backend = ctx.backend();
  problem.product.rows = problem.product.columns = b.count;
  problem.product.value = b.type;
  problem.product.sums = b.type == value_type::f64 ? spmv_sums::as_values : options.sums;
  problem.has_jacobi = options.preconditioner == preconditioner::jacobi;
  problem.keeps_last = options.keeps_last;
  problem.is_captured = is_captured(ctx, options);
  if (problem.has_jacobi) {
    if (options.diagonal.count == 0 && b.count > 0)
      refuse("{}: preconditioner::jacobi needs the operator's diagonal", conjugate_gradient_call);
    if (options.diagonal.count != 0 || b.count > 0) require_vector("the diagonal", options.diagonal, b.count, b.type);
  } else if (options.diagonal.count != 0) {
    refuse("{}: a diagonal is given without preconditioner::jacobi", conjugate_gradient_call);
  }
  return problem;
}

void require_vectors_of(const conjugate_gradient_problem& problem, const context& ctx, const_values b, const_values x) {
  const std::uint64_t width = problem.product.value_bytes();
  const auto require_there = [&](const_values v, std::string_view what) {
    require_memory(conjugate_gradient_call, ctx, v.data, v.count * width, what);
    require_aligned(conjugate_gradient_call, v.data, width, what);
  };
  require_there(b, "b");
  require_there(x, "x");
  require_no_overlap(conjugate_gradient_call, x.data, problem.vector_bytes(), "x", b.data, problem.vector_bytes(), "b");
}

conjugate_gradient_result solve(const context& ctx, const conjugate_gradient_problem& problem,
                                const conjugate_gradient_options& options, conjugate_gradient_buffers buffers) {
  conjugate_gradient_result result;
  if (options.history != nullptr) options.history->clear();
  if (problem.product.rows == 0) return result;
  constexpr std::uint64_t least_limit = 100;
  constexpr std::uint64_t iterations_of_a_row = 10;
  buffers.goals = {options.tolerance, options.absolute_tolerance, options.iteration_limit, options.keeps_last};
  if (problem.product.value == value_type::f32) {
    buffers.goals.precision = std::numeric_limits<float>::epsilon();
    buffers.goals.least = std::numeric_limits<float>::min();
  }
  buffers.goals.vanishing = buffers.goals.least * std::sqrt(static_cast<double>(problem.product.rows));
  if (options.iteration_limit == conjugate_gradient_options::automatic_limit) {
    buffers.goals.limit = std::max(least_limit, iterations_of_a_row * problem.product.rows);
  }
  conjugate_gradient_watch watch(options);
  buffers.watch = &watch;
  buffers.result = &result;
  if (problem.is_captured) {
    result.reason = stop_reason::limit;
    result.residual = result.target = result.b_norm = std::numeric_limits<double>::quiet_NaN();
    result.variant =
        plan::execute(conjugate_gradient_call, conjugate_gradient_variants(), problem, ctx, options.variant, buffers)
            .variant->name;
    return result;
  }
  ctx.wait();  // errors of earlier calls are not this one's
  const auto taken =
      plan::execute(conjugate_gradient_call, conjugate_gradient_variants(), problem, ctx, options.variant, buffers);
  ctx.wait();
  watch.rethrow();
  result.variant = taken.variant->name;
  return result;
}

}  // namespace
}  // namespace primitives

using namespace primitives;

conjugate_gradient_result conjugate_gradient(const context& ctx, const csr_view& a, const_values b, values x,
                                             const conjugate_gradient_options& options) {
  const conjugate_gradient_problem problem = describe(ctx, a, options);
  require_vector("b", b, a.rows, a.values.type);
  require_vector("x", x, a.rows, a.values.type);
  require_csr_memory(conjugate_gradient_call, ctx, a);
  require_vectors_of(problem, ctx, b, x);
  require_apart(conjugate_gradient_call, x, "x", a);
  return solve(ctx, problem, options, {.a = a, .b = b.data, .x = x.data});
}

conjugate_gradient_result conjugate_gradient(const context& ctx, const linear_operator& apply, const_values b, values x,
                                             const conjugate_gradient_options& options) {
  if (!apply) refuse("{}: the operator is empty", conjugate_gradient_call);
  const conjugate_gradient_problem problem = describe_operator(ctx, b, options);
  require_vector("x", x, b.count, b.type);
  require_vectors_of(problem, ctx, b, x);
  if (problem.has_jacobi) {
    const const_values d = options.diagonal;
    require_memory(conjugate_gradient_call, ctx, d.data, problem.vector_bytes(), "the diagonal");
    require_aligned(conjugate_gradient_call, d.data, problem.product.value_bytes(), "the diagonal");
    require_no_overlap(conjugate_gradient_call, x.data, problem.vector_bytes(), "x", d.data, problem.vector_bytes(),
                       "the diagonal");
  }
  return solve(ctx, problem, options,
               {.a = {}, .apply = &apply, .diagonal = options.diagonal.data, .b = b.data, .x = x.data});
}

explanation explain_conjugate_gradient(const context& ctx, const csr_view& a, const_values b, values x,
                                       const conjugate_gradient_options& options) {
  const conjugate_gradient_problem p = describe(ctx, a, options);
  require_vector("b", b, a.rows, a.values.type);
  require_vector("x", x, a.rows, a.values.type);
  return plan::explain(conjugate_gradient_call, conjugate_gradient_variants(), p, ctx, options.variant);
}

}  // namespace sheaf
