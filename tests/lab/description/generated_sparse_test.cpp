#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/description/arrays.hpp"
#include "lab/description/job.hpp"
#include "lab/description/row_name.hpp"
#include "lab/description/sparse/problem.hpp"
#include "support/contexts.hpp"

// The job of spmv: the matrices that it makes, and its check of every product by them.
namespace sheaf::tests::lab_description_generated_sparse_test {
namespace {

using jobs::job;
using jobs::problem_spec;
using primitives::sparse_part;

std::vector<context> contexts() {
  std::vector<context> all{context::cpu(2)};
  if (auto cuda = cuda_context()) all.push_back(*cuda);
  if (auto opengl = opengl_context()) all.push_back(*opengl);
  return all;
}

std::vector<std::string> names_of_products() {
  std::vector<std::string> names;
  for (const char* matrix : {"banded:x1", "banded:x16", "banded:s90", "banded:xzipf", "banded:s40:c70", "grid:x5",
                             "grid:x7", "grid:x9", "grid:x27", "uniform:x16", "uniform:s5000", "uniform:c7:x3",
                             "uniform:c900:xzipf", "zipf:x16", "zipf:s3:c900"}) {
    for (const char* type :
         {"r4/u32+f32", "r4/i32+u64+f32", "r4/u64+i32+f32+f64_sums", "r8/i64+f64", "r8/u32+f64+row_ends"}) {
      names.push_back(fmt::format("spmv/{}/{}", matrix, type));
    }
    for (const char* type : {"r4/u32+f32+transposed", "r4/u64+f32+transposed+f64_sums", "r8/i32+f64+transposed",
                             "r8/u32+i64+f64+transposed+row_ends", "r8/u32+f64+transposed+unordered",
                             "r4/i64+u32+f32+transposed+unordered+row_ends"}) {
      names.push_back(fmt::format("spmv/{}/{}", matrix, type));
    }
  }
  return names;
}

// The check goes over entries by their places; the reference reads the arrays that were filled by these.
TEST(GeneratedProduct, IsAnsweredRightByEveryVariantAndNotBefore) {
  for (const context& ctx : contexts()) {
    std::size_t answers = 0;
    jobs::problem_arrays arrays(ctx);
    for (const std::string& product : names_of_products()) {
      for (const std::uint64_t count : {1, 2, 33, 2500}) {
        const problem_spec p = jobs::problem_of({product}, count);
        const job& j = jobs::job_of(p);
        ASSERT_EQ(j.unchecked(p), "") << name(p);
        const explanation why = primitives::entry_of(p).explain(ctx, p, {});
        if (ctx.backend() == backend_kind::opengl && why.choice() == nullptr) continue;
        ASSERT_NE(why.choice(), nullptr) << name(p);
        arrays.fill(p, 1);
        arrays.reset_outputs();
        EXPECT_GT(arrays.count_mistakes(false), 0U) << name(p) << " is right before the call";
        for (const variant_estimate& v : why.variants) {
          if (!v.applicable) continue;
          arrays.reset_outputs();
          j.run(ctx, p, arrays.of_copy(0), {v.variant});
          ctx.wait();
          EXPECT_EQ(arrays.count_mistakes(false), 0U)
              << name(p) << ": " << v.variant << " on " << sheaf::name(ctx.backend());
          ++answers;
        }
      }
    }
    EXPECT_GT(answers, ctx.backend() == backend_kind::opengl ? 300U : 1000U) << sheaf::name(ctx.backend());
  }
}

TEST(GeneratedProduct, IsAnsweredRightByItsPlainLoopWhereOneIsWritten) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  for (const std::string& product : names_of_products()) {
    const problem_spec p = jobs::problem_of({product}, 2500);
    arrays.fill(p, 1);
    arrays.reset_outputs();
    const std::function<void()> loop = jobs::job_of(p).plain_loop(ctx, p, arrays.of_copy(0));
    ASSERT_EQ(static_cast<bool>(loop),
              !p.part<sparse_part>().is_transposed || p.part<sparse_part>().sums != spmv_sums::f64)
        << name(p);
    if (!loop) continue;
    loop();
    EXPECT_EQ(arrays.count_mistakes(false), 0U) << name(p);
  }
}

/// A matrix of u32 and f64 as its job fills it.
struct filled_matrix {
  explicit filled_matrix(const char* name) : ctx(context::cpu(2)), arrays(ctx) {
    p = primitives::parse_problem(name);
    arrays.fill(p, 1);
    a = jobs::views_of_product(p, arrays.of_copy(0)).a;
  }
  std::uint64_t begin(std::uint64_t row) const { return static_cast<const std::uint32_t*>(a.row_begins.data)[row]; }
  std::uint64_t column(std::uint64_t entry) const {
    return static_cast<const std::uint32_t*>(a.column_indices.data)[entry];
  }
  double value(std::uint64_t entry) const { return static_cast<const double*>(a.values.data)[entry]; }
  std::multiset<std::uint64_t> columns_of(std::uint64_t row) const {
    std::multiset<std::uint64_t> all;
    for (std::uint64_t entry = begin(row); entry < begin(row + 1); ++entry) all.insert(column(entry));
    return all;
  }

