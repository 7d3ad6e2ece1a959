#include "core/startable.hpp"
#include "lab/description/estimates.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/sparse/entry_parts.hpp"
#include "lab/description/sparse/problem.hpp"
#include "primitives/enum_names.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"

// The entry of conjugate_gradient: so many iterations from 0 on by a matrix that is an spmv's in size and layout, and
// has as many columns as rows.
namespace sheaf::primitives {
namespace {

constexpr std::uint64_t most_iterations = 1'000'000;

const problem_field iterations_field{
    "--iterations", "Iterations of conjugate_gradient; 1 unless given", "N", [](problem_spec& p, option_texts texts) {
      p.part<sparse_part>().iterations = number_of("--iterations", texts, 1, most_iterations);
    }};
const problem_field jacobi_field{"--jacobi",
                                 "Residuals of conjugate_gradient are scaled by the inverse of the diagonal", "",
                                 [](problem_spec& p, option_texts) { p.part<sparse_part>().has_jacobi = true; }};

constexpr field_use taken[] = {required(sparse_fields::entries),
                               optional(sparse_fields::rows, sparse_fields::usual_rows),
                               optional(fields::index_type, sparse_fields::usual_column_type),
                               optional(sparse_fields::offset_type, sparse_fields::usual_offset_type),
                               optional(sparse_fields::value_type, fields::value_width),
                               optional(iterations_field),
                               optional(jacobi_field),
                               optional(sparse_fields::sums),
                               optional(sparse_fields::row_ends),
                               optional(fields::pattern)};

/// The product that every iteration has.
problem_spec product_in(const problem_spec& p) {
  problem_spec product = p;
  product.primitive = "spmv";
  return product;
}

row_parts write(const problem_spec& p) {
  return {fmt::format("{}:x{}:i{}", name(p.part<sparse_part>().nonzeros), p.part<sparse_part>().entries_of_a_row,
                      p.part<sparse_part>().iterations),
          text_of_types(p) + (p.part<sparse_part>().has_jacobi ? "+jacobi" : "") + text_of_layout(p)};
}

void read(const name_part& pattern, const name_part& type, problem_spec& problem) {
  constexpr std::string_view expected = "a grid, the entries of a row and iterations, such as grid:x7:i16";
  const auto [matrix, iterations] = pattern.cut_at_last(":i");
  if (!iterations) pattern.refuse(expected);
  problem.part<sparse_part>().iterations =
      iterations->number(1, most_iterations, "a number of iterations from 1 to 1000000");
  problem.part<sparse_part>().nonzeros = nonzero_pattern::grid;
  problem.part<sparse_part>().entries_of_a_row =
      matrix.behind("grid:x", expected).number(1, ~std::uint64_t{0}, "the entries of a row");
  require_grid(matrix, problem);
  read_type(type, problem, {{"jacobi", &sparse_part::has_jacobi}},
            "part of a system's type: jacobi, f64_sums, row_ends");
}

std::string text(const problem_spec& p) {
  return fmt::format("{} iterations with {}, {}", p.part<sparse_part>().iterations,
                     p.part<sparse_part>().has_jacobi ? "Jacobi" : "no preconditioner",
                     entry_named("spmv").text(product_in(p)));
}

std::vector<fact> facts(const problem_spec& p) {
  std::vector<fact> all{{"iterations", p.part<sparse_part>().iterations},
                        {"preconditioner", std::string(p.part<sparse_part>().has_jacobi ? "jacobi" : "none")}};
  for (fact& f : entry_named("spmv").facts(product_in(p))) {
    if (f.name != "product") all.push_back(std::move(f));
  }
  return all;
}

row_labels labels(const problem_spec& problem) {
  const std::string system =
      fmt::format("grid, {} a row, {}{}{}{}, {} iterations", problem.part<sparse_part>().entries_of_a_row,
                  text_of_types(problem), problem.part<sparse_part>().has_jacobi ? ", Jacobi" : "",
                  problem.part<sparse_part>().sums == spmv_sums::f64 ? ", sums f64" : "",
                  problem.part<sparse_part>().has_row_ends ? ", rows with ends of their own" : "",
                  problem.part<sparse_part>().iterations);
  return {fmt::format("conjugate gradient by a matrix of {} entries, {}", count_text(problem.count), system),
          {{system}}};
}

conjugate_gradient_options options_of(const problem_spec& problem, std::string_view variant) {
  return {.tolerance = 0,
          .iteration_limit = problem.part<sparse_part>().iterations,
          .preconditioner = problem.part<sparse_part>().has_jacobi ? preconditioner::jacobi : preconditioner::none,
          .sums = problem.part<sparse_part>().sums,
          .pattern = problem.access,
          .keeps_last = true,
          .variant = variant};
}

// The library prices one iteration.
void price_all_iterations(const problem_spec& p, std::vector<variant_estimate>& all) {
  const auto iterations = static_cast<double>(p.part<sparse_part>().iterations);
  for (variant_estimate& estimate : all) {
    estimate.seconds *= iterations;
    for (cost_term& term : estimate.terms) term.seconds *= iterations;
  }
}

explanation explain(const context& ctx, const problem_spec& p, std::string_view variant) {
  require_rows(p);
  const jobs::product_views v = jobs::views_of_product(p, {});
  explanation why = explain_conjugate_gradient(ctx, v.a, v.x, v.y, options_of(p, variant));
  price_all_iterations(p, why.variants);
  return why;
}

conjugate_gradient_problem problem_of(const problem_spec& p, backend_kind backend) {
  return {.product = product_of(p, backend), .has_jacobi = p.part<sparse_part>().has_jacobi, .keeps_last = true};
}

std::vector<variant_estimate> estimates(const problem_spec& p, backend_kind backend, const machine& profile) {
  auto all = estimates_by<problem_of, conjugate_gradient_variants>(p, backend, profile);
  price_all_iterations(p, all);
  return all;
}

access_pattern hint_of_system(const problem_spec& p) { return hint(product_in(p)); }

}  // namespace
}  // namespace sheaf::primitives

