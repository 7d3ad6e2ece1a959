// Every variant of the sparse matrix-vector product is as near to the exact one as rounding in any order leaves it, and
// has the same bits in every run and for every number of threads.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/sheaf/files/sparse/matrix_market.hpp"
#include "support/expect_error.hpp"
#include "support/scoped_environment.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::primitives_sparse_spmv_test {
namespace {

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::spmv_variants()) names.emplace_back(v.name);
  return names;
}

/// Frame buffers have 32 bits a channel. Points by fragments or in fours are of rows, and one point is one entry.
bool opengl_takes(std::string_view variant, const csr_view& a, const spmv_options& o) {
  if (a.values.type != value_type::f32 || o.sums == spmv_sums::f64) return false;
  if (variant == "opengl.lookup" && (o.transposed ? a.rows : a.columns) > 65536) return false;
  if (a.has_row_ends && variant != "opengl.fragments") return false;
  return !o.transposed || (variant != "opengl.fragments" && variant != "opengl.packed");
}

/// Whether a variant has to take a product.
bool takes(std::string_view variant, const csr_view& a, const spmv_options& o) {
  if (variant.empty() || variant.starts_with("reference.")) return true;
  if (variant == "cuda.merge" && a.has_row_ends) return false;
  if (variant.starts_with("opengl.")) return opengl_takes(variant, a, o);
  if (variant == "cuda.atomic") {
    const bool sums_wide = a.values.type == value_type::f32 && o.sums == spmv_sums::f64;
    return o.transposed && o.order == reduction_order::unordered && !sums_wide;
  }
  return o.transposed == (variant == "cpu.private" || is_for_transposed_on_cuda(variant));
}

class EverySpmvVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device of this backend here";
  }

  bool is_opengl() const { return GetParam().starts_with("opengl."); }
  /// The type of values where a test is of any.
  value_type any_type() const { return is_opengl() ? value_type::f32 : value_type::f64; }

  bool works_on(backend_kind backend) const {
    for (const auto& v : primitives::spmv_variants()) {
      if (v.name == GetParam()) return v.works_on(backend);
    }
    return true;
  }

  /// Options of a call by this variant: cuda.atomic adds in any order alone.
  static spmv_options by_variant(spmv_options o) {
    o.variant = GetParam();
    if (!keeps_bits()) o.order = reduction_order::unordered;
    return o;
  }
  static bool keeps_bits() { return GetParam() != "cuda.atomic"; }

  /// Contexts that this variant works on.
  std::vector<named_context> contexts() const {
    if (is_opengl()) return contexts_to_try(GetParam());
    std::vector<named_context> all = spmv_contexts();
    std::erase_if(all, [this](const named_context& where) { return !works_on(where.ctx.backend()); });
    return all;
  }

  void expect_products(const sparse_rows& m, const csr_layout& layout, spmv_options o) {
    if (is_opengl() && (layout.value == value_type::f64 || o.sums == spmv_sums::f64)) return;
    SCOPED_TRACE(fmt::format("{}, {}, alpha {}, beta {}{}{}", m.name, layout.description(), o.alpha, o.beta,
                             o.transposed ? ", transposed" : "", o.sums == spmv_sums::f64 ? ", f64 sums" : ""));
    o = by_variant(o);
    const csr_images images(m, layout);
    std::optional<expected_product> expected;
    image of_first;
    for (const named_context& where : contexts()) {
      SCOPED_TRACE(where.name);
      const placed_csr a(where.ctx, images);
      if (!takes(GetParam(), a.view(), o)) continue;
      if (!expected) expected = expected_of(m, o, layout.value);
      const image found = product_of(where.ctx, a.view(), o);
      expect_near(found, *expected, layout.value);
      a.expect_unchanged();
      if (where.ctx.backend() != backend_kind::cpu || GetParam().empty()) continue;
      if (of_first.bytes.empty()) of_first = found;
      expect_bytes(found.bytes, of_first, "y of another number of threads");
    }
  }
};

