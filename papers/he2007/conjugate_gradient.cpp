#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "apps/sheaf/checks/solution.hpp"
#include "apps/sheaf/nas.hpp"
#include "lab/peers/sparse/cublas_solver.hpp"
#include "lab/peers/sparse/eigen.hpp"
#include "papers/he2007/composed_solution.hpp"
#include "papers/he2007/sparse_system.hpp"
#include "papers/he2007/two_step.hpp"
#include "papers/step_clock.hpp"

// Figures 19 and 20: conjugate gradient. The library's call has the products inside; the share of the products is that
// of a composed run, in which they are timed as they are made. So it cannot pass all of the time.
namespace sheaf::bench::papers::he2007 {
namespace {

bool has_transfers(const session& s) { return !jobs::works_in_place(s.ctx); }

template <class Value>
void begin_with_zero(const sparse_system<Value>& of) {
  of.session.ctx.state().fill(of.to().data, 0, of.matrix.rows * sizeof(Value));
}

template <class Value>
const_values host_b(const sparse_system<Value>& of) {
  return {of.ones.data(), of.matrix.rows, of.type};
}

/// What is wrong with a solution: less than all iterations, a residual that exact sums do not have, or that is no
/// better than that of x = 0.
template <class Value>
std::optional<std::string> solution_mistake(const sparse_system<Value>& of, const conjugate_gradient_result& solved,
                                            const std::vector<Value>& x) {
  if (solved.iterations != iterations_of_a_system) {
    return fmt::format("{} after {} iterations, not {}", name(solved.reason), solved.iterations,
                       iterations_of_a_system);
  }
  auto mistake = jobs::solution_mistake(of.in_host, host_b(of), x, solved.residual, of.threads());
  if (!mistake && !(solved.residual <= solved.b_norm)) {
    mistake = fmt::format("|b - A x| is {}, and |b| is {}", solved.residual, solved.b_norm);
  }
  return mistake;
}

/// A solution whose products are timed, by one kind of product.
struct composed_time {
  double seconds = 0;
  double product_seconds = 0;
  std::uint64_t products = 0;  ///< of a solution

