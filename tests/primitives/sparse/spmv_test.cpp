// Every variant of the sparse matrix-vector product is as near to the exact one as rounding in any order leaves it, and
// has the same bits in every run and for every number of threads.
#include <sheaf/spmv.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/sparse/matrix_market.hpp"
#include "support/csr_trial.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests {
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
  if ((variant == "cpu.two_step" || variant == "cuda.merge") && a.has_row_ends) return false;
  if (variant.starts_with("opengl.")) return opengl_takes(variant, a, o);
  return o.transposed == (variant == "cpu.private" || variant == "cuda.transposed");
}

class EverySpmvVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device of this backend here";
  }

  bool is_opengl() const { return GetParam().starts_with("opengl."); }
  /// The type of values where a test is of any.
  value_type any_type() const { return is_opengl() ? value_type::f32 : value_type::f64; }

  /// Contexts that this variant works on.
  std::vector<named_context> contexts() const {
    if (is_opengl()) return contexts_to_try(GetParam());
    std::vector<named_context> all = spmv_contexts();
    std::erase_if(all, [](const named_context& where) {
      for (const auto& v : primitives::spmv_variants()) {
        if (v.name == GetParam()) return !v.works_on(where.ctx.backend());
      }
      return false;
    });
    return all;
  }

  void expect_products(const sparse_rows& m, const csr_layout& layout, spmv_options o) {
    if (is_opengl() && (layout.value == value_type::f64 || o.sums == spmv_sums::f64)) return;
    SCOPED_TRACE(fmt::format("{}, {}, alpha {}, beta {}{}{}", m.name, layout.description(), o.alpha, o.beta,
                             o.transposed ? ", transposed" : "", o.sums == spmv_sums::f64 ? ", f64 sums" : ""));
    o.variant = GetParam();
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
    const spmv_options o{.transposed = transposed, .variant = GetParam()};
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
    const spmv_options o{.sums = spmv_sums::f64, .variant = GetParam()};
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
  const csr_images images(power_law(3000, 200'000), {.value = value_type::f32});
  const context contexts[] = {context::cpu(1), context::cpu(2), context::cpu(7)};
  for (const bool transposed : {false, true}) {
    image first;
    for (int run = 0; run < 100; ++run) {
      const context& ctx = contexts[run % 3];
      const placed_csr a(ctx, images);
      const spmv_options o{.transposed = transposed, .variant = GetParam()};
      if (GetParam().starts_with("cuda.") || is_opengl() || !takes(GetParam(), a.view(), o)) break;
      const image found = product_of(ctx, a.view(), o);
      if (first.bytes.empty()) first = found;
      expect_bytes(found.bytes, first, fmt::format("run {}", run));
      if (HasFailure()) return;
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
  const csr_images images(m, {.value = type});
  const auto x_of = [](std::uint64_t i) { return i == 2 ? 0.0 : 1.0; };
  for (const named_context& where : contexts()) {
    const placed_csr a(where.ctx, images);
    const spmv_options o{.variant = GetParam()};
    if (!takes(GetParam(), a.view(), o)) continue;
    const image x = numbers(3, type, x_of, false);
    const image y = numbers(
        6, type, [&](std::uint64_t) { return nan; }, true);
    const placed placed_x(where.ctx, x);
    const placed placed_y(where.ctx, y);
    const auto run = [&](double beta) {
      spmv(where.ctx, a.view(), const_values_of(placed_x.view(), type), values_of(placed_y.view(), type),
           {.beta = beta, .variant = GetParam()});
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
    const auto read = io::read_matrix_market<double>(file.path());
    sparse_rows m{file.path().filename(), read.columns, std::vector<std::vector<csr_entry>>(read.rows)};
    const auto& columns = std::get<std::vector<std::uint32_t>>(read.column_indices);
    for (std::uint64_t r = 0; r < read.rows; ++r) {
      for (std::uint64_t p = read.row_offsets[r]; p < read.row_offsets[r + 1]; ++p) {
        m.rows[r].push_back({columns[p], read.values[p]});
      }
    }
    for (const bool transposed : {false, true}) expect_products(m, {.value = any_type()}, {.transposed = transposed});
    ++files;
  }
  EXPECT_GT(files, 0U);
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
        const spmv_options o{.transposed = transposed, .variant = GetParam()};
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
  for (const double value : {1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    set_number(images.values, place, type, value);
    for (const named_context& where : contexts()) {
      SCOPED_TRACE(fmt::format("{}, value {}", where.name, value));
      const placed_csr a(where.ctx, images);
      const spmv_options o{.variant = GetParam()};
      if (!takes(GetParam(), a.view(), o)) continue;
      const image x = numbers(200, type, x_at, false);
      const image y = numbers(600, type, y_at, true);
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
  }
}

INSTANTIATE_TEST_SUITE_P(Spmv, EverySpmvVariant, testing::ValuesIn(variant_names()), test_name_of);

}  // namespace
}  // namespace sheaf::tests
