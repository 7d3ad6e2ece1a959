#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/conjugate_gradient.hpp>

#include "lab/description/arrays.hpp"
#include "lab/description/entry.hpp"
#include "lab/description/job.hpp"
#include "lab/description/sparse/problem.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

// The entry of conjugate_gradient: its names and options, the systems that it makes, and its check of their solutions.
namespace sheaf::tests::primitives_sparse_system_entry_test {
namespace {

using primitives::parse_problem;
using primitives::problem_spec;
using primitives::sparse_part;

template <class Call>
void expect_refused(const std::string& message, Call call) {
  EXPECT_THAT(message_of(error_code::bad_argument, call), testing::HasSubstr(message));
}

TEST(SystemName, SaysWhatIsSolvedAndHowOftenItIsMultiplied) {
  const problem_spec p =
      parse_problem("conjugate_gradient/grid:x27:i50/r4/i32+u64+f32+jacobi+f64_sums+row_ends/n=1000");
  EXPECT_EQ(p.count, 1000U);
  EXPECT_EQ(p.part<sparse_part>().nonzeros, primitives::nonzero_pattern::grid);
  EXPECT_EQ(p.part<sparse_part>().entries_of_a_row, 27U);
  EXPECT_EQ(p.part<sparse_part>().iterations, 50U);
  EXPECT_EQ(p.index, index_type::i32);
  EXPECT_EQ(p.part<sparse_part>().offset, index_type::u64);
  EXPECT_EQ(p.value, value_type::f32);
  EXPECT_EQ(p.part<sparse_part>().sums, spmv_sums::f64);
  EXPECT_TRUE(p.part<sparse_part>().has_jacobi && p.part<sparse_part>().has_row_ends);
  for (const char* name :
       {"conjugate_gradient/grid:x5:i1/r8/u32+f64/n=0", "conjugate_gradient/grid:x9:i1000000/r8/u64+f64+jacobi/n=9",
        "conjugate_gradient/grid:x7:i16/r4/u32+u64+f32+row_ends/n=70000000"}) {
    EXPECT_EQ(primitives::name(parse_problem(name)), name);
  }
}

TEST(SystemName, IsRefusedWhereNoGridHasIt) {
  const auto refused = [](const std::string& name, const std::string& message) {
    expect_refused(message, [&] { parse_problem("conjugate_gradient/" + name + "/n=9"); });
  };
  const std::string form = "is not a grid, the entries of a row and iterations, such as grid:x7:i16";
  refused("grid:x7/r8/u32+f64", "'grid:x7' " + form);
  refused("banded:x7:i9/r8/u32+f64", "'banded:x7' " + form);
  refused("grid:x8:i9/r8/u32+f64", "'grid:x8' is not a grid: x5 or x9 for a square");
  refused("grid:x7:i0/r8/u32+f64", "'0' is not a number of iterations from 1 to 1000000");
  refused("grid:x7:i9/r4/u32+f64", "'f64' is not a type of 4 bytes");
  refused("grid:x7:i9/r8/u32", "'u32' is not an index type, or two, and a value type");
  refused("grid:x7:i9/r8/u32+f64+f64_sums", "'f64_sums' is not allowed: it needs values of f32");
  refused("grid:x7:i9/r8/u32+f64+transposed",
          "'transposed' is not part of a system's type: jacobi, f64_sums, row_ends");
  refused("grid:x7:i9/r8/u32+f64+row_ends+jacobi",
          "is written 'conjugate_gradient/grid:x7:i9/r8/u32+f64+jacobi+row_ends");
}

TEST(SystemEntry, TakesOptionsOfMatricesAndItsOwn) {
  const auto problem = [](const std::vector<primitives::given_option>& given) {
    return problem_of_options(primitives::entry_named("conjugate_gradient"), given);
  };
  const problem_spec usual = problem({{"--count", {"1600"}}});
  EXPECT_EQ(usual.part<sparse_part>().iterations, 1U);
  EXPECT_FALSE(usual.part<sparse_part>().has_jacobi);
  EXPECT_EQ(usual.record_bytes, 4U);
  const problem_spec given = problem({{"--count", {"9000"}},
                                      {"--rows", {"100"}},
                                      {"--value-type", {"f64"}},
                                      {"--iterations", {"30"}},
                                      {"--jacobi", {""}}});
  EXPECT_EQ(given.part<sparse_part>().iterations, 30U);
  EXPECT_TRUE(given.part<sparse_part>().has_jacobi);
  EXPECT_EQ(*given.table, 100U);
  const std::string text = entry_of(given).text(given);
  EXPECT_THAT(text, testing::StartsWith("30 iterations with Jacobi, 9000 entries in 100 rows"));
  expect_refused("--iterations: '0' is not a whole number from 1 to 1000000", [&] {
    problem({{"--count", {"9"}}, {"--iterations", {"0"}}});
  });
  expect_refused("--columns is for spmv", [&] { problem({{"--count", {"9"}}, {"--columns", {"3"}}}); });
}

// The library prices one iteration.
TEST(SystemEntry, PricesAllIterations) {
  const context ctx = context::cpu(2);
  const problem_spec once = parse_problem("conjugate_gradient/grid:x7:i1/r8/u32+f64/n=7000000");
  const problem_spec often = parse_problem("conjugate_gradient/grid:x7:i16/r8/u32+f64/n=7000000");
  const jobs::product_views v = jobs::views_of_product(once, {});
  const explanation of_one = explain_conjugate_gradient(ctx, v.a, v.x, v.y, {.keeps_last = true});
  const explanation of_all = entry_of(often).explain(ctx, often, {});
  ASSERT_EQ(of_one.variants.size(), of_all.variants.size());
  EXPECT_EQ(of_one.choice()->variant, of_all.choice()->variant);
  EXPECT_DOUBLE_EQ(16 * of_one.choice()->seconds, of_all.choice()->seconds);
  EXPECT_EQ(jobs::job_of(often).moved_bytes(often), 16 * jobs::job_of(once).moved_bytes(once));
}

std::vector<std::string> names_of_systems() {
  std::vector<std::string> names;
  for (const char* grid : {"x5", "x7", "x9", "x27"}) {
    for (const char* type : {"r4/u32+f32", "r4/i32+u64+f32+jacobi", "r4/u64+i32+f32+f64_sums", "r8/i64+f64+jacobi",
                             "r8/u32+u64+f64+row_ends"}) {
      names.push_back(fmt::format("conjugate_gradient/grid:{}:i16/{}", grid, type));
    }
  }
  return names;
}

TEST(GeneratedSystem, IsSymmetricWithAPositiveDiagonal) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for (const char* grid : {"x5", "x7", "x9", "x27"}) {
    for (const std::uint64_t count : {1, 2, 26, 27, 28, 1000, 9001}) {
      const problem_spec p =
          parse_problem(fmt::format("conjugate_gradient/grid:{}:i16/r8/u32+u64+f64/n={}", grid, count));
      SCOPED_TRACE(name(p));
      arrays.fill(p, 1);
      const csr_view a = jobs::views_of_product(p, arrays.of_copy(0)).a;
      ASSERT_EQ(a.rows, a.columns);
      std::vector<double> dense(a.rows * a.rows);
      const auto* const begins = static_cast<const std::uint64_t*>(a.row_begins.data);
      const auto* const columns = static_cast<const std::uint32_t*>(a.column_indices.data);
      for (std::uint64_t row = 0; row < a.rows; ++row) {
        for (std::uint64_t i = begins[row]; i < begins[row + 1]; ++i) {
          ASSERT_LT(columns[i], a.columns);
          dense[row * a.rows + columns[i]] += static_cast<const double*>(a.values.data)[i];
        }
      }
      for (std::uint64_t row = 0; row < a.rows; ++row) {
        double others = 0;
        for (std::uint64_t column = 0; column < a.rows; ++column) {
          ASSERT_EQ(dense[row * a.rows + column], dense[column * a.rows + row]);
          if (column != row) others += std::abs(dense[row * a.rows + column]);
        }
        ASSERT_GT(dense[row * a.rows + row], others) << "so that it is positive definite";
      }
    }
  }
}

// The check makes the residual of entries by their places; every variant reads the arrays that were filled by these.
TEST(GeneratedSystem, IsSolvedByEveryVariantAndThePlainLoopAndNotBefore) {
  for (const context& ctx : {context::cpu(2), cuda_context().value_or(context::cpu(1))}) {
    jobs::problem_arrays arrays(ctx);
    std::size_t answers = 0;
    for (const std::string& system : names_of_systems()) {
      for (const std::uint64_t count : {1, 33, 5000}) {
        const problem_spec p = jobs::problem_of({system}, count);
        const jobs::job& j = jobs::job_of(p);
        ASSERT_EQ(j.unchecked(p), "") << name(p);
        arrays.fill(p, 1);
        for (const variant_estimate& v : entry_of(p).explain(ctx, p, {}).variants) {
          if (!v.applicable) continue;
          arrays.reset_outputs();
          EXPECT_GT(arrays.count_mistakes(false), 0U) << name(p) << " is right before the call";
          j.run(ctx, p, arrays.of_copy(0), {v.variant});
          EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p) << ": " << v.variant;
          ++answers;
        }
        if (ctx.backend() != backend_kind::cpu) continue;
        arrays.reset_outputs();
        j.plain_loop(ctx, p, arrays.of_copy(0))();
        EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p) << ": the plain loop";
      }
    }
    EXPECT_GE(answers, 120U);
  }
}