  context ctx;
  jobs::problem_arrays arrays;
  problem_spec p;
  csr_view a;
};

TEST(GeneratedProduct, HasABandAroundTheDiagonal) {
  const filled_matrix m("spmv/banded:x5/r8/u32+f64/n=500");
  ASSERT_EQ(m.a.rows, 100U);
  EXPECT_EQ(m.a.columns, 100U);
  for (std::uint64_t row = 0; row < m.a.rows; ++row) {
    ASSERT_EQ(m.begin(row), 5 * row);
    for (std::uint64_t k = 0; k < 5; ++k) EXPECT_EQ(m.column(5 * row + k), (row + 98 + k) % 100) << row;
  }
}

TEST(GeneratedProduct, HasTheNeighboursOfAGridWhoseSidesAreJoined) {
  for (const char* name : {"spmv/grid:x5/r8/u32+f64/n=500", "spmv/grid:x9/r8/u32+f64/n=900",
                           "spmv/grid:x7/r8/u32+f64/n=7000", "spmv/grid:x27/r8/u32+f64/n=27000"}) {
    SCOPED_TRACE(name);
    const filled_matrix m(name);
    const std::uint64_t of_a_row = m.p.part<sparse_part>().entries_of_a_row;
    const bool is_flat = of_a_row < 7 || of_a_row == 9;
    const std::uint64_t side = is_flat ? static_cast<std::uint64_t>(std::lround(std::sqrt(m.a.rows))) : 10;
    for (std::uint64_t row = 0; row < m.a.rows; ++row) {
      const std::multiset<std::uint64_t> columns = m.columns_of(row);
      ASSERT_EQ(columns.size(), of_a_row);
      ASSERT_EQ(std::set(columns.begin(), columns.end()).size(), of_a_row) << "each neighbour once";
      for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, side, is_flat ? 0 : side * side}) {
        EXPECT_TRUE(columns.contains((row + step) % m.a.rows)) << row;
        EXPECT_TRUE(columns.contains((row + m.a.rows - step) % m.a.rows)) << row;
      }
      for (const std::uint64_t column : columns) {
        EXPECT_TRUE(m.columns_of(column).contains(row)) << row << ": neighbours are each other's";
      }
    }
  }
}

TEST(GeneratedProduct, HasColumnsAtRandomAlikeOrFewOfThemOften) {
  const auto entries_of_columns = [](const char* name) {
    const filled_matrix m(name);
    std::vector<std::uint64_t> entries(m.a.columns);
    for (std::uint64_t entry = 0; entry < m.a.values.count; ++entry) ++entries.at(m.column(entry));
    std::sort(entries.begin(), entries.end());
    return entries;
  };
  const auto uniform = entries_of_columns("spmv/uniform:c100:x4/r8/u32+f64/n=100000");
  EXPECT_GT(uniform.front(), 850U);
  EXPECT_LT(uniform.back(), 1150U);
  const auto zipf = entries_of_columns("spmv/zipf:c100:x4/r8/u32+f64/n=100000");
  EXPECT_LT(zipf.front(), 500U);
  EXPECT_GT(zipf.back(), 10000U);
}

TEST(GeneratedProduct, HasSmallWholeValuesOfBothSigns) {
  const filled_matrix m("spmv/uniform:xzipf/r8/u32+f64/n=30000");
  double sum = 0;
  for (std::uint64_t entry = 0; entry < m.a.values.count; ++entry) {
    const double size = std::abs(m.value(entry));
    EXPECT_TRUE(size == 1 || size == 2 || size == 3) << entry;
    sum += m.value(entry);
  }
  EXPECT_LT(std::abs(sum), 16 * std::sqrt(30000.0) * 3);
}

