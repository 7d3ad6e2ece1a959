// Every variant of conjugate gradient solves what it says that it solved, in about as many iterations as the reference,
// with the same bits for every number of threads; and what it cannot solve ends as the header says.
#include <sheaf/conjugate_gradient.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "support/expect_error.hpp"
#include "support/trials/system.hpp"

namespace sheaf::tests::primitives_sparse_conjugate_gradient_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::conjugate_gradient_variants()) names.emplace_back(v.name);
  return names;
}

/// |b - A x| over |b| in long sums, where all numbers of b are `value`: residual_of() of numbers whose squares are
/// none.
double relative_residual(const sparse_rows& m, double value, const image& x, value_type type) {
  const long double b = type == value_type::f32 ? static_cast<float>(value) : value;
  long double squared = 0;
  for (const auto& row : m.rows) {
    long double rest = b;
    for (const csr_entry& e : row) rest -= static_cast<long double>(e.value) * number_at(x, e.column, type);
    squared += rest * rest;
  }
  return static_cast<double>(std::sqrt(squared / static_cast<long double>(m.rows.size())) / b);
}

double zero(std::uint64_t) { return 0; }
double one(std::uint64_t) { return 1; }

class EveryConjugateGradientVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  /// Solves on every context, and expects the same of all: of the CPU's in every bit.
  solved_system solve(const sparse_rows& m, const csr_layout& layout, const value_at& b_of, const value_at& x_of,
                      conjugate_gradient_options o) {
    const csr_images images(m, layout);
    o.variant = GetParam();
    solved_system first;
    for (const named_context& where : system_contexts_of(GetParam())) {
      SCOPED_TRACE(where.name);
      const placed_csr a(where.ctx, images);
      const solved_system solved = solve_placed(where.ctx, a.view(), b_of, x_of, o);
      a.expect_unchanged();
      expect_residual(m, b_of, solved, layout.value);
      if (first.x.bytes.empty()) first = solved;
      EXPECT_EQ(solved.result.reason, first.result.reason);
      if (where.ctx.backend() != backend_kind::cpu || GetParam().empty()) continue;
      EXPECT_EQ(solved.result.iterations, first.result.iterations);
      expect_bytes(solved.x.bytes, first.x, "x of another number of threads");
    }
    return first;
  }

  /// The residual that is reported is that of x.
  static void expect_residual(const sparse_rows& m, const value_at& b_of, const solved_system& s, value_type type) {
    const double exact = residual_of(m, b_of, s.x, type);
    if (!std::isfinite(exact)) {
      EXPECT_FALSE(std::isfinite(s.result.residual));
      return;
    }
    if (std::isnan(s.result.residual)) {  // the square is no number
      EXPECT_EQ(s.result.reason, stop_reason::breakdown);
      EXPECT_LT(exact, 2e-154);
      return;
    }
    const double precision = type == value_type::f32 ? 1e-5 : 1e-13;
    double size = std::isnan(s.result.b_norm) ? 0 : s.result.b_norm;
    for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
      for (const csr_entry& e : m.rows[r]) size = std::max(size, std::abs(e.value * number_at(s.x, e.column, type)));
    }
    EXPECT_NEAR(s.result.residual, exact, precision * (exact + 30 * size));
    if (s.result.converged()) {
      EXPECT_LE(s.result.residual, s.result.target);
    }
  }

  solved_system solve(const sparse_rows& m, const value_at& b_of, const conjugate_gradient_options& o = {}) {
    return solve(m, {}, b_of, zero, o);
  }
};

constexpr csr_layout layouts[] = {
    {value_type::f64, index_type::u64, index_type::u32, false},
    {value_type::f32, index_type::u32, index_type::u32, false},
    {value_type::f64, index_type::i32, index_type::i32, false},
    {value_type::f64, index_type::u32, index_type::u64, true},
    {value_type::f32, index_type::i64, index_type::i64, true},
};