// A solver that ends long before its iterations are done leaves a residual that no rounding explains.
TEST(GeneratedSystem, IsNotSolvedByFarFewerIterations) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for (const char* type : {"r4/u32+f32", "r8/u32+f64+jacobi"}) {
    const problem_spec p = parse_problem(fmt::format("conjugate_gradient/grid:x7:i16/{}/n=70000", type));
    problem_spec fewer = p;
    fewer.part<sparse_part>().iterations = 4;
    arrays.fill(p, 1);
    arrays.reset_outputs();
    jobs::job_of(p).run(ctx, fewer, arrays.of_copy(0), {});
    EXPECT_GT(arrays.count_mistakes(false), 0U) << type;
    jobs::job_of(p).run(ctx, p, arrays.of_copy(0), {});
    EXPECT_EQ(arrays.count_mistakes(false), 0U) << type << ": from 0 on, whatever x was";
  }
}

TEST(GeneratedSystem, SaysWhatItCannotCheck) {
  const auto why = [](const char* name) {
    const problem_spec p = parse_problem(name);
    return jobs::job_of(p).unchecked(p);
  };
  EXPECT_EQ(why("conjugate_gradient/grid:x7:i7/r8/u32+f64/n=70"), "so few iterations prove nothing");
  EXPECT_EQ(why("conjugate_gradient/grid:x7:i8/r8/u32+f64/n=70"), "");
  EXPECT_EQ(why("conjugate_gradient/grid:x7:i8/r8/u32+f64/n=4294967296"), "row offsets are too narrow for the entries");
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_system_entry_test