  std::vector<std::string> cells(std::uint64_t nonzeros) const {
    if (seconds <= 0) return {"-", "-", "-"};
    return {time_text(seconds), percent_text(product_seconds / seconds),
            product_rate(product_seconds, nonzeros, products)};
  }
};

/// How often a solution is timed that takes about so long.
int calls_of(run_size size, double seconds) {
  constexpr double long_seconds = 0.1;
  if (size == run_size::tiny) return 1;
  if (size == run_size::small) return seconds > long_seconds ? 1 : 3;
  return 5;
}

/// @param usual  the seconds of the library's call, which say how often this one is timed
template <class Value>
composed_time composed(const sparse_system<Value>& of, const std::string& who, const product_call& product,
                       double usual) {
  using clock = step_clock<solve_step, solve_steps>;
  composed_time found;
  measured_or_left_out(of, who, [&] {
    conjugate_gradient_result solved;
    const product_call counted = [&](const_values v, values w) {
      ++found.products;
      product(v, w);
    };
    const auto solve = [&](clock& c) {
      found.products = 0;
      begin_with_zero(of);
      solved =
          composed_solution(of.session.ctx, counted, of.b(), of.to(), iterations_of_a_system, {&c, clock::step_done});
    };
    const auto times = median_steps<solve_step, solve_steps>(of.session, solve, calls_of(of.session.size, usual));
    const auto mistake = solution_mistake(of, solved, of.result.read());
    found.seconds = of.note(who, {times.total, times.total, times.total, 1}, mistake);
    const timing& of_products = times.spread[static_cast<std::size_t>(solve_step::product)];
    found.product_seconds = of.note(who + ": products", of_products, mistake);
  });
  return found;
}

/// The fastest peer, with a solution that is about as good as ours. What peers make of a matrix of a file is not
/// judged: they keep the last x, which may be worse than others.
template <class Value>
std::vector<std::string> peer_cells(const sparse_system<Value>& of, double our_seconds, double our_residual) {
  if (of.run.request.no_peer) return {"-", "-", "-"};
  const papers::session& s = of.session;
  const peers::solver_terms terms{false, 0, iterations_of_a_system, s.ctx.threads()};
  std::vector<peers::named_solver> all;
  if (s.ctx.backend() == backend_kind::cuda) {
    all = peers::cublas_solvers(s.ctx, of.a(), of.b(), of.to(), terms);
  } else if (auto eigen = peers::eigen_solver(of.a(), of.b(), of.to(), terms)) {
    all.push_back({fmt::format("eigen, {} thread{}", s.ctx.threads(), s.ctx.threads() == 1 ? "" : "s"), eigen});
  }
  const double rounding = std::numeric_limits<Value>::epsilon() * std::sqrt(static_cast<double>(of.matrix.rows));
  std::string fastest = "-";
  double least = 0;
  for (const peers::named_solver& peer : all) {
    of.result.wipe();
    const timing time = time_of_call(s, [&] { peer.run(); });
    const double residual = jobs::residual_of(of.in_host, host_b(of), of.result.read(), of.threads());
    const bool is_right = !of.input.is_made || residual <= 10 * our_residual + 10 * rounding;
    const double seconds = of.note(
        "conjugate gradient by " + peer.who, time,
        is_right ? std::nullopt : std::optional(fmt::format("|b - A x| is {}, ours {}", residual, our_residual)));
    if (least > 0 && seconds >= least) continue;
    least = seconds;
    fastest = peer.who;
  }
  if (least <= 0) return {"-", "-", "-"};
  return {fastest, time_text(least), our_seconds > 0 ? ratio_text(least / our_seconds) : "-"};
}

/// An array of the matrix or a vector, which goes from the host to where it is.
struct sent_array {
  void* there;
  std::uint64_t bytes;
};

/// The matrix and b from the host, 25 iterations, and x to the host, as the paper's times have them.
template <class Value>
double with_transfers(const sparse_system<Value>& of) {
  const papers::session& s = of.session;
  const csr_view& a = of.a();
  const std::uint64_t vector_bytes = of.matrix.rows * sizeof(Value);
  const sent_array sent[] = {
      {const_cast<void*>(a.row_begins.data), a.row_begins.count * bytes(a.row_begins.type)},
      {const_cast<void*>(a.column_indices.data), a.column_indices.count * bytes(a.column_indices.type)},
      {const_cast<void*>(a.values.data), a.values.count * sizeof(Value)},
      {const_cast<void*>(of.b().data), vector_bytes}};
  std::uint64_t all_bytes = vector_bytes;
  for (const sent_array& array : sent) all_bytes += array.bytes;
  const std::string who = "conjugate gradient with transfers";
  if (!host_holds(all_bytes)) {
    of.say(who, "the host does not hold the matrix once more");
    return 0;
  }
  double seconds = 0;
  measured_or_left_out(of, who, [&] {
    const std::shared_ptr<std::byte[]> host = host_memory(s.ctx, all_bytes);
    const auto for_each_array = [&](auto copy) {
      std::byte* place = host.get() + vector_bytes;
      for (const sent_array& array : sent) {
        copy(array.there, place, array.bytes);
        place += array.bytes;
      }
    };
    for_each_array([&](void* there, std::byte* here, std::uint64_t size) { copy_bytes(s.ctx, here, there, size); });
    of.result.wipe();
    conjugate_gradient_result solved;
    const timing time = time_of_call(s, [&] {
      for_each_array([&](void* there, std::byte* here, std::uint64_t size) { copy_bytes(s.ctx, there, here, size); });
      begin_with_zero(of);
      solved =
          conjugate_gradient(s.ctx, a, of.b(), of.to(), {.tolerance = 0, .iteration_limit = iterations_of_a_system});
      copy_bytes(s.ctx, host.get(), of.to().data, vector_bytes);
    });
    std::vector<Value> x(of.matrix.rows);
    std::memcpy(x.data(), host.get(), vector_bytes);
    seconds = of.note(who, time, solution_mistake(of, solved, x));
  });
  return seconds;
}

/// The library's call on one thread of the CPU, or 0. The paper has its CPU's threads beside one.
template <class Value>
double on_one_thread(const sparse_system<Value>& of) {
  double seconds = 0;
  const std::string who = "conjugate gradient on one thread";
  measured_or_left_out(of, who, [&] {
    of.result.wipe();
    conjugate_gradient_result solved;
    const timing time = time_of_call(of.session, [&] {
      begin_with_zero(of);
      solved = conjugate_gradient(context::cpu(1), of.a(), of.b(), of.to(),
                                  {.tolerance = 0, .iteration_limit = iterations_of_a_system});
    });
    seconds = of.note(who, time, solution_mistake(of, solved, of.result.read()));
  });
  return seconds;
}

/// The product in two steps whose number of passes the model chooses.
template <class Value>
composed_time composed_of_two_steps(const sparse_system<Value>& of, double usual) {
  const std::uint64_t passes = modelled_passes(of.sizes(), of.run.model_of(of.session));
  std::optional<two_step_product> product;
  const std::string who =
      fmt::format("conjugate gradient composed, two steps in {} pass{}", passes, passes == 1 ? "" : "es");
  if (!measured_or_left_out(of, who, [&] { product.emplace(of.session.ctx, of.a(), passes); })) return {};
  return composed(
      of, who, [&](const_values v, values w) { (*product)(v, w); }, usual);
}

}  // namespace

std::vector<column> solve_columns(const session& s) {
  return {matrix_column(),
          "values",
          "25 its",
          "variant",
          "composed",
          "products",
          "GFLOP/s",
          "two steps",
          "products",
          "GFLOP/s",
          "peer",
          "time",
          "peer / ours",
          {"with transfers", has_transfers(s)},
          {"transfers in it", has_transfers(s)},
          {"1 thread", has_one_thread_beside(s)},
          {"1 / all", has_one_thread_beside(s)}};
}

template <class Value>
std::vector<std::string> solve_cells(const sparse_system<Value>& of, std::vector<solve_time>& times) {
  conjugate_gradient_result solved;
  double seconds = 0;
  const bool is_measured = measured_or_left_out(of, "conjugate gradient", [&] {
    of.result.wipe();
    const timing time = time_of_call(of.session, [&] {
      begin_with_zero(of);
      solved = conjugate_gradient(of.session.ctx, of.a(), of.b(), of.to(),
                                  {.tolerance = 0, .iteration_limit = iterations_of_a_system});
    });
    if (!of.input.is_made && solved.iterations != iterations_of_a_system) {
      of.say("conjugate gradient", fmt::format("{} after {} iterations", name(solved.reason), solved.iterations));
      return;
    }
    seconds = of.note("conjugate gradient by " + solved.variant, time, solution_mistake(of, solved, of.result.read()));
  });
  if (!is_measured || seconds <= 0) return {};
  std::vector<std::string> cells{of.input.name, of.type_name, time_text(seconds), solved.variant};
  const auto append = [&](const std::vector<std::string>& more) {
    cells.insert(cells.end(), more.begin(), more.end());
  };
  const product_call by_the_planner = [&](const_values v, values w) { spmv(of.session.ctx, of.a(), v, w); };
  append(composed(of, "conjugate gradient composed", by_the_planner, seconds).cells(of.matrix.entries()));
  append(composed_of_two_steps(of, seconds).cells(of.matrix.entries()));
  append(peer_cells(of, seconds, solved.residual));
  const double moved = has_transfers(of.session) ? with_transfers(of) : 0;
  append({moved > 0 ? time_text(moved) : "-", moved > 0 ? percent_text(1 - seconds / moved) : "-"});
  const double alone = has_one_thread_beside(of.session) ? on_one_thread(of) : 0;
  append({alone > 0 ? time_text(alone) : "-", alone > 0 ? ratio_text(alone / seconds) : "-"});
  times.push_back({.system = of.input.name,
                   .is_on_device = of.session.ctx.backend() == backend_kind::cuda,
                   .is_f32 = of.type == value_type::f32,
                   .seconds = seconds,
                   .seconds_with_transfers = moved});
  return cells;
}

std::vector<column> benchmark_columns(const session& s) {
  return {"class",
          "values",
          "iterations",
          "zeta",
          "official",
          "verification",
          "time",
          "Mop/s",
          "variant",
          {"with transfers", has_transfers(s)},
          {"transfers in it", has_transfers(s)}};
}

template <class Value>
std::vector<std::string> benchmark_cells(const sparse_system<Value>& of, std::string_view class_name,
                                         std::vector<solve_time>& times) {
  const jobs::nas_class& nas = jobs::nas_class_named(class_name);
  std::vector<std::string> cells{std::string(class_name), of.type_name, fmt::to_string(nas.iterations)};
  jobs::nas_answer answer;
  if (!measured_or_left_out(of, "the benchmark", [&] { answer = jobs::run_nas(of.session.ctx, nas, of.matrix); })) {
    cells.resize(benchmark_columns(of.session).size(), "-");
    return cells;
  }
  std::optional<std::string> mistake;
  if (!answer.is_right) mistake = fmt::format("zeta is {:.13f}, not {:.13f}", answer.zeta, nas.zeta);
  if (answer.reason != stop_reason::limit) mistake = fmt::format("a system ended early: {}", name(answer.reason));
  of.note("the whole benchmark by " + answer.variant, {answer.seconds, answer.seconds, answer.seconds, 1}, mistake,
          answer.loading_seconds, std::abs(answer.zeta - nas.zeta) / nas.zeta);
  const double moved = answer.seconds + answer.loading_seconds;
  const char* const verified = of.type == value_type::f64 ? "official" : "unofficial";
  cells.insert(cells.end(),
               {fmt::format("{:.10f}", answer.zeta), fmt::format("{:.10f}", nas.zeta), mistake ? "WRONG" : verified,
                time_text(answer.seconds), fmt::format("{:.0f}", answer.mop_per_second), answer.variant,
                time_text(moved), percent_text(answer.loading_seconds / moved)});
  times.push_back({.system = of.input.name + ", all iterations",
                   .is_on_device = of.session.ctx.backend() == backend_kind::cuda,
                   .is_f32 = of.type == value_type::f32,
                   .seconds = answer.seconds,
                   .seconds_with_transfers = moved});
  return cells;
}

template std::vector<std::string> solve_cells<float>(const sparse_system<float>&, std::vector<solve_time>&);
template std::vector<std::string> solve_cells<double>(const sparse_system<double>&, std::vector<solve_time>&);
template std::vector<std::string> benchmark_cells<float>(const sparse_system<float>&, std::string_view,
                                                         std::vector<solve_time>&);
template std::vector<std::string> benchmark_cells<double>(const sparse_system<double>&, std::string_view,
                                                          std::vector<solve_time>&);

}  // namespace sheaf::bench::papers::he2007
