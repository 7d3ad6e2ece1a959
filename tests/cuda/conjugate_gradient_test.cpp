// Conjugate gradient on CUDA has the same bits in every run and on every stream, does a fixed number of iterations in a
// captured graph, sums rows of any length, and tells of iterations as often as it is asked to.
#include <sheaf/conjugate_gradient.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/machine.hpp>
#include <sheaf/memory.hpp>

#include "apps/sheaf/nas.hpp"
#include "support/captured_graph.hpp"
#include "support/expect_error.hpp"
#include "support/trials/system.hpp"

namespace sheaf::tests::cuda_conjugate_gradient_test {
namespace {

double zero(std::uint64_t) { return 0; }

/// A dense first row and column, which one block sums.
sparse_rows arrow(std::uint64_t n) {
  sparse_rows m{"arrow", n, {}};
  m.rows.resize(n);
  m.rows[0].push_back({0, static_cast<double>(n)});
  for (std::uint64_t i = 1; i < n; ++i) {
    m.rows[0].push_back({i, -0.5});
    m.rows[i] = {{0, -0.5}, {i, 2 + static_cast<double>(i % 7)}};
  }
  return m;
}

class ConjugateGradientOfADevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  /// The others look at something on the host before they go on.
  bool can_be_captured() const { return GetParam() == "cuda.persistent" || GetParam() == "cuda.streamed"; }
  std::optional<context> ctx;
};

std::vector<std::string> cuda_solver_names() {
  std::vector<std::string> names;
  for (const auto& v : primitives::conjugate_gradient_variants()) {
    if (v.name.starts_with("cuda.")) names.emplace_back(v.name);
  }
  return names;
}

TEST_P(ConjugateGradientOfADevice, HasTheSameBitsInAHundredRunsAndOnEveryStream) {
  for (const value_type type : {value_type::f32, value_type::f64}) {
    for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
      const csr_images images(dominant_at_random(20'000, 9), {.value = type});
      const conjugate_gradient_options o{.tolerance = 1e-5, .preconditioner = scaling, .variant = GetParam()};
      std::optional<solved_system> first;
      for (int run = 0; run < 100; ++run) {
        const std::optional<context> other = run % 10 == 0 ? cuda_context() : std::nullopt;
        const context& where = other ? *other : *ctx;
        const placed_csr a(where, images);
        const solved_system found = solve_placed(where, a.view(), y_at, x_at, o);
        if (!first) first = found;
        EXPECT_TRUE(found.result.converged());
        EXPECT_EQ(found.history, first->history);
        expect_bytes(found.x.bytes, first->x, fmt::format("run {}", run));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(ConjugateGradientOfADevice, SumsRowsOfAnyLength) {
  for (const value_type type : {value_type::f32, value_type::f64}) {
    const sparse_rows m = arrow(60'000);
    const csr_images images(m, {.value = type});
    const placed_csr a(*ctx, images);
    const double tolerance = type == value_type::f32 ? 1e-5 : 1e-10;
    const solved_system found =
        solve_placed(*ctx, a.view(), y_at, zero, {.tolerance = tolerance, .variant = GetParam()});
    EXPECT_TRUE(found.result.converged()) << name(found.result.reason);
    EXPECT_LE(residual_of(m, y_at, found.x, type), 2 * tolerance * found.result.b_norm);
  }
}

TEST_P(ConjugateGradientOfADevice, NamesABadColumnOfALongRow) {
  csr_images images(arrow(60'000), {});
  set_entry(images.column_indices, 50'001, 70'000);
  const placed_csr a(*ctx, images);
  const image b = numbers(60'000, value_type::f64, y_at, false);
  const image x = numbers(60'000, value_type::f64, zero, true);
  const placed placed_b(*ctx, b);
  const placed placed_x(*ctx, x);
  expect_error(error_code::bad_index,
               "conjugate_gradient: column_indices[50001], of row 0, is 70000, past the matrix's 60000 columns", [&] {
                 conjugate_gradient(*ctx, a.view(), const_values_of(placed_b.view(), value_type::f64),
                                    values_of(placed_x.view(), value_type::f64), {.variant = GetParam()});
               });
  expect_bytes(placed_x.download(), x, "x");
}

// Where b is 0 nobody has to look at the matrix. Who does, and finds a wrong row, leaves x as it was.
TEST_P(ConjugateGradientOfADevice, LeavesXAloneWhereARowIsWrongAndNothingIsToBeDone) {
  csr_images images(arrow(60'000), {});
  set_entry(images.begins, 50, ~std::uint64_t{0});
  const placed_csr a(*ctx, images);
  const image b = numbers(60'000, value_type::f64, zero, false);
  const image x = numbers(60'000, value_type::f64, x_at, true);
  const placed placed_b(*ctx, b);
  const placed placed_x(*ctx, x);
  bool is_found = false;
  try {
    conjugate_gradient(*ctx, a.view(), const_values_of(placed_b.view(), value_type::f64),
                       values_of(placed_x.view(), value_type::f64), {.variant = GetParam()});
  } catch (const error& e) {
    EXPECT_EQ(e.code(), error_code::bad_index);
    is_found = true;
  }
  expect_bytes(placed_x.download(), is_found ? x : numbers(60'000, value_type::f64, zero, true), "x");
}

TEST_P(ConjugateGradientOfADevice, TellsOfIterationsAsOftenAsItIsAskedTo) {
  const csr_images images(laplacian(16), {});
  const placed_csr a(*ctx, images);
  std::vector<std::uint64_t> told;
  conjugate_gradient_options o{.tolerance = 1e-12, .variant = GetParam()};
  o.progress_interval = 7;
  o.progress = [&](const conjugate_gradient_progress& p) {
    told.push_back(p.iterations);
    return p.iterations < 21;
  };
  const solved_system found = solve_placed(*ctx, a.view(), y_at, zero, o);
  EXPECT_EQ(found.result.reason, stop_reason::stopped);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 7, 14, 21}));
  if (GetParam() != "cuda.separate") {
    EXPECT_EQ(found.result.iterations, 21U);
  }
  EXPECT_EQ(found.history.size(), found.result.iterations + 1);
}

TEST_P(ConjugateGradientOfADevice, KeepsTheHistoryOfManyIterations) {
  const csr_images images(badly_scaled(8), {});
  const placed_csr a(*ctx, images);
  const solved_system found = solve_placed(
      *ctx, a.view(), y_at, zero, {.tolerance = 0, .iteration_limit = 2500, .keeps_last = true, .variant = GetParam()});
  EXPECT_EQ(found.history.size(), found.result.iterations + 1);
  EXPECT_EQ(found.history[0], found.result.b_norm);
}

/// What a graph is asked for, and how a call ends that is asked for as much.
struct graph_case {
  double tolerance;
  std::uint64_t limit;
  bool keeps_last;
  stop_reason reason;
};

/// Iterations that the limit ends, with the last x and the best one, and such that a confirmation ends.
std::vector<graph_case> graph_cases(value_type type) {
  const double tolerance = type == value_type::f32 ? 1e-3 : 1e-6;
  return {{0, 12, true, stop_reason::limit},
          {0, 12, false, stop_reason::limit},
          {tolerance, 150, false, stop_reason::converged}};
}

/// A graph of solve(b, x) gives the x that solve itself gives: from 0, from another start value, and with nothing to
/// solve.
template <class Value>
void expect_graph_does_what_the_call_does(const context& ctx, std::uint64_t n, stop_reason reason,
                                          const std::function<conjugate_gradient_result(const_values, values)>& solve) {
  const buffer b(ctx, n * sizeof(Value));
  const buffer x(ctx, n * sizeof(Value));
  const value_type type = value_type_of<Value>();
  const const_values from(b.data(), n, type);
  const values to(x.data(), n, type);
  const captured_graph graph(ctx, [&] { solve(from, to); });
  for (int run = 0; run < 3; ++run) {
    std::vector<Value> right(n, 0);
    std::vector<Value> start(n, 0);
    for (std::uint64_t i = 0; i < n; ++i) {
      if (run != 2) right[i] = static_cast<Value>(y_at(i));
      if (run != 0) start[i] = static_cast<Value>(x_at(i));
    }
    const auto x_after = [&](auto work) {
      copy_bytes(ctx, b.data(), right.data(), n * sizeof(Value));
      copy_bytes(ctx, x.data(), start.data(), n * sizeof(Value));
      work();
      std::vector<Value> found(n);
      copy_bytes(ctx, found.data(), x.data(), n * sizeof(Value));
      ctx.wait();
      return found;
    };
    const auto expected =
        x_after([&] { EXPECT_EQ(solve(from, to).reason, run == 2 ? stop_reason::converged : reason); });
    EXPECT_EQ(x_after([&] { graph.launch(); }), expected) << "run " << run;
  }
}

template <class Value>
void expect_graphs_of_a_matrix(const context& ctx, const std::string& variant) {
  constexpr std::uint64_t n = 16 * 16 * 16;
  const value_type type = value_type_of<Value>();
  const csr_images images(laplacian(16), {.value = type});
  const placed_csr a(ctx, images);
  for (const graph_case c : graph_cases(type)) {
    for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
      SCOPED_TRACE(fmt::format("{} bytes, at most {} iterations to {}, preconditioner {}", bytes(type), c.limit,
                               c.tolerance, static_cast<int>(scaling)));
      const conjugate_gradient_options o{.tolerance = c.tolerance,
                                         .iteration_limit = c.limit,
                                         .preconditioner = scaling,
                                         .keeps_last = c.keeps_last,
                                         .variant = variant};
      expect_graph_does_what_the_call_does<Value>(ctx, n, c.reason, [&](const_values from, values to) {
        const conjugate_gradient_result result = conjugate_gradient(ctx, a.view(), from, to, o);
        EXPECT_EQ(result.variant, variant);
        return result;
      });
    }
  }
}

TEST_P(ConjugateGradientOfADevice, DoesAFixedNumberOfIterationsInACapturedGraph) {
  if (!can_be_captured()) GTEST_SKIP() << "waits for the host";
  expect_graphs_of_a_matrix<double>(*ctx, GetParam());
  expect_graphs_of_a_matrix<float>(*ctx, GetParam());
}

TEST_P(ConjugateGradientOfADevice, SaysWhatAGraphCannotHave) {
  constexpr std::uint64_t n = 512;
  const csr_images images(laplacian(8), {});
  const placed_csr a(*ctx, images);
  const buffer b(*ctx, n * 8);
  const buffer x(*ctx, n * 8);
  const auto message = [&](error_code code, const conjugate_gradient_options& o) {
    return message_of(code, [&] {
      const captured_graph graph(*ctx, [&] {
        conjugate_gradient(*ctx, a.view(), const_values(b.data(), n, value_type::f64),
                           values(x.data(), n, value_type::f64), o);
      });
    });
  };
  std::vector<double> history;
  EXPECT_EQ(
      message(error_code::bad_argument, {.variant = GetParam()}),
      "conjugate_gradient: the stream is being captured into a graph, which needs an iteration_limit of at most 65536");
  EXPECT_EQ(message(error_code::bad_argument, {.iteration_limit = 5, .history = &history, .variant = GetParam()}),
            "conjugate_gradient: the stream is being captured into a graph, which allows neither history nor progress");
  if (can_be_captured()) return;
  const std::string refused = message(error_code::no_variant, {.iteration_limit = 5, .variant = GetParam()});
  const bool looks_once = GetParam() == "cuda.sliced";
  EXPECT_NE(refused.find(looks_once ? "a capture cannot wait" : "waits for the host in each iteration"),
            std::string::npos)
      << refused;
}

INSTANTIATE_TEST_SUITE_P(All, ConjugateGradientOfADevice, testing::ValuesIn(cuda_solver_names()), test_name_of);

TEST(SystemOperatorsOfADevice, AreSolvedAsTheirMatricesAre) {
  const std::optional<context> ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t n = 4096;
  const sparse_rows m = laplacian(16);
  const csr_images images(m, {});
  const placed_csr a(*ctx, images);
  const std::vector<double> ones(n, 1);
  const std::vector<double> sixes(n, 6);
  const buffer b(*ctx, n * 8);
  const buffer diagonal(*ctx, n * 8);
  const buffer x(*ctx, n * 8);
  copy_bytes(*ctx, b.data(), ones.data(), n * 8);
  copy_bytes(*ctx, diagonal.data(), sixes.data(), n * 8);
  const const_values right(b.data(), n, value_type::f64);
  const values to(x.data(), n, value_type::f64);
  std::uint64_t applied = 0;
  std::uint64_t throws_at = ~std::uint64_t{0};
  const linear_operator product = [&](const context& where, const_values in, values out) {
    if (++applied == throws_at) throw std::runtime_error("no more");
    spmv(where, a.view(), in, out, {.variant = "cuda.rows"});
  };
  const auto x_after = [&](auto solve) {
    const std::vector<double> start(n, 0);
    copy_bytes(*ctx, x.data(), start.data(), n * 8);
    solve();
    std::vector<double> found(n);
    copy_bytes(*ctx, found.data(), x.data(), n * 8);
    return found;
  };
  for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
    conjugate_gradient_options o{.preconditioner = scaling, .variant = "cuda.separate"};
    conjugate_gradient_result expected;
    const auto by_matrix = x_after([&] { expected = conjugate_gradient(*ctx, a.view(), right, to, o); });
    if (scaling == preconditioner::jacobi) o.diagonal = const_values(diagonal.data(), n, value_type::f64);
    applied = 0;
    conjugate_gradient_result found;
    const auto by_operator = x_after([&] { found = conjugate_gradient(*ctx, product, right, to, o); });
    EXPECT_TRUE(found.converged());
    EXPECT_EQ(found.iterations, expected.iterations);
    EXPECT_EQ(applied, found.iterations + 1);
    EXPECT_EQ(by_operator, by_matrix);
  }
  const auto after_three = x_after(
      [&] { conjugate_gradient(*ctx, product, right, to, {.iteration_limit = 3, .variant = "cuda.separate"}); });
  applied = 0;
  throws_at = 4;
  EXPECT_EQ(x_after([&] { EXPECT_THROW(conjugate_gradient(*ctx, product, right, to), std::runtime_error); }),
            after_three);
}

// A graph has as many applications as there may be iterations, and does nothing more once one of them is the last.
TEST(SystemOperatorsOfADevice, DoAFixedNumberOfIterationsInACapturedGraph) {
  const std::optional<context> ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t n = 4096;
  const csr_images images(laplacian(16), {});
  const placed_csr a(*ctx, images);
  const buffer diagonal(*ctx, n * 8);
  const std::vector<double> sixes(n, 6);
  copy_bytes(*ctx, diagonal.data(), sixes.data(), n * 8);
  std::uint64_t applied = 0;
  const linear_operator product = [&](const context& where, const_values in, values out) {
    ++applied;
    spmv(where, a.view(), in, out, {.variant = "cuda.rows"});
  };
  for (const graph_case c : graph_cases(value_type::f64)) {
    SCOPED_TRACE(c.limit);
    for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
      conjugate_gradient_options o{.tolerance = c.tolerance, .iteration_limit = c.limit, .preconditioner = scaling};
      if (scaling == preconditioner::jacobi) o.diagonal = const_values(diagonal.data(), n, value_type::f64);
      o.keeps_last = c.keeps_last;
      bool is_first = true;
      expect_graph_does_what_the_call_does<double>(*ctx, n, c.reason, [&](const_values from, values to) {
        applied = 0;
        const conjugate_gradient_result result = conjugate_gradient(*ctx, product, from, to, o);
        EXPECT_EQ(result.variant, "cuda.separate");
        if (is_first) {
          EXPECT_EQ(applied, c.limit + 2);
        }
        is_first = false;
        return result;
      });
    }
  }
}

// An operator may solve a system by an operator of its own, which a graph has inside of each application.
TEST(SystemOperatorsOfADevice, MaySolveOtherSystemsInACapturedGraph) {
  const std::optional<context> ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  constexpr std::uint64_t n = 512;
  const csr_images images(laplacian(8), {});
  const placed_csr a(*ctx, images);
  const buffer b(*ctx, n * 8);
  const buffer x(*ctx, n * 8);
  const buffer of_inner(*ctx, n * 8);
  const linear_operator inner = [&](const context& where, const_values in, values out) {
    spmv(where, a.view(), in, out, {.variant = "cuda.rows"});
  };
  const conjugate_gradient_options o{.tolerance = 0, .iteration_limit = 4, .keeps_last = true};
  const linear_operator outer = [&](const context& where, const_values in, values out) {
    conjugate_gradient(where, inner, in, values(of_inner.data(), n, value_type::f64), o);
    spmv(where, a.view(), in, out, {.variant = "cuda.rows"});
  };
  const auto solve = [&] {
    conjugate_gradient(*ctx, outer, const_values(b.data(), n, value_type::f64), values(x.data(), n, value_type::f64),
                       o);
  };
  const auto x_after = [&](auto work) {
    std::vector<double> right(n);
    for (std::uint64_t i = 0; i < n; ++i) right[i] = y_at(i);
    const std::vector<double> start(n, 0);
    copy_bytes(*ctx, b.data(), right.data(), n * 8);
    copy_bytes(*ctx, x.data(), start.data(), n * 8);
    copy_bytes(*ctx, of_inner.data(), start.data(), n * 8);
    work();
    std::vector<double> found(n);
    copy_bytes(*ctx, found.data(), x.data(), n * 8);
    ctx->wait();
    return found;
  };
  const captured_graph graph(*ctx, solve);
  const auto expected = x_after(solve);
  EXPECT_EQ(x_after([&] { graph.launch(); }), expected);
}

/// The cheapest variant for a system on the shipped profile of a CUDA device. No device is needed.
std::string planned_variant(std::uint64_t rows, std::uint64_t entries, access_pattern pattern) {
  const auto machines = shipped_machines();
  const auto device =
      std::find_if(machines.begin(), machines.end(), [](const machine& m) { return m.backend == backend_kind::cuda; });
  if (device == machines.end()) return "no profile of a CUDA device is shipped";
  primitives::conjugate_gradient_problem p;
  p.product.backend = backend_kind::cuda;
  p.product.rows = p.product.columns = rows;
  p.product.entries = entries;
  p.product.pattern = pattern;
  std::string name = "none";
  double least = std::numeric_limits<double>::infinity();
  for (const auto& v : primitives::conjugate_gradient_variants()) {
    if (v.backend != backend_kind::cuda) continue;
    const plan::planned plan = v.plan(p, plan::scope(*device));
    if (!plan.applicable() || plan.by_name_only || plan.seconds >= least) continue;
    name = v.name;
    least = plan.seconds;
  }
  return name;
}

// Blocks that wait for one another are worth it while kernels would be too short for their launches.
TEST(SystemPlansOfADevice, KeepSmallSystemsInOneKernel) {
  for (const std::string_view name : {"S", "W", "A"}) {
    const jobs::nas_class& of = jobs::nas_class_named(name);
    EXPECT_EQ(planned_variant(of.rows, of.nonzeros, access_pattern::random()), "cuda.persistent") << name;
  }
  const jobs::nas_class& large = jobs::nas_class_named("C");
  const std::string of_large = planned_variant(large.rows, large.nonzeros, access_pattern::random());
  EXPECT_NE(of_large, "cuda.persistent");
  EXPECT_TRUE(of_large.starts_with("cuda.")) << of_large;
  const std::string of_grid = planned_variant(1'000'000, 6'940'000, access_pattern::unknown());
  EXPECT_NE(of_grid, "cuda.persistent");
  EXPECT_TRUE(of_grid.starts_with("cuda.")) << of_grid;
}

}  // namespace
}  // namespace sheaf::tests::cuda_conjugate_gradient_test
