// A prepared product is spmv's, in every run; it copies what it says, names what is wrong with a matrix, and survives
// every allocation that fails. Products keep to the limit on scratch.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "plan/choose.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "support/expect_error.hpp"
#include "support/failing_memory.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::primitives_sparse_prepare_spmv_test {
namespace {

constexpr std::uint64_t never = failing_memory::never;

/// A run of a prepared product on memory of its own.
image run_of(const context& ctx, const prepared_spmv& prepared, const csr_view& a, bool transposed, double alpha,
             double beta) {
  const value_type type = a.values.type;
  const image x = numbers(transposed ? a.rows : a.columns, type, x_at, false);
  const image y = numbers(
      transposed ? a.columns : a.rows, type,
      [&](std::uint64_t i) { return beta == 0 ? std::numeric_limits<double>::quiet_NaN() : y_at(i); }, true);
  const placed placed_x(ctx, x);
  const placed placed_y(ctx, y);
  prepared.run(const_values_of(placed_x.view(), type), values_of(placed_y.view(), type), alpha, beta);
  ctx.wait();
  image found = y;
  found.bytes = placed_y.download();
  return found;
}

/// Whether a preparation has to take a product.
bool takes(const context& ctx, std::string_view variant, const csr_view& a, bool transposed) {
  if (ctx.backend() == backend_kind::opengl) {
    if (a.values.type != value_type::f32) return false;
    if (variant == "opengl.lookup" && (transposed ? a.rows : a.columns) > 65536) return false;
    if (variant == "opengl.fragments") return !transposed;
    if (a.has_row_ends) return variant == "kept" && !transposed;
    return !transposed || variant != "opengl.packed";
  }
  if (variant.starts_with("cuda.") && variant != "cuda.sliced_ell" && a.has_row_ends) return false;
  if (variant == "cpu.diagonals" || variant == "cpu.blocked") return !transposed;
  const bool is_of_rows = variant == "cpu.bsr" || variant == "cuda.blocked" || variant == "cuda.bsr" ||
                          variant == "cuda.compressed" || variant == "cuda.segmented" || variant == "cuda.sliced" ||
                          variant == "cuda.sliced_ell";
  if (is_of_rows && (transposed || a.values.count == 0 || a.columns == 0)) return false;
  return transposed || !variant.ends_with(".transposed");
}

std::vector<named_context> preparing_contexts() {
  std::vector<named_context> contexts = spmv_contexts();
  if (auto opengl = opengl_context()) contexts.push_back({"opengl", *opengl});
  return contexts;
}

/// Calls check(where, view, variant, transposed) for all preparations that have to take the matrix.
template <class Check>
void for_each_preparation(const csr_images& images, const std::vector<named_context>& contexts, Check check) {
  for (const named_context& where : contexts) {
    const placed_csr a(where.ctx, images);
    for (const auto& v : primitives::prepare_spmv_variants()) {
      if (!v.works_on(where.ctx.backend())) continue;
      for (const bool transposed : {false, true}) {
        if (!takes(where.ctx, v.name, a.view(), transposed)) continue;
        SCOPED_TRACE(
            fmt::format("{}, {}, {}, transposed {}", images.layout.description(), where.name, v.name, transposed));
        check(where.ctx, a.view(), v.name, transposed);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void expect_products(const sparse_rows& m, const csr_layout& layout, const std::vector<named_context>& contexts) {
  SCOPED_TRACE(m.name);
  const csr_images images(m, layout);
  for_each_preparation(images, contexts,
                       [&](const context& ctx, const csr_view& a, std::string_view variant, bool transposed) {
                         for (const spmv_sums sums : {spmv_sums::as_values, spmv_sums::f64}) {
                           const bool is_wide = sums == spmv_sums::f64;
                           if (is_wide && (layout.value == value_type::f64 || ctx.backend() == backend_kind::opengl))
                             continue;
                           SCOPED_TRACE(is_wide ? "sums of f64" : "sums as values");
                           const prepared_spmv prepared =
                               prepare_spmv(ctx, a, 3, {.transposed = transposed, .sums = sums, .variant = variant});
                           EXPECT_EQ(prepared.report().variant, variant);
                           // A matrix with a long row, or one whose rows are not alike, is not grouped.
                           const bool is_copied = variant != "kept" && !prepared.report().product.ends_with(".rows");
                           if (!m.rows.empty()) {
                             EXPECT_EQ(prepared.report().kept_bytes > 0, is_copied || variant.ends_with(".transposed"));
                           }
                           for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{0.7, -0.3}}) {
                             const spmv_options o{.alpha = alpha, .beta = beta, .transposed = transposed, .sums = sums};
                             expect_near(run_of(ctx, prepared, a, transposed, alpha, beta),
                                         expected_of(m, o, layout.value), layout.value);
                           }
                         }
                       });
}

TEST(PrepareSpmv, RunsAreProductsByTheMatrix) {
  const std::vector<named_context> contexts = preparing_contexts();
  for (const sparse_rows& m : every_matrix()) {
    for (const csr_layout layout : {csr_layout{}, csr_layout{value_type::f32, index_type::i32, index_type::i64, true},
                                    csr_layout{value_type::f32, index_type::u32, index_type::u32, false}}) {
      expect_products(m, layout, contexts);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Rows on the same diagonals in runs of every length, across what a thread groups at once; slices and blocks that end
// within the matrix.
TEST(PrepareSpmv, RunsAreProductsAcrossEveryCut) {
  std::vector<named_context> contexts;
  for (const int threads : {1, 2, 7}) contexts.push_back({fmt::format("{} threads", threads), context::cpu(threads)});
  std::vector<sparse_rows> matrices;
  matrices.push_back(banded(2 * 16'384 + 13, 2));
  matrices.push_back(grid_3d(33));
  matrices.push_back(made_rows("bands that change", 20'000, 20'100, [](std::uint64_t r) {
    column_list c;
    std::uint64_t run = 0;  // runs of 1, 2, 3, ... rows
    for (std::uint64_t left = r % 2000; left > run; ++run) left -= run + 1;
    for (std::uint64_t i = run % 5; i > 0; --i) c.push_back(r + i * (1 + run % 3));
    if (run % 7 == 0 && r > 50) c.push_back(r - 50);
    return c;
  }));
  matrices.push_back(made_rows("a band beside an arrow", 3000, 3000, [](std::uint64_t r) {
    return r == 1500 ? drawn_columns(r, 9000, 3000) : column_list{r, (r + 1) % 3000};
  }));
  matrices.push_back(made_rows("one entry more than a grouped row has", 100, 70'000, [](std::uint64_t r) {
    return r == 40 ? drawn_columns(r, 65'536, 70'000) : column_list{r, r + 2, r + 7};
  }));
  matrices.push_back(at_random(33'000, 140'000, 4));
  matrices.push_back(at_random(16'384, 65'536, 3));
  matrices.push_back(at_random(16'385, 65'537, 3));
  for (const sparse_rows& m : matrices) {
    for (const csr_layout layout :
         {csr_layout{}, csr_layout{value_type::f32, index_type::u32, index_type::u64, true}}) {
      expect_products(m, layout, contexts);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(PrepareSpmv, GroupsRowsThatLieOnTheSameDiagonals) {
  const context ctx = context::cpu(2);
  const auto product_of_prepared = [&](const sparse_rows& m) {
    const csr_images images(m, {});
    const placed_csr a(ctx, images);
    return prepare_spmv(ctx, a.view(), 1, {.variant = "cpu.diagonals"}).report().product;
  };
  EXPECT_EQ(product_of_prepared(banded(500, 3)), "cpu.diagonals");
  EXPECT_EQ(product_of_prepared(grid_27(20)), "cpu.diagonals");
  EXPECT_EQ(product_of_prepared(at_random(700, 300, 6)), "cpu.rows");
  EXPECT_EQ(product_of_prepared(
                made_rows("a long row", 100'000, 70'000,
                          [](std::uint64_t r) {
                            return r == 40 ? drawn_columns(r, 65'536, 70'000) : column_list{r % 60'000, r % 60'000 + 2};
                          })),
            "cpu.rows");
}

// Columns lie near each other, but no two rows have the same diagonals, which only the preparation sees.
TEST(PrepareSpmv, KeepsAMatrixThatHasNothingToGroup) {
  const csr_images images(made_rows("near columns", 20'000, 20'100,
                                    [](std::uint64_t r) {
                                      column_list c = drawn_columns(r, 8, 100);
                                      for (std::uint64_t& column : c) column += r;
                                      return c;
                                    }),
                          {});
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const explanation why = explain_prepare_spmv(ctx, a.view(), 100'000, {.pattern = access_pattern::clustered(100)});
  ASSERT_EQ(why.choice()->variant, "cpu.diagonals");
  const spmv_preparation report = prepare_spmv(ctx, a.view(), 100'000).report();
  EXPECT_EQ(report.order.shape, access_pattern::kind::clustered);
  EXPECT_EQ(report.variant, "kept");
  EXPECT_EQ(report.product, "cpu.rows");
  EXPECT_EQ(report.kept_bytes, 0U);
  EXPECT_EQ(report.pays_after_runs, 0U);
}

TEST(PrepareSpmv, RunsAreProductsByRealMatrices) {
  const char* data = std::getenv("SHEAF_DATA_DIR");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "matrices";
  if (data == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with matrices/ in it";
  }
  const std::vector<named_context> contexts = preparing_contexts();
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename();
    expect_products(rows_of(name, io::read_matrix_market<double>(file.path())), {}, contexts);
    expect_products(rows_of(name, io::read_matrix_market<float>(file.path())), {.value = value_type::f32}, contexts);
    if (HasFailure()) return;
    ++files;
  }
  EXPECT_GT(files, 0U);
}

TEST(PrepareSpmv, LetsNanAndInfinityThroughAndNoFurther) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Row 20 has infinity, 21 NaN, 22 infinity times 0, 23 infinity less infinity; all others are numbers.
  sparse_rows m = banded(64, 1);
  for (auto& row : m.rows) {
    for (csr_entry& e : row) e.value = 1;
  }
  m.rows[20] = {{19, infinity}, {20, 1}, {21, 1}};
  m.rows[21] = {{20, nan}, {21, 1}, {22, 1}};
  m.rows[22] = {{21, 1}, {22, 1}, {23, infinity}};
  m.rows[23] = {{22, infinity}, {23, 1}, {24, -infinity}};
  const auto x_of = [](std::uint64_t i) { return i == 23 ? 0.0 : 1.0; };
  for (const value_type type : {value_type::f64, value_type::f32}) {
    for (const bool is_transposed : {false, true}) {
      const csr_images images(is_transposed ? transposed(m) : m, {.value = type});
      for_each_preparation(images, preparing_contexts(),
                           [&](const context& ctx, const csr_view& a, std::string_view variant, bool runs_transposed) {
                             if (runs_transposed != is_transposed) return;
                             const prepared_spmv prepared =
                                 prepare_spmv(ctx, a, 3, {.transposed = is_transposed, .variant = variant});
                             const image x = numbers(64, type, x_of, false);
                             const image y = numbers(
                                 64, type, [&](std::uint64_t) { return nan; }, true);
                             const placed placed_x(ctx, x);
                             const placed placed_y(ctx, y);
                             prepared.run(const_values_of(placed_x.view(), type), values_of(placed_y.view(), type));
                             ctx.wait();
                             image found = y;
                             found.bytes = placed_y.download();
                             for (std::uint64_t r = 0; r < 64; ++r) {
                               const double value = number_at(found, r, type);
                               if (r == 20) {
                                 EXPECT_EQ(value, infinity);
                               } else if (r >= 21 && r <= 23) {
                                 EXPECT_TRUE(std::isnan(value)) << "row " << r << ": " << value;
                               } else {
                                 EXPECT_EQ(value, r == 24 || r == 0 || r == 63 ? 2 : 3) << "row " << r;
                               }
                             }
                           });
      if (HasFailure()) return;
    }
  }
}

/// All runs of a variant give the same bits; contexts of the CPU differ in threads.
void expect_same_bits(const sparse_rows& m, value_type type, const std::vector<named_context>& contexts, int runs) {
  const csr_images images(m, {.value = type});
  std::map<std::string, image> first;
  for_each_preparation(
      images, contexts, [&](const context& ctx, const csr_view& a, std::string_view variant, bool transposed) {
        const prepared_spmv prepared = prepare_spmv(ctx, a, 100, {.transposed = transposed, .variant = variant});
        // What is kept is a product that the number of threads may decide.
        const std::string product =
            fmt::format("{} {} {} {}", name(ctx.backend()), variant, prepared.report().product, transposed);
        for (int run = 0; run < runs; ++run) {
          const image found = run_of(ctx, prepared, a, transposed, 1, 0);
          const image& expected = first.emplace(product, found).first->second;
          expect_bytes(found.bytes, expected, fmt::format("{}, run {}", product, run));
          if (testing::Test::HasFailure()) return;
        }
      });
  EXPECT_GE(first.size(), 4U);
}

TEST(PrepareSpmv, HasTheSameBitsInAHundredRunsForEveryNumberOfThreads) {
  std::vector<named_context> contexts;
  for (const int threads : {1, 2, 7}) contexts.push_back({fmt::format("{} threads", threads), context::cpu(threads)});
  expect_same_bits(power_law(3000, 200'000), value_type::f64, contexts, 34);
  expect_same_bits(grid_27(12), value_type::f32, contexts, 34);
  expect_same_bits(at_random(20'000, 70'000, 6), value_type::f32, contexts, 34);
}

TEST(PrepareSpmv, HasTheSameBitsInAHundredRunsOnEveryBackend) {
  std::vector<named_context> contexts = preparing_contexts();
  std::erase_if(contexts, [](const named_context& where) { return where.ctx.backend() == backend_kind::cpu; });
  contexts.push_back({"cpu", context::cpu(2)});
  expect_same_bits(power_law(300, 2000), value_type::f32, contexts, 100);
  expect_same_bits(banded(300, 2), value_type::f32, contexts, 100);
}

TEST(PrepareSpmv, ReportsWhatItFoundAndCost) {
  const csr_images images(banded(30'000, 4), {});
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const prepared_spmv forward = prepare_spmv(ctx, a.view(), 1000, {.variant = "kept"});
  EXPECT_EQ(forward.report().variant, "kept");
  EXPECT_EQ(forward.report().product, "cpu.rows");
  EXPECT_EQ(forward.report().kept_bytes, 0U);
  EXPECT_EQ(forward.report().pays_after_runs, 0U);
  const prepared_spmv back = prepare_spmv(ctx, a.view(), 1000, {.transposed = true, .variant = "cpu.transposed"});
  const std::uint64_t entries = images.values.count;
  EXPECT_EQ(back.report().kept_bytes, entries * (8 + 4) + 30'001 * 8);
  EXPECT_EQ(back.report().product, "cpu.rows");
  EXPECT_GT(back.report().preparation_seconds, 0);
  EXPECT_GT(back.report().run_seconds, 0);
  EXPECT_GT(back.report().unprepared_seconds, 0);
  // All but the first and last rows are on nine diagonals.
  const prepared_spmv diagonals = prepare_spmv(ctx, a.view(), 1000, {.variant = "cpu.diagonals"});
  EXPECT_GT(diagonals.report().kept_bytes, (entries - 200) * 8);
  EXPECT_LT(diagonals.report().kept_bytes, entries * 8 + 20'000);
  EXPECT_EQ(diagonals.report().product, "cpu.diagonals");
  EXPECT_GT(diagonals.report().run_seconds, 0);
  // Values and products, columns and rows of 16 bits.
  const prepared_spmv blocked = prepare_spmv(ctx, a.view(), 1000, {.variant = "cpu.blocked"});
  EXPECT_GE(blocked.report().kept_bytes, entries * (8 + 8 + 2 + 2));
  EXPECT_LE(blocked.report().kept_bytes, entries * (8 + 8 + 2 + 2) + 2 * 16'384 * 8 + 1000);
  EXPECT_EQ(blocked.report().product, "cpu.blocked");
  EXPECT_GT(blocked.report().run_seconds, 0);
}

// What the planner takes is what the matrix is, and never what timing finds slower.
TEST(PrepareSpmv, PlansByTheOrderOfColumns) {
  const context ctx = context::cpu(2);
  const auto choice = [&](access_pattern order, std::uint64_t rows) {
    primitives::prepare_spmv_problem p;
    p.product.rows = p.product.columns = rows;
    p.product.entries = 8 * rows;
    p.product.reads_y = true;
    p.product.pattern = order;
    p.expected_runs = 1'000'000;
    return plan::cheapest(primitives::prepare_spmv_variants(), p, backend_kind::cpu, plan::scope_of(ctx), "")
        .variant->name;
  };
  EXPECT_EQ(choice(access_pattern::clustered(20), 1'000'000), "cpu.diagonals");
  EXPECT_EQ(choice(access_pattern::random(), 64'000'000), "cpu.blocked");
  EXPECT_EQ(choice(access_pattern::random(), 10'000), "kept");
}

TEST(PrepareSpmv, IsNoSlowerThanWhatItTimed) {
  const context ctx = context::cpu(2);
  for (const sparse_rows& m : {at_random(20'000, 20'000, 8), banded(20'000, 3), grid_27(20)}) {
    const csr_images images(m, {});
    const placed_csr a(ctx, images);
    for (const bool is_transposed : {false, true}) {
      const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 100'000, {.transposed = is_transposed});
      EXPECT_LE(prepared.report().run_seconds, prepared.report().unprepared_seconds);
    }
  }
}

TEST(PrepareSpmv, NamesWhatIsWrongWithAMatrix) {
  csr_images images(banded(100, 2), {});
  set_entry(images.column_indices, 248, 100);
  const context ctx = context::cpu(2);
  {
    const placed_csr a(ctx, images);
    const std::string words = "column_indices[248], of row 50, is 100, past the matrix's 100 columns";
    expect_error(error_code::bad_index, "prepare_spmv: " + words,
                 [&] { prepare_spmv(ctx, a.view(), 5, {.transposed = true, .variant = "cpu.transposed"}); });
    for (const char* const variant : {"cpu.diagonals", "cpu.blocked"}) {
      expect_error(error_code::bad_index, "prepare_spmv: " + words,
                   [&] { prepare_spmv(ctx, a.view(), 5, {.variant = variant}); });
    }
    const prepared_spmv kept = prepare_spmv(ctx, a.view(), 5, {.variant = "kept"});
    expect_error(error_code::bad_index, "spmv: " + words, [&] { run_of(ctx, kept, a.view(), false, 1, 0); });
  }
  set_entry(images.begins, 51, 246);
  const placed_csr a(ctx, images);
  expect_error(error_code::bad_index, "prepare_spmv: row 50 begins at 247 and ends at 246, before it begins",
               [&] { prepare_spmv(ctx, a.view(), 5, {.transposed = true, .variant = "cpu.transposed"}); });
  for (const char* const variant : {"cpu.diagonals", "cpu.blocked"}) {
    expect_error(error_code::bad_index, "prepare_spmv: row 50 begins at 247 and ends at 246, before it begins",
                 [&] { prepare_spmv(ctx, a.view(), 5, {.variant = variant}); });
  }
}

TEST(PrepareSpmv, MovedFromObjectsSaySo) {
  const csr_images images(banded(10, 1), {});
  const context ctx = context::cpu(1);
  const placed_csr a(ctx, images);
  prepared_spmv from = prepare_spmv(ctx, a.view(), 1);
  const prepared_spmv to = std::move(from);
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
  expect_error(error_code::bad_argument, "prepared_spmv: it was moved from; another object holds its contents now",
               [&] {
                 from.run({nullptr, 10, value_type::f64}, {nullptr, 10, value_type::f64});
               });
  // NOLINTEND(bugprone-use-after-move)
}

TEST(SpmvMemory, ProductsKeepToTheScratchLimit) {
  const csr_images images(made_rows("one dense row", 2000, 3000,
                                    [](std::uint64_t r) { return drawn_columns(r, r == 1000 ? 100'000 : 5, 3000); }),
                          {});
  for (named_context& where : spmv_contexts()) {
    for (const bool transposed : {false, true}) {
      std::vector<std::string> variants{""};
      for (const auto& v : primitives::spmv_variants()) {
        if (v.works_on(where.ctx.backend())) variants.emplace_back(v.name);
      }
      for (const std::string& variant : variants) {
        SCOPED_TRACE(fmt::format("{}, transposed {}, {}", where.name, transposed, variant));
        where.ctx.limit_scratch(never);
        const placed_csr a(where.ctx, images);
        const spmv_options o{.transposed = transposed, .variant = variant};
        const const_values x(nullptr, transposed ? 2000 : 3000, value_type::f64);
        const values y(nullptr, transposed ? 3000 : 2000, value_type::f64);
        const explanation why = explain_spmv(where.ctx, a.view(), x, y, o);
        if (why.choice() == nullptr) continue;
        const std::uint64_t most = why.choice()->scratch_bytes;
        const image whole = product_of(where.ctx, a.view(), o);
        where.ctx.limit_scratch(most);
        expect_bytes(product_of(where.ctx, a.view(), o).bytes, whole, "y");
        if (most == 0 || variant.empty()) continue;
        where.ctx.limit_scratch(most - 1);
        const std::string words = message_of(error_code::out_of_memory, [&] { product_of(where.ctx, a.view(), o); });
        EXPECT_TRUE(words.starts_with("spmv: ")) << words;
        where.ctx.limit_scratch(never);
      }
    }
  }
}

TEST(SpmvMemory, PreparedRunsKeepToTheScratchLimit) {
  // The transposed matrix has one long row, whose pieces threads share.
  const csr_images images(made_rows("one column", 200'000, 1, [](std::uint64_t) { return column_list{0}; }), {});
  context ctx = context::cpu(4);
  const placed_csr a(ctx, images);
  const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 1, {.transposed = true, .variant = "cpu.transposed"});
  const image whole = run_of(ctx, prepared, a.view(), true, 1, 0);
  ctx.limit_scratch(8);
  const std::string words = message_of(error_code::out_of_memory, [&] { run_of(ctx, prepared, a.view(), true, 1, 0); });
  EXPECT_TRUE(words.starts_with("prepared_spmv: cpu.transposed takes ")) << words;
  EXPECT_TRUE(words.ends_with(" bytes of scratch, but the context's limit is 8")) << words;
  ctx.limit_scratch(never);
  expect_bytes(run_of(ctx, prepared, a.view(), true, 1, 0).bytes, whole, "y");
}

// Counters of 2^59 columns and four threads would be 2^64 bytes.
TEST(SpmvMemory, MoreColumnsThanMemoryHasCountersForAreRejected) {
  const csr_images images(made_rows("one column", 200'000, 1, [](std::uint64_t) { return column_list{0}; }), {});
  const context ctx = context::cpu(4);
  const placed_csr placed_a(ctx, images);
  csr_view a = placed_a.view();
  a.columns = std::uint64_t{1} << 59;
  const std::string words = message_of(
      error_code::no_variant, [&] { prepare_spmv(ctx, a, 1, {.transposed = true, .variant = "cpu.transposed"}); });
  EXPECT_NE(words.find("a counter for each column and thread is more than memory can hold"), std::string::npos)
      << words;
}

// The preparation and its vectors have memory, its runs have none.
TEST(SpmvMemory, APreparationWhoseRunsHaveNoMemoryIsNotTaken) {
  const csr_images images(made_rows("one column", 200'000, 1, [](std::uint64_t) { return column_list{0}; }), {});
  context ctx = context::cpu(4);
  const placed_csr a(ctx, images);
  const image from = numbers(200'000, value_type::f64, x_at, false);
  const image to = numbers(1, value_type::f64, y_at, false);
  const placed x(ctx, from);
  const placed y(ctx, to);
  failing_memory memory(ctx);
  ctx.use(memory.resource());
  const std::uint64_t run_bytes = [&] {
    const prepared_spmv forced = prepare_spmv(ctx, a.view(), 1, {.transposed = true, .variant = "cpu.transposed"});
    forced.run(const_values_of(x.view(), value_type::f64), values_of(y.view(), value_type::f64));
    return memory.last_bytes;
  }();
  memory.refused_bytes = run_bytes;
  {
    const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 1'000'000'000, {.transposed = true});
    EXPECT_GT(memory.refused, 0U) << "another preparation was planned";
    EXPECT_EQ(prepared.report().variant, "kept");
    EXPECT_EQ(prepared.report().kept_bytes, 0U);
    EXPECT_EQ(prepared.report().run_seconds, prepared.report().unprepared_seconds);
    prepared.run(const_values_of(x.view(), value_type::f64), values_of(y.view(), value_type::f64));
  }
  EXPECT_EQ(memory.bytes, 0U);
  ctx.use(memory.under);
}

TEST(SpmvMemory, AnyAllocationMayFail) {
  const csr_images images(power_law(3000, 200'000), {});
  for (named_context& where : spmv_contexts()) {
    SCOPED_TRACE(where.name);
    const placed_csr a(where.ctx, images);
    const image x = numbers(3000, value_type::f64, x_at, false);
    const placed placed_x(where.ctx, x);
    const placed placed_y(where.ctx, x);
    const const_values from = const_values_of(placed_x.view(), value_type::f64);
    const values to = values_of(placed_y.view(), value_type::f64);
    failing_memory memory(where.ctx);
    where.ctx.use(memory.resource());
    bool has_failed = true;
    for (std::uint64_t failing = 0; has_failed; ++failing) {
      SCOPED_TRACE(failing);
      ASSERT_LT(failing, 100U);
      memory.calls = 0;
      memory.fails_at = failing;
      has_failed = false;
      const auto try_call = [&](std::string_view call, auto work) {
        try {
          work();
        } catch (const error& e) {
          has_failed = true;
          EXPECT_EQ(e.code(), error_code::out_of_memory) << e.what();
          EXPECT_TRUE(std::string_view(e.what()).starts_with(call)) << e.what();
        }
        where.ctx.wait();
        EXPECT_EQ(memory.bytes, 0U) << "memory was not given back";
      };
      try_call("spmv: ", [&] { spmv(where.ctx, a.view(), from, to); });
      try_call("spmv: ", [&] { spmv(where.ctx, a.view(), from, to, {.transposed = true}); });
      if (where.ctx.backend() == backend_kind::cpu) {
        try_call("spmv: ", [&] { spmv(where.ctx, a.view(), from, to, {.variant = "cpu.two_step"}); });
        try_call("prepare", [&] {
          prepare_spmv(where.ctx, a.view(), 5, {.transposed = true, .variant = "cpu.transposed"}).run(from, to);
        });
        for (const char* const variant : {"cpu.diagonals", "cpu.bsr", "cpu.blocked"}) {
          try_call("prepare", [&] { prepare_spmv(where.ctx, a.view(), 5, {.variant = variant}).run(from, to); });
        }
      }
      has_failed |= memory.calls > failing;
    }
    where.ctx.use(memory.under);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_prepare_spmv_test