TEST_P(EveryConjugateGradientVariant, SolvesSystemsOfEveryShapeAndType) {
  const sparse_rows systems[] = {laplacian(9),
                                 laplacian(16),
                                 dominant_at_random(1000, 6),
                                 badly_scaled(8),
                                 diagonal_matrix("257 rows", std::vector<double>(257, 3)),
                                 dominant_at_random(2, 1)};
  for (const sparse_rows& m : systems) {
    for (const csr_layout& layout : layouts) {
      if (layout.has_row_ends && GetParam() == "cuda.sliced") continue;  // wants rows one behind the other
      for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
        for (const spmv_sums sums : {spmv_sums::as_values, spmv_sums::f64}) {
          SCOPED_TRACE(fmt::format("{}, {}, preconditioner {}, sums {}", m.name, layout.description(),
                                   static_cast<int>(scaling), static_cast<int>(sums)));
          if (layout.value == value_type::f64 && sums == spmv_sums::f64) continue;
          if (m.name.ends_with("badly") && scaling == preconditioner::none) continue;  // takes thousands
          const double tolerance = layout.value == value_type::f32 ? 2e-5 : 1e-10;
          const conjugate_gradient_options o{.tolerance = tolerance, .preconditioner = scaling, .sums = sums};
          const solved_system solved = solve(m, layout, y_at, zero, o);
          EXPECT_TRUE(solved.result.converged()) << name(solved.result.reason) << " " << solved.result.residual;
          EXPECT_EQ(solved.history.size(), solved.result.iterations + 1);
          const csr_images images(m, layout);
          const context serial = context::cpu(1);
          const placed_csr a(serial, images);
          conjugate_gradient_options by_reference = o;
          by_reference.variant = "reference.serial";
          const auto expected = solve_placed(serial, a.view(), y_at, zero, by_reference).result.iterations;
          EXPECT_LE(solved.result.iterations, expected + expected / 5 + 2);
          EXPECT_GE(solved.result.iterations + 2, expected - expected / 5);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Rows that threads share by their pieces, two of them in one block, from a start value that is none of 0.
TEST_P(EveryConjugateGradientVariant, SolvesSystemsWithLongRows) {
  constexpr std::uint64_t n = 40'000;
  const auto is_long = [](std::uint64_t r) { return r == 300 || r == 301 || r == n - 1; };
  sparse_rows arrow = made_rows("long rows", n, n, [&](std::uint64_t r) {
    column_list c;
    for (std::uint64_t i = 0; is_long(r) && i < n; ++i) c.push_back(i);
    if (!is_long(r)) c = {300, 301, r, n - 1};
    return c;
  });
  arrow = with_values(std::move(arrow), [&](std::uint64_t r, std::uint64_t c) {
    return r == c ? (is_long(r) ? 2.0 * n : 8.0) : -1.0 - static_cast<double>((r + c) % 7) / 16;
  });
  for (const value_type type : {value_type::f64, value_type::f32}) {
    const conjugate_gradient_options o{.tolerance = type == value_type::f64 ? 1e-10 : 2e-5, .sums = spmv_sums::f64};
    const solved_system solved = solve(arrow, {.value = type}, y_at, x_at, o);
    EXPECT_TRUE(solved.result.converged()) << name(solved.result.reason) << " " << solved.result.residual;
  }
}

TEST_P(EveryConjugateGradientVariant, BeginsAtTheStartValue) {
  const sparse_rows m = laplacian(8);
  const solved_system from_zero = solve(m, y_at, {.tolerance = 1e-12});
  const auto found = [&](std::uint64_t i) { return number_at(from_zero.x, i, value_type::f64); };
  const solved_system again = solve(m, {}, y_at, found, {.tolerance = 1e-11});
  EXPECT_TRUE(again.result.converged());
  EXPECT_EQ(again.result.iterations, 0U);
  expect_bytes(again.x.bytes, from_zero.x, "x");
  const solved_system near =
      solve(m, {}, y_at, [&](std::uint64_t i) { return found(i) * 1.0001; }, {.tolerance = 1e-10});
  EXPECT_TRUE(near.result.converged());
  EXPECT_LT(near.result.iterations, from_zero.result.iterations);
}

TEST_P(EveryConjugateGradientVariant, ZeroOnTheRightIsSolvedByZero) {
  const solved_system solved = solve(laplacian(7), {}, zero, y_at, {.tolerance = 0});
  EXPECT_TRUE(solved.result.converged());
  EXPECT_EQ(solved.result.iterations, 0U);
  EXPECT_EQ(solved.result.residual, 0);
  for (std::uint64_t i = 0; i < 343; ++i) EXPECT_EQ(number_at(solved.x, i, value_type::f64), 0);
  EXPECT_EQ(solved.history, std::vector<double>{0});
}

TEST_P(EveryConjugateGradientVariant, NoRowsAreSolvedAndOneRowTakesOneIteration) {
  const solved_system none = solve(diagonal_matrix("no rows", {}), one);
  EXPECT_TRUE(none.result.converged());
  EXPECT_EQ(none.result.iterations, 0U);
  EXPECT_TRUE(none.history.empty());
  const solved_system single = solve(diagonal_matrix("one row", {4}), one);
  EXPECT_TRUE(single.result.converged());
  EXPECT_EQ(single.result.iterations, 1U);
  EXPECT_EQ(number_at(single.x, 0, value_type::f64), 0.25);
}

TEST_P(EveryConjugateGradientVariant, SaysThatAMatrixIsNotPositiveDefinite) {
  const solved_system negative = solve(diagonal_matrix("negative", {-1, -2, -3}), one);
  EXPECT_EQ(negative.result.reason, stop_reason::not_positive_definite);
  EXPECT_EQ(negative.result.iterations, 0U);
  EXPECT_DOUBLE_EQ(negative.result.residual, std::sqrt(3.0));
  const solved_system scaled =
      solve(diagonal_matrix("a value of 0", {1, 0, 3}), one, {.preconditioner = preconditioner::jacobi});
  EXPECT_EQ(scaled.result.reason, stop_reason::not_positive_definite);
  EXPECT_EQ(scaled.result.iterations, 0U);
  const solved_system indefinite = solve(diagonal_matrix("indefinite", {5, 4, -0.5, 3}), one);
  EXPECT_EQ(indefinite.result.reason, stop_reason::not_positive_definite);
  EXPECT_GT(indefinite.result.iterations, 0U);
  // Of those tried, x is the best: no worse than its start.
  EXPECT_LE(indefinite.result.residual, 2);
  const solved_system empty = solve(made_rows("no entries", 5, 5, [](std::uint64_t) { return column_list{}; }), one);
  EXPECT_EQ(empty.result.reason, stop_reason::not_positive_definite);
}

TEST_P(EveryConjugateGradientVariant, SolvesSemidefiniteSystemsInTheRangeOfTheMatrix) {
  // The Laplacian of a path: constants are mapped to 0.
  constexpr std::uint64_t last = 63;
  sparse_rows path = with_values(banded(last + 1, 1), [](std::uint64_t r, std::uint64_t c) {
    if (r != c) return -1.0;
    return r == 0 || r == last ? 1.0 : 2.0;
  });
  const auto in_range = [](std::uint64_t i) { return i == 0 ? 1.0 : i == last ? -1.0 : 0.0; };
  EXPECT_TRUE(solve(path, in_range).result.converged());
  const auto outside = [](std::uint64_t i) { return i == 0 ? 1.0 : 0.0; };
  const solved_system best = solve(path, outside, {.iteration_limit = 4 * last});
  EXPECT_FALSE(best.result.converged());
  EXPECT_LE(best.result.residual, 1);
  EXPECT_GE(best.result.residual, 1 / std::sqrt(last + 1.0) * (1 - 1e-9));  // the part that no x reaches
}

TEST_P(EveryConjugateGradientVariant, WhatIsNotFiniteIsABreakdownThatLeavesX) {
  for (const double value : {nan, infinity, 1e200, 1e-200}) {
    SCOPED_TRACE(value);
    const auto bad = [&](std::uint64_t i) { return i == 300 ? value : std::abs(value) < 1 ? 0 : 1; };
    const solved_system solved = solve(laplacian(7), {}, bad, x_at, {});
    EXPECT_EQ(solved.result.reason, stop_reason::breakdown);
    EXPECT_EQ(solved.result.iterations, 0U);
    for (std::uint64_t i = 0; i < 343; ++i) ASSERT_EQ(number_at(solved.x, i, value_type::f64), x_at(i));
  }
  const solved_system start = solve(laplacian(7), {}, one, [](std::uint64_t i) { return i == 9 ? nan : 0; }, {});
  EXPECT_EQ(start.result.reason, stop_reason::breakdown);
  sparse_rows bad = laplacian(7);
  bad.rows[100][0].value = nan;
  const solved_system matrix = solve(bad, {}, one, x_at, {});
  EXPECT_EQ(matrix.result.reason, stop_reason::breakdown);
  EXPECT_EQ(matrix.result.iterations, 0U);
}

// The square of a small residual is past the numbers of its type long before the residual is.
TEST_P(EveryConjugateGradientVariant, SmallNumbersOnTheRightAreSolvedOrABreakdown) {
  const sparse_rows path =
      with_values(banded(300, 1), [](std::uint64_t r, std::uint64_t c) { return r == c ? 2.125 : -1.0; });
  const auto all_are = [](double value) { return [value](std::uint64_t) { return value; }; };
  const auto expect_solved = [&](value_type type, double value, double tolerance) {
    SCOPED_TRACE(fmt::format("{} of {} bytes, tolerance {}", value, bytes(type), tolerance));
    for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
      const solved_system solved =
          solve(path, {.value = type}, all_are(value), zero, {.tolerance = tolerance, .preconditioner = scaling});
      EXPECT_TRUE(solved.result.converged()) << name(solved.result.reason);
      const double b_norm = std::sqrt(300.0) * value;
      EXPECT_NEAR(solved.result.b_norm, b_norm, 1e-5 * b_norm);
      EXPECT_LE(relative_residual(path, value, solved.x, type), 1.1 * tolerance);
    }
  };
  const auto expect_breakdown = [&](value_type type, double value, double tolerance) {
    SCOPED_TRACE(fmt::format("{} of {} bytes, tolerance {}", value, bytes(type), tolerance));
    const solved_system solved = solve(path, {.value = type}, all_are(value), x_at, {.tolerance = tolerance});
    EXPECT_EQ(solved.result.reason, stop_reason::breakdown);
    EXPECT_EQ(solved.result.iterations, 0U);
    for (std::uint64_t i = 0; i < 300; ++i) {
      ASSERT_EQ(number_at(solved.x, i, type), type == value_type::f32 ? static_cast<float>(x_at(i)) : x_at(i));
    }
  };
  expect_solved(value_type::f32, 1e-21, 1e-4);
  expect_solved(value_type::f32, 1e-22, 1e-4);
  expect_solved(value_type::f32, 1e-30, 1e-4);
  expect_breakdown(value_type::f32, 1e-36, 1e-4);
  expect_breakdown(value_type::f32, 1e-36, 0);
  expect_solved(value_type::f64, 1e-140, 1e-8);
  expect_breakdown(value_type::f64, 1e-160, 1e-8);
  expect_breakdown(value_type::f64, 1e-150, 1e-8);
  expect_breakdown(value_type::f64, 1e-150, 0);
}

TEST_P(EveryConjugateGradientVariant, ABreakdownHasNoNormsWhoseSquaresAreNoNumbers) {
  const sparse_rows m = diagonal_matrix("three rows", {2, 3, 4});
  for (const double value : {1e200, 1e-200}) {
    SCOPED_TRACE(value);
    const solved_system solved = solve(m, [&](std::uint64_t i) { return i == 0 ? value : 0; });
    EXPECT_EQ(solved.result.reason, stop_reason::breakdown);
    EXPECT_TRUE(std::isnan(solved.result.residual)) << solved.result.residual;
    EXPECT_TRUE(std::isnan(solved.result.b_norm)) << solved.result.b_norm;
    EXPECT_TRUE(std::isnan(solved.result.target)) << solved.result.target;
  }
  // b is small enough to be measured, and what residuals have to come down to is not.
  const solved_system solved = solve(m, [](std::uint64_t) { return 1e-150; });
  EXPECT_EQ(solved.result.reason, stop_reason::breakdown);
  EXPECT_NEAR(solved.result.residual, std::sqrt(3) * 1e-150, 1e-160);
  EXPECT_NEAR(solved.result.target, std::sqrt(3) * 1e-158, 1e-168);
}

// A residual is not 0, and what the preconditioner makes of it is.
TEST_P(EveryConjugateGradientVariant, ASumThatVanishesIsABreakdown) {
  const solved_system solved = solve(diagonal_matrix("large numbers", {1e200, 2e200}),
                                     [](std::uint64_t) { return 1e-120; }, {.preconditioner = preconditioner::jacobi});
  EXPECT_EQ(solved.result.reason, stop_reason::breakdown);
  EXPECT_EQ(solved.result.iterations, 0U);
}

TEST_P(EveryConjugateGradientVariant, TheLimitLeavesTheBestX) {
  // Without a preconditioner, residuals of a badly scaled system go up and down.
  const sparse_rows m = badly_scaled(8);
  const solved_system few = solve(m, y_at, {.tolerance = 1e-14, .iteration_limit = 60});
  ASSERT_EQ(few.result.reason, stop_reason::limit);
  EXPECT_EQ(few.result.iterations, 60U);
  ASSERT_EQ(few.history.size(), 61U);
  const double least = *std::min_element(few.history.begin(), few.history.end());
  EXPECT_LT(least, few.history.back()) << "the test wants a system whose last residual is not the least";
  EXPECT_NEAR(few.result.residual, least, 1e-9 * few.result.b_norm);
  const solved_system last = solve(m, y_at, {.tolerance = 1e-14, .iteration_limit = 60, .keeps_last = true});
  EXPECT_NEAR(last.result.residual, last.history.back(), 1e-9 * last.result.b_norm);
  EXPECT_GT(last.result.residual, few.result.residual);
  const solved_system none = solve(m, {}, y_at, x_at, {.iteration_limit = 0});
  EXPECT_EQ(none.result.reason, stop_reason::limit);
  EXPECT_EQ(number_at(none.x, 7, value_type::f64), x_at(7));
}

TEST_P(EveryConjugateGradientVariant, ToleranceIsRelativeOrAbsolute) {
  const sparse_rows m = laplacian(8);
  const solved_system absolute = solve(m, y_at, {.tolerance = 0, .absolute_tolerance = 1e-3});
  EXPECT_TRUE(absolute.result.converged());
  EXPECT_EQ(absolute.result.target, 1e-3);
  const solved_system relative = solve(m, y_at, {.tolerance = 1e-4, .absolute_tolerance = 1e-9});
  EXPECT_EQ(relative.result.target, 1e-4 * relative.result.b_norm);
  const solved_system out_of_reach = solve(m, y_at, {.tolerance = 1e-25});
  EXPECT_EQ(out_of_reach.result.reason, stop_reason::stagnated);
  EXPECT_LT(out_of_reach.result.residual, 1e-13 * out_of_reach.result.b_norm);
}

// Residuals of f32 stand still at a few times 2^-149 and never get to 0; those of f64 get there.
TEST_P(EveryConjugateGradientVariant, ATargetOfZeroEndsWhereRoundingKeepsTheResidual) {
  constexpr std::uint64_t limit = 10'000;
  const sparse_rows systems[] = {laplacian(8), dominant_at_random(300, 4), badly_scaled(6)};
  for (const sparse_rows& m : systems) {
    for (const value_type type : {value_type::f32, value_type::f64}) {
      for (const bool keeps_last : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, {}, the {} x", m.name, type == value_type::f32 ? "f32" : "f64",
                                 keeps_last ? "last" : "best"));
        const solved_system solved = solve(m, {.value = type}, y_at, zero,
                                           {.tolerance = 0,
                                            .iteration_limit = limit,
                                            .preconditioner = preconditioner::jacobi,
                                            .keeps_last = keeps_last});
        EXPECT_EQ(solved.result.reason, stop_reason::stagnated) << name(solved.result.reason);
        EXPECT_LT(solved.result.iterations, limit / 2);
        EXPECT_LT(solved.result.residual, (type == value_type::f32 ? 1e-4 : 1e-12) * solved.result.b_norm);
        EXPECT_GT(solved.result.residual, 0);
      }
    }
  }
  const solved_system exact = solve(diagonal_matrix("powers of 2", {2, 4, 8, 0.5}), {.value = value_type::f32}, one,
                                    zero, {.tolerance = 0, .preconditioner = preconditioner::jacobi});
  EXPECT_TRUE(exact.result.converged()) << name(exact.result.reason);
  EXPECT_EQ(exact.result.residual, 0);
}

// With f32 and most roundings the true residual and the direction before it cancel: the next direction is 0.
TEST_P(EveryConjugateGradientVariant, ADirectionOfZeroIsNoFaultOfTheMatrix) {
  const sparse_rows m = with_values(banded(2, 1), [](std::uint64_t r, std::uint64_t c) {
    if (r != c) return -7.0;
    return r == 0 ? 40.56623840332031 : 40.11496353149414;
  });
  const auto b = [](std::uint64_t i) { return i == 0 ? -16083.129184004923 : -5697.975084323727; };
  const solved_system solved = solve(m, {.value = value_type::f32}, b, zero, {});
  EXPECT_TRUE(solved.result.converged() || solved.result.reason == stop_reason::stagnated)
      << name(solved.result.reason);
  EXPECT_LT(solved.result.residual, 1e-6 * solved.result.b_norm);
}

TEST_P(EveryConjugateGradientVariant, TellsOfEachIterationAndStopsWhereAsked) {
  std::vector<std::uint64_t> told;
  const auto stops_at = [&](std::uint64_t last) {
    return [&told, last](const conjugate_gradient_progress& p) {
      EXPECT_GT(p.residual, p.target);
      if (p.iterations == 0) told.clear();
      told.push_back(p.iterations);
      return p.iterations < last;
    };
  };
  const solved_system solved = solve(laplacian(8), y_at, {.progress = stops_at(3)});
  EXPECT_EQ(solved.result.reason, stop_reason::stopped);
  EXPECT_EQ(solved.result.iterations, 3U);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(solve(laplacian(8), y_at, {.progress = stops_at(0)}).result.iterations, 0U);
  EXPECT_THROW(solve(laplacian(8), y_at, {.progress = [](const conjugate_gradient_progress& p) -> bool {
                       if (p.iterations == 2) throw std::runtime_error("enough");
                       return true;
                     }}),
               std::runtime_error);
}

TEST_P(EveryConjugateGradientVariant, NamesWhatIsWrongWithAMatrixAndLeavesX) {
  const auto expect_named = [&](const std::string& message, auto spoil) {
    csr_images images(laplacian(8), {});
    spoil(images);
    for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
      for (const named_context& where : system_contexts_of(GetParam())) {
        SCOPED_TRACE(where.name);
        const placed_csr a(where.ctx, images);
        const image b = numbers(512, value_type::f64, y_at, false);
        for (const value_at& start : {value_at(zero), value_at(x_at)}) {
          const image x = numbers(512, value_type::f64, start, true);
          const placed placed_b(where.ctx, b);
          const placed placed_x(where.ctx, x);
          expect_error(error_code::bad_index, "conjugate_gradient: " + message, [&] {
            conjugate_gradient(where.ctx, a.view(), const_values_of(placed_b.view(), value_type::f64),
                               values_of(placed_x.view(), value_type::f64),
                               {.preconditioner = scaling, .variant = GetParam()});
          });
          where.ctx.wait();
          expect_bytes(placed_x.download(), x, "x");
        }
      }
    }
  };
  expect_named("column_indices[1000], of row 153, is 512, past the matrix's 512 columns",
               [](csr_images& m) { set_entry(m.column_indices, 1000, 512); });
  expect_named("row 49 ends at 18446744073709551615, past the matrix's 3438 entries",
               [](csr_images& m) { set_entry(m.begins, 50, ~std::uint64_t{0}); });
}

