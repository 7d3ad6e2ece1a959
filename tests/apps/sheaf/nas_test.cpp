// The conjugate gradient benchmark of NAS has its official answers, by every variant and for every number of threads.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/nas.hpp"
#include "primitives/sparse/conjugate_gradient.hpp"
#include "support/expect_error.hpp"
#include "support/large.hpp"
#include "support/trials/system.hpp"

namespace sheaf::tests::apps_sheaf_nas_test {
namespace {

void expect_official_answer(std::string_view name, const std::vector<int>& threads) {
  const jobs::nas_class& of = jobs::nas_class_named(name);
  const io::csr_matrix<double> m = jobs::nas_matrix(of, 2);
  ASSERT_EQ(m.entries(), of.nonzeros);
  for (const auto& v : primitives::conjugate_gradient_variants()) {
    std::vector<context> contexts;
    if (v.works_on(backend_kind::cpu)) {
      for (const int count : threads) contexts.push_back(context::cpu(count));
    } else if (const auto cuda = cuda_context()) {
      contexts.push_back(*cuda);
    }
    double first = 0;
    for (const context& ctx : contexts) {
      SCOPED_TRACE(std::string(v.name) + ", threads " + std::to_string(ctx.threads()));
      const jobs::nas_answer answer = jobs::run_nas(ctx, of, m, {.variant = v.name});
      EXPECT_TRUE(answer.is_right) << answer.zeta;
      EXPECT_NEAR(answer.zeta, of.zeta, 1e-10 * of.zeta);
      EXPECT_LT(answer.residual, 1e-11);
      if (first == 0) first = answer.zeta;
      EXPECT_EQ(answer.zeta, first) << "other bits";
      EXPECT_GT(answer.mop_per_second, 0);
    }
  }
}

TEST(Nas, ClassSHasItsOfficialAnswer) { expect_official_answer("S", {1, 2, 7}); }
TEST(Nas, ClassWHasItsOfficialAnswer) { expect_official_answer("W", {1, 2}); }

// The benchmark in f32, which is not official: every system takes its 25 steps, and zeta has a digit or two less than
// f32.
void expect_answer_in_f32(std::string_view name) {
  const jobs::nas_class& of = jobs::nas_class_named(name);
  const auto m = io::with_values<float>(jobs::nas_matrix(of, 2));
  for (const auto& v : primitives::conjugate_gradient_variants()) {
    std::vector<context> contexts;
    if (v.works_on(backend_kind::cpu)) {
      contexts.push_back(context::cpu(2));
    } else if (const auto cuda = cuda_context()) {
      contexts.push_back(*cuda);
    }
    for (const context& ctx : contexts) {
      SCOPED_TRACE(std::string(v.name));
      const jobs::nas_answer answer = jobs::run_nas(ctx, of, m, {.variant = v.name});
      EXPECT_TRUE(answer.is_right) << answer.zeta;
      EXPECT_NEAR(answer.zeta, of.zeta, 1e-6 * of.zeta);
      EXPECT_GT(std::abs(answer.zeta - of.zeta), 1e-12 * of.zeta) << "as if it were f64";
      EXPECT_EQ(answer.reason, stop_reason::limit);
      EXPECT_LT(answer.residual, 1e-5);
      EXPECT_EQ(answer.loading_seconds > 0, ctx.backend() != backend_kind::cpu);
    }
  }
}

TEST(Nas, ClassSIsNearItsAnswerInF32) { expect_answer_in_f32("S"); }
TEST(Nas, ClassWIsNearItsAnswerInF32) { expect_answer_in_f32("W"); }

TEST(Nas, AMatrixWithAnotherDiagonalHasAnotherAnswerInF32) {
  const jobs::nas_class& of = jobs::nas_class_named("S");
  auto m = io::with_values<float>(jobs::nas_matrix(of, 2));
  for (float& value : m.values) value *= 1.01F;
  EXPECT_FALSE(jobs::run_nas(context::cpu(2), of, m).is_right);
}

TEST(NasLarge, ClassAHasItsOfficialAnswer) {
  if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1";
  expect_official_answer("A", {2});
}

// Serial code would take minutes for these, and says nothing that class A does not.
TEST(NasLarge, ClassesBAndCHaveTheirOfficialAnswers) {
  if (!large_tests_are_asked_for()) GTEST_SKIP() << "runs where SHEAF_LARGE=1";
  for (const char* const name : {"B", "C"}) {
    SCOPED_TRACE(name);
    const jobs::nas_class& of = jobs::nas_class_named(name);
    const io::csr_matrix<double> m = jobs::nas_matrix(of, 2);
    EXPECT_EQ(m.entries(), of.nonzeros);
    std::vector<context> contexts{context::cpu(2)};
    if (const auto cuda = cuda_context()) contexts.push_back(*cuda);
    for (const context& ctx : contexts) {
      const jobs::nas_answer answer = jobs::run_nas(ctx, of, m);
      EXPECT_TRUE(answer.is_right) << answer.zeta;
      EXPECT_NEAR(answer.zeta, of.zeta, 1e-10 * of.zeta);
      EXPECT_LT(answer.residual, 1e-11);
    }
  }
}

TEST(Nas, AMatrixWithAnotherValueHasAnotherAnswer) {
  const jobs::nas_class& of = jobs::nas_class_named("S");
  io::csr_matrix<double> m = jobs::nas_matrix(of, 2);
  m.values[m.row_offsets[700]] *= 1.01;
  const jobs::nas_answer answer = jobs::run_nas(context::cpu(2), of, m);
  EXPECT_FALSE(answer.is_right);
  EXPECT_GT(std::abs(answer.zeta - of.zeta), 1e-10 * of.zeta);
}

TEST(Nas, MatricesAreTheSameForEveryNumberOfThreads) {
  const jobs::nas_class& of = jobs::nas_class_named("S");
  const io::csr_matrix<double> one = jobs::nas_matrix(of, 1);
  for (const int threads : {2, 7}) {
    const io::csr_matrix<double> many = jobs::nas_matrix(of, threads);
    EXPECT_EQ(many.row_offsets, one.row_offsets);
    EXPECT_EQ(many.column_indices, one.column_indices);
    EXPECT_EQ(many.values, one.values);
  }
}

TEST(Nas, RowsOfTheMatrixAreMadeWithoutTheOthers) {
  const jobs::nas_class& of = jobs::nas_class_named("S");
  const io::csr_matrix<double> whole = jobs::nas_matrix(of, 2);
  const auto& columns = std::get<std::vector<std::uint32_t>>(whole.column_indices);
  for (const auto& [first, end] : {std::pair(0, 0), std::pair(0, 300), std::pair(300, 301), std::pair(301, 1400)}) {
    const io::csr_matrix<double> part = jobs::nas_rows(of, first, end, 3);
    const auto begin = static_cast<std::ptrdiff_t>(whole.row_offsets[first]);
    const auto after = static_cast<std::ptrdiff_t>(whole.row_offsets[end]);
    EXPECT_EQ(part.rows, static_cast<std::uint64_t>(end - first));
    EXPECT_EQ(part.columns, whole.columns);
    EXPECT_EQ(part.values, std::vector<double>(whole.values.begin() + begin, whole.values.begin() + after));
    EXPECT_EQ(std::get<std::vector<std::uint32_t>>(part.column_indices),
              std::vector<std::uint32_t>(columns.begin() + begin, columns.begin() + after));
  }
}

TEST(Nas, TellsOfEachIteration) {
  const jobs::nas_class& of = jobs::nas_class_named("S");
  std::vector<std::uint64_t> told;
  double last = 0;
  const jobs::nas_answer answer = jobs::run_nas(context::cpu(2), of, jobs::nas_matrix(of, 2),
                                                {.progress = [&](std::uint64_t i, double, double zeta) {
                                                  told.push_back(i);
                                                  last = zeta;
                                                }});
  EXPECT_EQ(told.size(), of.iterations);
  EXPECT_EQ(told.front(), 1U);
  EXPECT_EQ(last, answer.zeta);
}

TEST(Nas, OtherClassesAreRefusedByName) {
  expect_error(error_code::bad_argument, "'D' is not a class of the benchmark; there are S, W, A, B, C",
               [] { jobs::nas_class_named("D"); });
}

}  // namespace
}  // namespace sheaf::tests::apps_sheaf_nas_test
