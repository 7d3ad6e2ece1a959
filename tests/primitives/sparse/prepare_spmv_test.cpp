// A prepared product is spmv's, in every run; it copies what it says, names what is wrong with a matrix, and survives
// every allocation that fails. Products keep to the limit on scratch.
#include <sheaf/spmv.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/sparse/prepare_spmv.hpp"
#include "support/csr_trial.hpp"
#include "support/expect_error.hpp"
#include "support/failing_memory.hpp"

namespace sheaf::tests {
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
  if (variant.starts_with("cuda.") && a.has_row_ends) return false;
  const bool is_of_rows = variant == "cuda.blocked" || variant == "cuda.compressed";
  if (is_of_rows && (transposed || a.values.count == 0 || a.columns == 0)) return false;
  return transposed || !variant.ends_with(".transposed");
}

TEST(PrepareSpmv, RunsAreProductsByTheMatrix) {
  for (const sparse_rows& m : every_matrix()) {
    for (const csr_layout layout : {csr_layout{}, csr_layout{value_type::f32, index_type::i32, index_type::i64, true},
                                    csr_layout{value_type::f32, index_type::u32, index_type::u32, false}}) {
      const csr_images images(m, layout);
      std::vector<named_context> contexts = spmv_contexts();
      if (auto opengl = opengl_context()) contexts.push_back({"opengl", *opengl});
      for (const named_context& where : contexts) {
        const placed_csr a(where.ctx, images);
        for (const auto& v : primitives::prepare_spmv_variants()) {
          if (!v.works_on(where.ctx.backend())) continue;
          for (const bool transposed : {false, true}) {
            if (!takes(where.ctx, v.name, a.view(), transposed)) continue;
            SCOPED_TRACE(fmt::format("{}, {}, {}, {}, transposed {}", m.name, layout.description(), where.name, v.name,
                                     transposed));
            const prepared_spmv prepared =
                prepare_spmv(where.ctx, a.view(), 3, {.transposed = transposed, .variant = v.name});
            EXPECT_EQ(prepared.report().variant, v.name);
            // A matrix with a long row is not grouped.
            const bool is_copied = v.name != "kept" && prepared.report().product != "cuda.rows";
            if (!m.rows.empty()) {
              EXPECT_EQ(prepared.report().kept_bytes > 0, is_copied || v.name.ends_with(".transposed"));
            }
            for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{0.7, -0.3}}) {
              const spmv_options o{.alpha = alpha, .beta = beta, .transposed = transposed};
              expect_near(run_of(where.ctx, prepared, a.view(), transposed, alpha, beta),
                          expected_of(m, o, layout.value), layout.value);
            }
          }
        }
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PrepareSpmv, HasTheSameBitsForEveryNumberOfThreads) {
  const csr_images images(power_law(3000, 200'000), {});
  for (const bool transposed : {false, true}) {
    image first;
    for (const int threads : {1, 2, 7}) {
      const context ctx = context::cpu(threads);
      const placed_csr a(ctx, images);
      const prepared_spmv prepared = prepare_spmv(
          ctx, a.view(), 100, {.transposed = transposed, .variant = transposed ? "cpu.transposed" : "kept"});
      for (int run = 0; run < 5; ++run) {
        const image found = run_of(ctx, prepared, a.view(), transposed, 1, 0);
        if (first.bytes.empty()) first = found;
        expect_bytes(found.bytes, first, fmt::format("{} threads, run {}", threads, run));
      }
    }
  }
}

TEST(PrepareSpmv, ReportsWhatItFoundAndCost) {
  const csr_images images(banded(30'000, 4), {});
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const prepared_spmv forward = prepare_spmv(ctx, a.view(), 1000);
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
}

TEST(PrepareSpmv, IsNoSlowerThanWhatItTimed) {
  const csr_images images(at_random(20'000, 20'000, 8), {});
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const prepared_spmv prepared = prepare_spmv(ctx, a.view(), 100'000, {.transposed = true});
  EXPECT_LE(prepared.report().run_seconds, prepared.report().unprepared_seconds);
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
    const prepared_spmv kept = prepare_spmv(ctx, a.view(), 5);
    expect_error(error_code::bad_index, "spmv: " + words, [&] { run_of(ctx, kept, a.view(), false, 1, 0); });
  }
  set_entry(images.begins, 51, 246);
  const placed_csr a(ctx, images);
  expect_error(error_code::bad_index, "prepare_spmv: row 50 begins at 247 and ends at 246, before it begins",
               [&] { prepare_spmv(ctx, a.view(), 5, {.transposed = true, .variant = "cpu.transposed"}); });
}

TEST(PrepareSpmv, MovedFromObjectsSaySo) {
  const csr_images images(banded(10, 1), {});
  const context ctx = context::cpu(1);
  const placed_csr a(ctx, images);
  prepared_spmv from = prepare_spmv(ctx, a.view(), 1);
  const prepared_spmv to = std::move(from);
  expect_error(error_code::bad_argument, "prepared_spmv: it was moved from, and what it was is another object now",
               [&] {
                 from.run({nullptr, 10, value_type::f64}, {nullptr, 10, value_type::f64});
               });
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
  EXPECT_TRUE(words.ends_with(" bytes of scratch, the context is limited to 8")) << words;
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
  EXPECT_NE(words.find("no memory holds a counter for each column and thread"), std::string::npos) << words;
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
      }
      has_failed |= memory.calls > failing;
    }
    where.ctx.use(memory.under);
  }
}

}  // namespace
}  // namespace sheaf::tests