/// The same on any backend, from arrays in host memory.
conjugate_gradient_result solve_by_jacobi(const context& ctx, csr_view a, const std::vector<double>& b,
                                          std::vector<double>& x, std::string_view variant) {
  const conjugate_gradient_options o{.preconditioner = preconditioner::jacobi, .variant = variant};
  if (ctx.backend() != backend_kind::cuda) return conjugate_gradient(ctx, a, b, x, o);
  std::vector<buffer> arrays;
  const auto place = [&](const void* from, std::uint64_t bytes) {
    arrays.emplace_back(ctx, bytes);
    copy_bytes(ctx, arrays.back().data(), from, bytes);
    return arrays.back().data();
  };
  a.row_begins.data = place(a.row_begins.data, a.row_begins.count * bytes(a.row_begins.type));
  a.column_indices.data = place(a.column_indices.data, a.column_indices.count * bytes(a.column_indices.type));
  a.values.data = place(a.values.data, a.values.count * bytes(a.values.type));
  const const_values right(place(b.data(), b.size() * sizeof(double)), b.size(), value_type::f64);
  const values solution(place(x.data(), x.size() * sizeof(double)), x.size(), value_type::f64);
  conjugate_gradient_result result = conjugate_gradient(ctx, a, right, solution, o);
  copy_bytes(ctx, x.data(), solution.data, x.size() * sizeof(double));
  ctx.wait();
  return result;
}