// The job of conjugate_gradient: a Laplacian of a grid plus a multiple of the identity, whose entries are functions of
// their place, so that the check goes over the true residual without the arrays of the matrix and of the right side.
namespace sheaf::jobs {
namespace {

using primitives::product_in;
using primitives::sparse_part;

/// The largest eigenvalue of a generated matrix over its least.
constexpr double condition = 5;
constexpr std::uint64_t least_judged_iterations = 8;

/// The most that the residual may be of the right side's size: what is proven of the method (Saad 2003, section 6.11),
/// from one of 2-norms of residuals and errors in the matrix's norm, and rounding.
double most_residual(const problem_spec& problem) {
  const double rate = (std::sqrt(condition) - 1) / (std::sqrt(condition) + 1);
  const double precision =
      problem.value == value_type::f32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  constexpr double roundings = 128;
  return 2 * std::sqrt(condition) * std::pow(rate, static_cast<double>(problem.part<sparse_part>().iterations)) +
         roundings * precision;
}

array_shapes shapes(const problem_spec& problem) {
  const problem_spec product = product_in(problem);
  array_shapes all = job_of(product).shapes(product);
  all[places::source].contents += ", right side of a system";
  all[places::index].contents += " of a system";
  all[sparse_places::values].contents +=
      fmt::format(" of a system, {} a row", problem.part<sparse_part>().entries_of_a_row);
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) {
  const problem_spec product = product_in(p);
  return p.part<sparse_part>().iterations * job_of(product).moved_bytes(product);
}

std::string unchecked(const problem_spec& p) {
  if (p.part<sparse_part>().iterations < least_judged_iterations) return "so few iterations prove nothing";
  const problem_spec product = product_in(p);
  return job_of(product).unchecked(product);
}

void fill_array(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place, records array) {
  const system_source source{source_of_matrix(problem, copy)};
  if (place == places::source) {
    over_items(ctx, array.count, fill_right_side{source, array.data});
  } else if (place == places::index) {
    over_items(ctx, array.count, fill_system_columns{source, array.data});
  } else if (place == sparse_places::values) {
    over_items(ctx, array.count, fill_system_values{source, array.data});
  } else {
    const problem_spec product = product_in(problem);
    job_of(product).fill(ctx, product, copy, place, array);
  }
}

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const product_views v = views_of_product(p, arrays);
  if (v.y.count > 0) ctx.state().fill(v.y.data, 0, v.y.count * bytes(v.y.type));
  conjugate_gradient(ctx, v.a, v.x, v.y, primitives::options_of(p, settings.variant));
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const system_source source{source_of_matrix(p, 0)};
  const std::uint64_t rows = primitives::rows_of_matrix(p);
  const std::uint64_t b_squared = over_items(ctx, rows, square_of_right_side{source}).sum;
  const double most = most_residual(p);
  const double most_squared = most * most * static_cast<double>(b_squared);
  const tally found = over_items(ctx, rows, share_of_residual{source, arrays[places::target].data, most_squared});
  return found.mismatches + (found.sum > share_of_residual::whole ? 1 : 0);
}

/// Conjugate gradient as the textbook has it.
template <class Value, class Sum, class Column, class Offset>
struct solver_loop {
  product_views views;
  int threads;
  std::uint64_t iterations;
  bool has_jacobi;