constexpr csr_layout layouts[] = {
    {value_type::f64, index_type::u64, index_type::u32, false},
    {value_type::f32, index_type::u32, index_type::u32, false},
    {value_type::f64, index_type::i32, index_type::i32, false},
    {value_type::f32, index_type::i64, index_type::i64, false},
    {value_type::f64, index_type::u32, index_type::u64, true},
    {value_type::f32, index_type::u64, index_type::u32, true},
};

TEST_P(EverySpmvVariant, MultipliesMatricesOfEveryShapeAndType) {
  for (const sparse_rows& m : every_matrix()) {
    for (const csr_layout& layout : layouts) {
      for (const bool transposed : {false, true}) expect_products(m, layout, {.transposed = transposed});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EverySpmvVariant, ScalesAndAddsWhatWasThere) {
  // What a row has is multiplied and added to once, so a renderer in software need not draw many points for it.
  const sparse_rows matrices[] = {at_random(700, 300, 6), power_law(1000, is_opengl() ? 2000 : 30'000)};
  for (const sparse_rows& m : matrices) {
    for (const csr_layout& layout : {layouts[0], layouts[1]}) {
      for (const double alpha : {1.0, -0.3, 0.0}) {
        for (const double beta : {0.0, 1.0, 2.7}) {
          for (const bool transposed : {false, true}) {
            for (const spmv_sums sums : {spmv_sums::as_values, spmv_sums::f64}) {
              expect_products(m, layout, {.alpha = alpha, .beta = beta, .transposed = transposed, .sums = sums});
            }
          }
        }
      }
    }
  }
}

TEST_P(EverySpmvVariant, RowsMayShareEntries) {
  // 40 rows of the same 50000 places, more long rows than rows apart could be; and short ones inside them.
  constexpr std::uint64_t places = 50'000;
  const sparse_rows one = made_rows("one row", 1, 700, [](std::uint64_t r) { return drawn_columns(r, places, 700); });
  sparse_rows shared{"shared rows", 700, {}};
  csr_images images(one, {value_type::f64, index_type::u32, index_type::u32, true});
  images.rows = 60;
  images.begins = poisoned(60, 4, 4, 0, false);
  images.ends = poisoned(60, 4, 4, 0, false);
  for (std::uint64_t r = 0; r < 60; ++r) {
    const std::uint64_t begin = r < 40 ? r : 100 * r;
    const std::uint64_t end = r < 40 ? places : 100 * r + r % 9;
    set_entry(images.begins, r, begin);
    set_entry(images.ends, r, end);
    shared.rows.emplace_back(one.rows[0].begin() + static_cast<std::ptrdiff_t>(begin),
                             one.rows[0].begin() + static_cast<std::ptrdiff_t>(end));
  }
  for (const bool transposed : {false, true}) {
    const spmv_options o = by_variant({.transposed = transposed});
    const expected_product expected = expected_of(shared, o, value_type::f64);
    image of_first;
    for (const named_context& where : contexts()) {
      SCOPED_TRACE(where.name);
      const placed_csr a(where.ctx, images);
      if (!takes(GetParam(), a.view(), o)) continue;
      const image found = product_of(where.ctx, a.view(), o);
      expect_near(found, expected, value_type::f64);
      if (GetParam().empty() || where.ctx.backend() != backend_kind::cpu) continue;
      if (of_first.bytes.empty()) of_first = found;
      expect_bytes(found.bytes, of_first, "y of another number of threads");
    }
  }
}

TEST_P(EverySpmvVariant, SumsOfF64RoundOnce) {
  // 2^24 + 1 is no float, and 1 - 1 is 0 only where 2^24 was not rounded in between.
  sparse_rows m{"one row", 4, {{{0, 16777216}, {1, 1}, {2, 1}, {3, -16777216}}}};
  const csr_images images(m, {.value = value_type::f32});
  for (const named_context& where : contexts()) {
    const placed_csr a(where.ctx, images);
    const spmv_options o = by_variant({.sums = spmv_sums::f64});
    if (!takes(GetParam(), a.view(), o)) continue;
    const image x = numbers(
        4, value_type::f32, [](std::uint64_t) { return 1.0; }, false);
    const image y = numbers(
        1, value_type::f32, [](std::uint64_t) { return 0.0; }, true);
    const placed placed_x(where.ctx, x);
    const placed placed_y(where.ctx, y);
    spmv(where.ctx, a.view(), const_values_of(placed_x.view(), value_type::f32),
         values_of(placed_y.view(), value_type::f32), o);
    where.ctx.wait();
    image found = y;
    found.bytes = placed_y.download();
    EXPECT_EQ(number_at(found, 0, value_type::f32), 2.0);
  }
}

TEST_P(EverySpmvVariant, IsTheSameBitsInAHundredRuns) {
  if (!keeps_bits()) GTEST_SKIP() << "adds in any order";
  // Contexts of the CPU differ in threads, and all have to give the same bits. A renderer in software draws few points.
  const csr_images images(is_opengl() ? power_law(300, 2000) : power_law(3000, 200'000), {.value = value_type::f32});
  std::vector<named_context> all = contexts();
  for (const int threads : {1, 2, 7}) all.push_back({fmt::format("{} threads", threads), context::cpu(threads)});
  for (const backend_kind backend : {backend_kind::cpu, backend_kind::cuda, backend_kind::opengl}) {
    std::vector<named_context> of_backend = all;
    std::erase_if(of_backend, [&](const named_context& where) { return where.ctx.backend() != backend; });
    for (const bool transposed : {false, true}) {
      image first;
      for (std::size_t run = 0; run < 100 && !of_backend.empty(); ++run) {
        const context& ctx = of_backend[run % of_backend.size()].ctx;
        const placed_csr a(ctx, images);
        const spmv_options o = by_variant({.transposed = transposed});
        if (!works_on(ctx.backend()) || !takes(GetParam(), a.view(), o)) break;
        // A context plans by its threads, and variants differ in their bits.
        if (GetParam().empty() && backend == backend_kind::cpu && ctx.threads() != of_backend[0].ctx.threads())
          continue;
        const image found = product_of(ctx, a.view(), o);
        if (first.bytes.empty()) first = found;
        expect_bytes(found.bytes, first, fmt::format("run {}", run));
        if (HasFailure()) return;
      }
    }
  }
}

/// Values and x are whole numbers, so that sums are exact in any order.
TEST_P(EverySpmvVariant, AddsWholeNumbersExactlyInAnyOrder) {
  const auto whole = [](std::uint64_t i) { return static_cast<double>(inputs::mix(i) % 9) - 4; };
  for (sparse_rows m : {at_random(700, 300, 6), power_law(500, is_opengl() ? 2000 : 30'000), banded(900, 8),
                        made_rows("one column", 3000, 1, [](std::uint64_t) { return column_list{0}; })}) {
    std::uint64_t place = 0;
    for (auto& row : m.rows) {
      for (csr_entry& e : row) e.value = whole(++place);
    }
    for (const value_type type : {value_type::f32, value_type::f64}) {
      for (const bool is_transposed : {false, true}) {
        const spmv_options o =
            by_variant({.alpha = 0.5, .beta = 2, .transposed = is_transposed, .order = reduction_order::unordered});
        const std::uint64_t x_count = is_transposed ? m.rows.size() : m.columns;
        std::vector<double> expected(is_transposed ? m.columns : m.rows.size(), 6);  // 2 times 3
        for (std::uint64_t r = 0; r < m.rows.size(); ++r) {
          for (const csr_entry& e : m.rows[r]) {
            expected[is_transposed ? e.column : r] += 0.5 * e.value * whole(is_transposed ? r : e.column);
          }
        }
        const csr_images images(m, {.value = type});
        for (const named_context& where : contexts()) {
          SCOPED_TRACE(fmt::format("{}, {} bytes, transposed {}, {}", m.name, bytes(type), is_transposed, where.name));
          const placed_csr a(where.ctx, images);
          if (!takes(GetParam(), a.view(), o)) continue;
          const image x_image = numbers(x_count, type, whole, false);
          const image y_image = numbers(
              expected.size(), type, [](std::uint64_t) { return 3.0; }, true);
          const placed x(where.ctx, x_image);
          const placed y(where.ctx, y_image);
          spmv(where.ctx, a.view(), const_values_of(x.view(), type), values_of(y.view(), type), o);
          where.ctx.wait();
          image found = y_image;
          found.bytes = y.download();
          for (std::uint64_t i = 0; i < expected.size(); ++i) ASSERT_EQ(number_at(found, i, type), expected[i]) << i;
        }
      }
    }
  }
}

TEST_P(EverySpmvVariant, MayKeepItsOrderWhereAnyIsAllowed) {
  if (!keeps_bits()) GTEST_SKIP() << "adds in any order";
  if (GetParam().empty()) GTEST_SKIP() << "the planner may take another variant";
  const csr_images images(at_random(700, 300, 6), {.value = any_type()});
  for (const named_context& where : contexts()) {
    SCOPED_TRACE(where.name);
    const placed_csr a(where.ctx, images);
    for (const bool transposed : {false, true}) {
      spmv_options o = by_variant({.transposed = transposed});
      if (!takes(GetParam(), a.view(), o)) continue;
      const image found = product_of(where.ctx, a.view(), o);
      o.order = reduction_order::unordered;
      expect_bytes(product_of(where.ctx, a.view(), o).bytes, found, "y of any order");
    }
  }
}

TEST_P(EverySpmvVariant, LetsNanAndInfinityThroughAndNoFurther) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Row 0 has infinity, 1 NaN, 2 infinity times 0, 3 infinity less infinity, 4 numbers, 5 nothing.
  const sparse_rows m{
      "not finite",
      3,
      {{{0, infinity}, {1, 1}}, {{1, nan}}, {{2, infinity}}, {{0, infinity}, {1, -infinity}}, {{1, 2}}, {}}};
  const value_type type = any_type();
  const auto x_of = [](std::uint64_t i) { return i == 2 ? 0.0 : 1.0; };
  const auto expect_y = [&](const named_context& where, bool is_transposed) {
    SCOPED_TRACE(fmt::format("{}, transposed {}", where.name, is_transposed));
    const csr_images images(is_transposed ? transposed(m) : m, {.value = type});
    const placed_csr a(where.ctx, images);
    const spmv_options o = by_variant({.transposed = is_transposed});
    if (!takes(GetParam(), a.view(), o)) return;
    const image x = numbers(3, type, x_of, false);
    const image y = numbers(
        6, type, [&](std::uint64_t) { return nan; }, true);
    const placed placed_x(where.ctx, x);
    const placed placed_y(where.ctx, y);
    const auto run = [&](double beta) {
      spmv(where.ctx, a.view(), const_values_of(placed_x.view(), type), values_of(placed_y.view(), type),
           by_variant({.beta = beta, .transposed = is_transposed}));
      where.ctx.wait();
      image found = y;
      found.bytes = placed_y.download();
      return found;
    };
    const image found = run(0);
    EXPECT_EQ(number_at(found, 0, type), infinity);
    for (const std::uint64_t row : {1, 2, 3}) EXPECT_TRUE(std::isnan(number_at(found, row, type))) << row;
    EXPECT_EQ(number_at(found, 4, type), 2);
    EXPECT_EQ(number_at(found, 5, type), 0);
    const image again = run(-1);
    for (const std::uint64_t row : {0, 1, 2, 3}) EXPECT_TRUE(std::isnan(number_at(again, row, type))) << row;
    EXPECT_EQ(number_at(again, 4, type), 0);
  };
  for (const named_context& where : contexts()) {
    for (const bool is_transposed : {false, true}) expect_y(where, is_transposed);
  }
}

TEST_P(EverySpmvVariant, MultipliesRealMatrices) {
  const char* data = std::getenv("SHEAF_DATA_DIR");
  const std::filesystem::path folder = std::filesystem::path(data == nullptr ? "" : data) / "matrices";
  if (data == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "SHEAF_DATA_DIR names no folder with matrices/ in it";
  }
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const sparse_rows wide = rows_of(file.path().filename(), io::read_matrix_market<double>(file.path()));
    const sparse_rows narrow = rows_of(file.path().filename(), io::read_matrix_market<float>(file.path()));
    for (const bool transposed : {false, true}) {
      expect_products(wide, {.value = value_type::f64}, {.transposed = transposed});
      for (const spmv_sums sums : {spmv_sums::as_values, spmv_sums::f64}) {
        expect_products(narrow, {.value = value_type::f32}, {.transposed = transposed, .sums = sums});
      }
    }
    ++files;
  }
  EXPECT_GT(files, 0U);
}

/// Gives the three places behind each row, which belong to none, a column.
void set_places_of_no_row(csr_images& images, const sparse_rows& m, std::uint64_t column) {
  std::uint64_t place = 0;
  for (std::uint64_t r = m.rows.size(); r-- > 0;) {
    place += m.rows[r].size();
    for (int i = 0; i < 3; ++i) set_entry(images.column_indices, place++, column);
  }
}

/// Products by a variant of two steps have the same bits whether their gather is the first or the second of two, each
/// forced by its name in the environment of the contexts that make_contexts makes.
template <class MakeContexts>
void expect_same_bits_by_gathers(const std::string& backend, const MakeContexts& make_contexts) {
  const auto forced_to = [&](const std::string& gather) {
    const scoped_environment forced("SHEAF_VARIANT", "gather:" + backend + gather);
    return make_contexts();
  };
  const std::vector<context> multipass = forced_to(".multipass");
  const std::vector<context> direct = forced_to(".direct");
  const std::string variant = backend + ".two_step";
  const spmv_options o{.variant = variant};
  const auto gather_seconds = [&](const context& ctx, const csr_view& a) {
    const explanation why = explain_spmv(ctx, a, {nullptr, a.columns, value_type::f64},
                                         {nullptr, a.rows, value_type::f64}, {.variant = variant});
    for (const cost_term& term : why.choice()->terms) {
      if (std::string_view(term.what) == "gather") return term.seconds;
    }
    return 0.0;
  };
  for (const sparse_rows& m : {at_random(3000, 2'000'000, 8), r_mat(12, 8), grid_27(12)}) {
    for (const bool has_row_ends : {false, true}) {
      csr_images images(m, {.has_row_ends = has_row_ends});
      if (has_row_ends) set_places_of_no_row(images, m, 0);  // so that all columns may be gathered
      image first;
      for (const context& ctx : multipass) {
        SCOPED_TRACE(fmt::format("{}, {} threads, row ends {}", m.name, ctx.threads(), has_row_ends));
        const placed_csr a(ctx, images);
        const image found = product_of(ctx, a.view(), o);
        expect_near(found, expected_of(m, o, value_type::f64), value_type::f64);
        if (first.bytes.empty()) first = found;
        expect_bytes(found.bytes, first, "y of another number of threads");
      }
      const placed_csr a(direct.back(), images);
      expect_bytes(product_of(direct.back(), a.view(), o).bytes, first, "y by another gather");
      EXPECT_NE(gather_seconds(multipass.back(), a.view()), gather_seconds(direct.back(), a.view()));
    }
  }
}

// The gather of two_step by the paper's multi-pass, which a context takes from its environment.
TEST(SpmvTwoStep, GathersInSeveralPassesWhereThatIsForced) {
  expect_same_bits_by_gathers("cpu", [] {
    return std::vector<context>{context::cpu(1), context::cpu(7), context::cpu(2)};
  });
}

TEST(SpmvTwoStep, GathersInSeveralPassesOnADeviceWhereThatIsForced) {
  if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  expect_same_bits_by_gathers("cuda", [] { return std::vector<context>{context::cuda(0)}; });
}

// Between rows with ends of their own lies what no row names: columns that are good, or that would be reported.
TEST(SpmvTwoStep, PlacesOfNoRowAreNoFault) {
  const sparse_rows m = at_random(3000, 5000, 40);
  const spmv_options o{.variant = "cpu.two_step"};
  const expected_product expected = expected_of(m, o, value_type::f64);
  for (const index_type column : {index_type::u32, index_type::i32, index_type::i64}) {
    csr_images images(m, {.column = column, .has_row_ends = true});
    image first;
    for (const bool is_good : {true, false}) {
      for (const int threads : {1, 2, 7}) {
        SCOPED_TRACE(fmt::format("good {}, {} threads", is_good, threads));
        const context ctx = context::cpu(threads);
        set_places_of_no_row(images, m, is_good ? 17 : ~std::uint64_t{0});
        const placed_csr a(ctx, images);
        const image found = product_of(ctx, a.view(), o);
        expect_near(found, expected, value_type::f64);
        if (first.bytes.empty()) first = found;
        expect_bytes(found.bytes, first, "y");
      }
    }
  }
}

/// A matrix with something wrong, and what is said of it.
struct bad_matrix {
  std::string message;  ///< behind "spmv: "
  sparse_rows rows;
  csr_layout layout;
  void (*spoil)(csr_images& images);
};

std::vector<bad_matrix> bad_matrices() {
  constexpr csr_layout three{};
  constexpr csr_layout narrow{value_type::f32, index_type::i32, index_type::i32, false};
  constexpr csr_layout wide{value_type::f64, index_type::i64, index_type::i64, false};
  constexpr csr_layout four{value_type::f64, index_type::u32, index_type::u64, true};
  const sparse_rows small = banded(100, 2);  // row 50 has the places 247 to 252
  const sparse_rows large = banded(40'000, 2);
  return {
      {"column_indices[248], of row 50, is 100, past the matrix's 100 columns", small, three,
       [](csr_images& m) { set_entry(m.column_indices, 248, 100); }},
      {"column_indices[248], of row 50, is 4294967295, past the matrix's 100 columns", small, three,
       [](csr_images& m) {
         set_entry(m.column_indices, 248, ~0U);
         set_entry(m.column_indices, 300, 200);
       }},
      {"column_indices[248], of row 50, is -1, outside the matrix's 100 columns", small, narrow,
       [](csr_images& m) { set_entry(m.column_indices, 248, ~0U); }},
      {"column_indices[248], of row 50, is -7, outside the matrix's 100 columns", small, wide,
       [](csr_images& m) { set_entry(m.column_indices, 248, ~std::uint64_t{0} - 6); }},
      {"column_indices[248], of row 50, is 101, past the matrix's 100 columns", small, wide,
       [](csr_images& m) { set_entry(m.column_indices, 248, 101); }},
      {"row 50 begins at 247 and ends at 246, before it begins", small, three,
       [](csr_images& m) {
         set_entry(m.begins, 51, 246);
         set_entry(m.column_indices, 1, 1000);
       }},
      {"row 49 ends at 495, past the matrix's 494 entries", small, three,
       [](csr_images& m) { set_entry(m.begins, 50, 495); }},
      {"row 0 begins at 18446744073709551615, past the matrix's 494 entries", small, three,
       [](csr_images& m) { set_entry(m.begins, 0, ~std::uint64_t{0}); }},
      {"row 49 ends at -2, outside the matrix's 494 entries", small, narrow,
       [](csr_images& m) { set_entry(m.begins, 50, ~0U - 1); }},
      {"row 0 begins at -1, outside the matrix's 494 entries", small, wide,
       [](csr_images& m) { set_entry(m.begins, 0, ~std::uint64_t{0}); }},
      {"row 99 ends at 4294967295, past the matrix's 794 entries", small, four,
       [](csr_images& m) { set_entry(m.ends, 99, ~0U); }},
      {"row 7 begins at 4294967295, past the matrix's 794 entries", small, four,
       [](csr_images& m) { set_entry(m.begins, 7, ~0U); }},
      {"column_indices[0], of row 99, is 100, past the matrix's 100 columns", small, four,
       [](csr_images& m) { set_entry(m.column_indices, 0, 100); }},
      {"column_indices[150000], of row 30000, is 40001, past the matrix's 40000 columns", large, three,
       [](csr_images& m) {
         set_entry(m.column_indices, 150'000, 40'001);
         set_entry(m.column_indices, 190'000, 40'001);
       }},
      {"row 20000 begins at 99997 and ends at 0, before it begins", large, three,
       [](csr_images& m) {
         for (std::uint64_t r = 20'001; r < 20'041; ++r) set_entry(m.begins, r, r % 2 == 0 ? 199'994 : 0);
       }},
      {"column_indices[2], of row 0, is 0, past the matrix's 0 columns",
       made_rows("no columns", 3, 0, [](std::uint64_t) { return column_list{}; }), three,
       [](csr_images& m) {
         m.column_indices = poisoned(3, 4, 4, 0, false);
         m.values = poisoned(3, bytes(m.layout.value), bytes(m.layout.value), 0, false);
         for (std::uint64_t i = 0; i < 3; ++i) set_entry(m.column_indices, i, 7);
         set_entry(m.column_indices, 2, 0);
         set_entry(m.begins, 0, 2);
         for (const std::uint64_t r : {1, 2, 3}) set_entry(m.begins, r, 3);
       }},
  };
}

TEST_P(EverySpmvVariant, NamesWhatIsWrongWithAMatrix) {
  for (const bad_matrix& bad : bad_matrices()) {
    SCOPED_TRACE(bad.message);
    csr_layout layout = bad.layout;
    if (is_opengl()) layout.value = value_type::f32;
    csr_images images(bad.rows, layout);
    bad.spoil(images);
    for (const named_context& where : contexts()) {
      SCOPED_TRACE(where.name);
      const placed_csr a(where.ctx, images);
      for (const bool transposed : {false, true}) {
        const spmv_options o = by_variant({.transposed = transposed});
        if (!takes(GetParam(), a.view(), o) || (transposed && images.columns == 0)) continue;
        expect_error(error_code::bad_index, "spmv: " + bad.message, [&] { product_of(where.ctx, a.view(), o); });
        where.ctx.wait();
      }
    }
  }
}

// Also an entry whose value times 0 is NaN.
TEST_P(EverySpmvVariant, CountsWhatIsWrongAsAbsent) {
  sparse_rows m = at_random(600, 200, 5);
  const value_type type = any_type();
  csr_images images(m, {.value = type});
  // An entry with no such column.
  const std::uint64_t place = 1234;
  set_entry(images.column_indices, place, 200);
  std::uint64_t left = place;
  for (auto& row : m.rows) {
    if (left < row.size()) {
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(left));
      break;
    }
    left -= row.size();
  }
  const auto expect_absent = [&](const named_context& where, double value, bool is_transposed) {
    SCOPED_TRACE(fmt::format("{}, value {}, transposed {}", where.name, value, is_transposed));
    const placed_csr a(where.ctx, images);
    const spmv_options o = by_variant({.transposed = is_transposed});
    if (takes(GetParam(), a.view(), o)) {
      const image x = numbers(is_transposed ? 600 : 200, type, x_at, false);
      const image y = numbers(is_transposed ? 200 : 600, type, y_at, true);
      const placed placed_x(where.ctx, x);
      const placed placed_y(where.ctx, y);
      const auto multiply = [&] {
        spmv(where.ctx, a.view(), const_values_of(placed_x.view(), type), values_of(placed_y.view(), type), o);
      };
      multiply();
      multiply();  // while the fault of the first is not yet reported
      EXPECT_THROW(where.ctx.wait(), error);
      image found = y;
      found.bytes = placed_y.download();
      expect_near(found, expected_of(m, o, type), type);
    }
  };
  for (const double value : {1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    set_number(images.values, place, type, value);
    for (const named_context& where : contexts()) {
      for (const bool is_transposed : {false, true}) expect_absent(where, value, is_transposed);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spmv, EverySpmvVariant, testing::ValuesIn(variant_names()), test_name_of);

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_spmv_test