/// Contexts that a variant works on, twice a CUDA device: of the CPU with 1, 2 and 7 threads. The planner works on all.
std::vector<context> contexts_of(std::string_view variant) {
  std::vector<context> all;
  if (!variant.starts_with("cuda.")) all = {context::cpu(1), context::cpu(2), context::cpu(7)};
  const std::optional<context> cuda = variant.empty() || variant.starts_with("cuda.") ? cuda_context() : std::nullopt;
  if (cuda) all.insert(all.end(), 2, *cuda);
  return all;
}

/// Solves A x = A * 1 with Jacobi on all contexts of a variant, to the default tolerance and in about as many
/// iterations as the reference. A right-hand side of ones has solutions so large that rounding alone is more than 1e-8
/// of it. Returns how many iterations the reference takes.
std::uint64_t expect_solved_as_by_reference(const io::csr_matrix<double>& m, std::string_view variant) {
  const csr_view a(m.rows, m.columns, m.row_offsets, m.columns_of_entries(), m.values);
  std::vector<double> b(m.rows);
  spmv(context::cpu(1), a, std::vector<double>(m.rows, 1), b);
  std::vector<double> of_reference(m.rows);
  const conjugate_gradient_result expected = solve_by_jacobi(context::cpu(1), a, b, of_reference, "reference.serial");
  EXPECT_TRUE(expected.converged()) << name(expected.reason) << " " << expected.residual / expected.b_norm;
  std::vector<double> first;
  for (const context& ctx : contexts_of(variant)) {
    SCOPED_TRACE(fmt::format("{}, {} threads", name(ctx.backend()), ctx.threads()));
    std::vector<double> x(m.rows);
    const conjugate_gradient_result found = solve_by_jacobi(ctx, a, b, x, variant);
    EXPECT_TRUE(found.converged()) << name(found.reason) << " " << found.residual / found.b_norm;
    EXPECT_LE(found.residual, 1e-8 * found.b_norm);
    EXPECT_LE(found.iterations, expected.iterations * 6 / 5);
    EXPECT_GE(found.iterations, expected.iterations * 4 / 5);
    if (first.empty()) first = x;
    if (!variant.empty()) {
      EXPECT_EQ(x, first) << "other bits";
    }
  }
  return expected.iterations;
}