TEST(GeneratedProduct, HasRowEndsWhereTheNextRowBegins) {
  const filled_matrix m("spmv/uniform:s70/r8/u32+f64+row_ends/n=30");
  ASSERT_TRUE(m.a.has_row_ends);
  EXPECT_EQ(m.a.row_begins.count, 70U);
  const auto* const ends = static_cast<const std::uint32_t*>(m.a.row_ends.data);
  for (std::uint64_t row = 0; row < 69; ++row) EXPECT_EQ(ends[row], m.begin(row + 1)) << row;
  EXPECT_EQ(ends[69], 30U);
}

TEST(GeneratedProduct, SaysWhatItCannotCheck) {
  const auto why = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return jobs::job_of(p).unchecked(p);
  };
  EXPECT_EQ(why("spmv/uniform:s0/r4/u32+f32/n=9"), "entries of no rows or columns");
  EXPECT_EQ(why("spmv/uniform:s9:c0/r4/u32+f32/n=9"), "entries of no rows or columns");
  EXPECT_EQ(why("spmv/uniform:s9:c0/r4/u32+f32/n=0"), "");
  EXPECT_EQ(why("spmv/banded:x1/r8/u64+f64/n=9000000000000000"), "more entries, rows or columns than any memory has");
  EXPECT_EQ(why("spmv/banded:s9000000000000000/r8/u64+f64/n=9"), "more entries, rows or columns than any memory has");
  EXPECT_EQ(why("spmv/banded:s9:c2147483648/r8/i32+f64/n=9"), "column numbers are too narrow for the columns");
  EXPECT_EQ(why("spmv/banded:s9:c2147483648/r8/u32+f64/n=9"), "");
  EXPECT_EQ(why("spmv/banded:s9:c4294967296/r8/u32+f64/n=9"), "column numbers are too narrow for the columns");
  EXPECT_EQ(why("spmv/banded:x16/r8/u32+f64/n=4294967296"), "row offsets are too narrow for the entries");
  EXPECT_EQ(why("spmv/banded:x16/r8/u32+u64+f64/n=4294967296"), "");
  EXPECT_EQ(why("spmv/uniform:s1/r4/u32+u64+f32/n=4294967296"), "sums are too large to be exact");
  EXPECT_EQ(why("spmv/zipf:x16/r4/u32+u64+f32+transposed/n=4294967296"), "sums are too large to be exact");
  EXPECT_EQ(why("spmv/uniform:x16/r4/u32+u64+f32+transposed/n=4294967296"), "");
  EXPECT_EQ(why("spmv/uniform:xzipf/r4/u32+f32/n=268435456"), "");
}

// Entries, offsets and both vectors count once each.
TEST(GeneratedProduct, CountsTheBytesOfMatrixAndVectors) {
  const auto moved = [](const char* name) {
    const problem_spec p = primitives::parse_problem(name);
    return jobs::job_of(p).moved_bytes(p);
  };
  EXPECT_EQ(moved("spmv/banded:x10/r4/u32+f32/n=100"), 800U + 44 + 80);
  EXPECT_EQ(moved("spmv/banded:x10/r8/u32+u64+f64+transposed/n=100"), 1200U + 88 + 160);
  EXPECT_EQ(moved("spmv/banded:c5:x10/r8/u64+u32+f64+row_ends/n=100"), 1600U + 80 + 120);
}

// Copies have the same structure, and other values.
TEST(GeneratedProduct, HasOtherValuesInOtherCopies) {
  const context ctx = context::cpu(2);
  jobs::problem_arrays arrays(ctx);
  const problem_spec p = primitives::parse_problem("spmv/uniform:x16/r8/u32+f64/n=3000");
  arrays.fill(p, 2);
  const csr_view first = jobs::views_of_product(p, arrays.of_copy(0)).a;
  const csr_view second = jobs::views_of_product(p, arrays.of_copy(1)).a;
  const auto differing = [&](const void* a, const void* b, std::uint64_t bytes) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) {
      count += static_cast<const std::byte*>(a)[i] != static_cast<const std::byte*>(b)[i] ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(differing(first.row_begins.data, second.row_begins.data, 4 * first.row_begins.count), 0U);
  EXPECT_GT(differing(first.column_indices.data, second.column_indices.data, 4 * 3000), 1000U);
  EXPECT_GT(differing(first.values.data, second.values.data, 8 * 3000), 1000U);
}

}  // namespace
}  // namespace sheaf::tests::lab_description_generated_sparse_test