  void operator()() const {
    const std::uint64_t n = views.a.rows;
    const auto* const b = static_cast<const Value*>(views.x.data);
    auto* const x = static_cast<Value*>(views.y.data);
    std::vector<Value> r(b, b + n);
    std::vector<Value> z(n);
    std::vector<Value> q(n);
    std::fill_n(x, n, Value{0});
    const std::vector<Value> scale = has_jacobi ? inverse_diagonal() : std::vector<Value>(n, Value{1});
    double size = scale_and_dot(scale, r, z);
    std::vector<Value> d = z;
    for (std::uint64_t i = 0; i < iterations && size > 0; ++i) {
      const auto alpha = static_cast<Value>(size / multiply_and_dot(d, q));
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
      for (std::uint64_t row = 0; row < n; ++row) {
        x[row] += alpha * d[row];
        r[row] -= alpha * q[row];
      }
      const double next = scale_and_dot(scale, r, z);
      const auto beta = static_cast<Value>(next / size);
      size = next;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
      for (std::uint64_t row = 0; row < n; ++row) d[row] = z[row] + beta * d[row];
    }
  }

 private:
  const Offset* begins() const { return static_cast<const Offset*>(views.a.row_begins.data); }
  const Offset* ends() const {
    return views.a.has_row_ends ? static_cast<const Offset*>(views.a.row_ends.data) : begins() + 1;
  }
  const Column* columns() const { return static_cast<const Column*>(views.a.column_indices.data); }
  const Value* entries() const { return static_cast<const Value*>(views.a.values.data); }

  std::vector<Value> inverse_diagonal() const {
    std::vector<Value> inverse(views.a.rows);
    for (std::uint64_t row = 0; row < views.a.rows; ++row) {
      Value sum = 0;
      for (std::uint64_t i = begins()[row]; i < ends()[row]; ++i) sum += columns()[i] == row ? entries()[i] : Value{0};
      inverse[row] = 1 / sum;
    }
    return inverse;
  }

  // q = A d, and d . q
  double multiply_and_dot(const std::vector<Value>& d, std::vector<Value>& q) const {
    double dot = 0;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : dot)
    for (std::uint64_t row = 0; row < views.a.rows; ++row) {
      Sum sum = 0;
      for (std::uint64_t i = begins()[row]; i < ends()[row]; ++i)
        sum += static_cast<Sum>(entries()[i]) * d[columns()[i]];
      q[row] = static_cast<Value>(sum);
      dot += static_cast<double>(d[row]) * static_cast<double>(q[row]);
    }
    return dot;
  }

  // z = r times the scale, and r . z
  double scale_and_dot(const std::vector<Value>& scale, const std::vector<Value>& r, std::vector<Value>& z) const {
    double dot = 0;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : dot)
    for (std::uint64_t row = 0; row < views.a.rows; ++row) {
      z[row] = scale[row] * r[row];
      dot += static_cast<double>(r[row]) * static_cast<double>(z[row]);
    }
    return dot;
  }
};

template <class Value, class Sum>
plain_call loop_of(const context& ctx, const problem_spec& problem, const array_set& arrays) {
  return with_index_type(problem.index, [&]<class Column>(std::type_identity<Column>) {
    return with_index_type(
        problem.part<sparse_part>().offset, [&]<class Offset>(std::type_identity<Offset>) -> plain_call {
          return solver_loop<Value, Sum, Column, Offset>{views_of_product(problem, arrays), ctx.threads(),
                                                         problem.part<sparse_part>().iterations,
                                                         problem.part<sparse_part>().has_jacobi};
        });
  });
}

plain_call plain_solver(const context& ctx, const problem_spec& p, const array_set& arrays) {
  if (p.value == value_type::f64) return loop_of<double, double>(ctx, p, arrays);
  return p.part<sparse_part>().sums == spmv_sums::f64 ? loop_of<float, double>(ctx, p, arrays)
                                                      : loop_of<float, float>(ctx, p, arrays);
}

constexpr sample samples[] = {{"conjugate_gradient/grid:x7:i16/r8/u32+f64"},
                              {"conjugate_gradient/grid:x27:i16/r4/u32+f32+jacobi"}};

}  // namespace

const job conjugate_gradient_job{.samples = samples,
                                 .shapes = shapes,
                                 .moved_bytes = moved_bytes,
                                 .unchecked = unchecked,
                                 .fill = fill_array,
                                 .run = run,
                                 .count_mistakes = mistakes,
                                 .plain_loop = plain_solver};

}  // namespace sheaf::jobs

namespace sheaf::primitives {

extern const entry conjugate_gradient_entry{
    .name = conjugate_gradient_call,
    .family = "sparse",
    .fields = taken,
    .example = "--count 100000000 --rows 6000000 --value-type f64 --jacobi --pattern random",
    .write = write,
    .read = read,
    .text = text,
    .facts = facts,
    .labels = labels,
    .explain = explain,
    .estimates = estimates,
    .has_variants = any_works_on<conjugate_gradient_variants>,
    .hint = hint_of_system,
    .job = &jobs::conjugate_gradient_job};

}  // namespace sheaf::primitives