/// A clamped square plate of side * side points, the square of a grid's Laplacian, in units that differ from point to
/// point. With Jacobi its condition is (4 (side + 1)^2 / pi^2)^2: a million at side 48.
io::csr_matrix<double> plate(std::uint64_t side) {
  const auto laplacian_of = [side](std::uint64_t r) {
    std::map<std::uint64_t, double> row{{r, 4}};
    if (r % side > 0) row[r - 1] = -1;
    if (r % side + 1 < side) row[r + 1] = -1;
    if (r >= side) row[r - side] = -1;
    if (r + side < side * side) row[r + side] = -1;
    return row;
  };
  const auto unit = [](std::uint64_t r) { return std::ldexp(1.0, static_cast<int>(inputs::mix(r) % 9)); };
  io::csr_matrix<double> m;
  m.rows = m.columns = side * side;
  std::vector<std::uint32_t> columns;
  for (std::uint64_t r = 0; r < m.rows; ++r) {
    std::map<std::uint64_t, double> row;
    for (const auto& [k, of_row] : laplacian_of(r)) {
      for (const auto& [c, of_column] : laplacian_of(k)) row[c] += of_row * of_column;
    }
    for (const auto& [c, value] : row) {
      columns.push_back(static_cast<std::uint32_t>(c));
      m.values.push_back(unit(r) * value * unit(c));
    }
    m.row_offsets.push_back(columns.size());
  }
  m.column_indices = std::move(columns);
  return m;
}

TEST_P(EveryConjugateGradientVariant, SolvesABadlyConditionedSystemAsTheReferenceDoes) {
  EXPECT_GT(expect_solved_as_by_reference(plate(48), GetParam()), 500U) << "the test wants a system that takes long";
}

TEST_P(EveryConjugateGradientVariant, SolvesRealSystemsAsTheReferenceDoes) {
  const char* data = std::getenv("SHEAF_DATA_DIR");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "matrices";
  if (data == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with matrices/ in it";
  }
  for (const char* const file : {"494_bus.mtx.gz", "1138_bus.mtx", "bcsstk13.mtx.gz", "bcsstk15.mtx.gz",
                                 "bcsstk16.mtx.gz", "ex9.mtx.gz", "msc01050.mtx.gz"}) {
    SCOPED_TRACE(file);
    expect_solved_as_by_reference(io::read_matrix_market<double>(folder / file), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(ConjugateGradient, EveryConjugateGradientVariant, testing::ValuesIn(variant_names()),
                         test_name_of);

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_conjugate_gradient_test
