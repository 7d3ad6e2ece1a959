// Products on CUDA have the same bits in every run and wherever their arrays begin, whatever the length of a row, and
// name what is wrong wherever it is. Matrices lie in the device's memory; without a device, all is skipped.
#include <sheaf/spmv.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/sparse/prepare_spmv.hpp"
#include "support/expect_error.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::primitives_sparse_spmv_cuda_test {
namespace {

class SpmvOfADevice : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  static bool keeps_bits() { return GetParam() != "cuda.atomic"; }
  static spmv_options options() {
    return {.transposed = is_for_transposed_on_cuda(GetParam()),
            .order = keeps_bits() ? reduction_order::deterministic : reduction_order::unordered,
            .variant = GetParam()};
  }

  /// The product, and that it is right.
  image right_product(const sparse_rows& m, const csr_layout& layout, spmv_options o) const {
    const csr_images images(m, layout);
    const placed_csr a(*ctx, images);
    image found = product_of(*ctx, a.view(), o);
    expect_near(found, expected_of(m, o, layout.value), layout.value);
    return found;
  }

  std::optional<context> ctx;
};

std::vector<std::string> cuda_variant_names() {
  std::vector<std::string> names;
  for (const auto& v : primitives::spmv_variants()) {
    if (v.name.starts_with("cuda.")) names.emplace_back(v.name);
  }
  return names;
}

TEST_P(SpmvOfADevice, HasTheSameBitsInAHundredRuns) {
  if (!keeps_bits()) GTEST_SKIP() << "adds in any order";
  for (const value_type type : {value_type::f32, value_type::f64}) {
    const csr_images images(power_law(3000, 200'000), {.value = type});
    const placed_csr a(*ctx, images);
    image first;
    for (int run = 0; run < 100; ++run) {
      const image found = product_of(*ctx, a.view(), options());
      if (run == 0) first = found;
      expect_bytes(found.bytes, first, fmt::format("run {}", run));
      if (HasFailure()) return;
    }
  }
}

TEST_P(SpmvOfADevice, HasTheSameBitsOnEveryStreamAndBesideOtherWork) {
  if (!keeps_bits()) GTEST_SKIP() << "adds in any order";
  const csr_images images(power_law(5000, 300'000), {.value = value_type::f32});
  const placed_csr a(*ctx, images);
  const image first = product_of(*ctx, a.view(), options());
  const context other = context::cuda(0);
  const placed_csr there(other, images);
  const image x = numbers(5000, value_type::f32, x_at, false);
  const placed placed_x(*ctx, x);
  const placed placed_y(*ctx, x);
  for (int run = 0; run < 20; ++run) {
    // Products that are queued and not waited for take multiprocessors from those that are compared.
    for (int i = 0; i < 5; ++i) {
      spmv(*ctx, a.view(), const_values_of(placed_x.view(), value_type::f32),
           values_of(placed_y.view(), value_type::f32), options());
    }
    expect_bytes(product_of(other, there.view(), options()).bytes, first, fmt::format("run {}", run));
    ctx->wait();
  }
}

TEST_P(SpmvOfADevice, AddsRowsLongerThanAMillionEntries) {
  constexpr std::uint64_t longest = (std::uint64_t{1} << 20) + 4099;
  const sparse_rows m = made_rows("two rows of a million entries", 9, 5000, [](std::uint64_t r) {
    return drawn_columns(r, r == 3 || r == 8 ? longest : 7 * r, 5000);
  });
  for (const csr_layout& layout :
       {csr_layout{}, csr_layout{.value = value_type::f32, .offset = index_type::i32, .column = index_type::i64}}) {
    SCOPED_TRACE(layout.description());
    for (const double beta : {0.0, -0.5}) {
      spmv_options o = options();
      o.beta = beta;
      right_product(m, layout, o);
    }
  }
}

TEST_P(SpmvOfADevice, MultipliesRowsOfEveryMeanLength) {
  for (const std::uint64_t mean : {1, 3, 6, 12, 15, 31, 70, 130, 600}) {
    const sparse_rows m = made_rows(fmt::format("{} a row", mean), 777, 2000, [&](std::uint64_t r) {
      return drawn_columns(r, inputs::mix(r) % (2 * mean + 1), 2000);
    });
    SCOPED_TRACE(m.name);
    right_product(m, {.value = value_type::f32}, options());
    right_product(m, {}, options());
    if (HasFailure()) return;
  }
}

TEST_P(SpmvOfADevice, HasTheSameBitsWhereverItsArraysBegin) {
  if (!keeps_bits()) GTEST_SKIP() << "adds in any order";
  const sparse_rows m = at_random(900, 700, 20);
  for (const value_type type : {value_type::f32, value_type::f64}) {
    const csr_images images(m, {.value = type});
    const placed_csr aligned(*ctx, images);
    const image expected = product_of(*ctx, aligned.view(), options());
    csr_images shifted = images;
    const auto shift = [](image& of, std::uint64_t by) {
      of.bytes.insert(of.bytes.begin(), by * of.record_bytes, std::byte{0x5a});
      of.first += by * of.record_bytes;
    };
    for (const std::uint64_t by : {1, 2, 3}) {
      shift(shifted.column_indices, 1);
      shift(shifted.values, by);
      shift(shifted.begins, 1);
      const placed_csr a(*ctx, shifted);
      expect_bytes(product_of(*ctx, a.view(), options()).bytes, expected, fmt::format("shifted, {}", by));
    }
  }
}

TEST_P(SpmvOfADevice, MultipliesMatricesWithoutRowsOrEntries) {
  for (const auto& [rows, columns] : {std::pair{0, 5}, std::pair{5, 0}, std::pair{0, 0}, std::pair{70'000, 3}}) {
    const auto none = [](std::uint64_t) { return column_list{}; };
    const sparse_rows m = made_rows(fmt::format("{} x {}", rows, columns), static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(columns), none);
    SCOPED_TRACE(m.name);
    for (const double beta : {0.0, 2.0}) {
      spmv_options o = options();
      o.beta = beta;
      right_product(m, {}, o);
    }
  }
}

TEST_P(SpmvOfADevice, NamesTheBadColumnOfTheFirstMiddleAndLastEntry) {
  const sparse_rows m = banded(60'000, 2);
  const csr_images good(m, {});
  const std::uint64_t last = good.values.count - 1;
  // Row r has the places from 5 r - 3 on.
  for (const auto& [place, row] :
       {std::pair{std::uint64_t{0}, 0}, std::pair{std::uint64_t{150'000}, 30'000}, std::pair{last, 59'999}}) {
    csr_images images = good;
    set_entry(images.column_indices, place, 60'000);
    if (place < last) set_entry(images.column_indices, last, ~0U);
    const placed_csr a(*ctx, images);
    expect_error(
        error_code::bad_index,
        fmt::format("spmv: column_indices[{}], of row {}, is 60000, past the matrix's 60000 columns", place, row),
        [&] { product_of(*ctx, a.view(), options()); });
    ctx->wait();
  }
}

TEST_P(SpmvOfADevice, NamesTheBadOffsetOfTheFirstMiddleAndLastRow) {
  const sparse_rows m = banded(60'000, 2);
  const csr_images good(m, {});
  const std::uint64_t entries = good.values.count;
  for (const double beta : {0.0, 1.0}) {
    spmv_options o = options();
    o.beta = beta;
    for (const std::uint64_t row : {0, 30'000, 59'999}) {
      csr_images images = good;
      set_entry(images.begins, row + 1, entries + 7);
      set_entry(images.column_indices, 0, 70'000);  // a bad row comes before a bad column
      const placed_csr a(*ctx, images);
      expect_error(error_code::bad_index,
                   fmt::format("spmv: row {} ends at {}, past the matrix's {} entries", row, entries + 7, entries),
                   [&] { product_of(*ctx, a.view(), o); });
      ctx->wait();
    }
  }
}

TEST_P(SpmvOfADevice, CountsBadRowsAsEmpty) {
  sparse_rows m = banded(3000, 2);
  csr_images images(m, {});
  set_entry(images.begins, 1501, 2);  // row 1500 ends before it begins, and row 1501 begins at place 2
  m.rows[1500].clear();
  std::vector<csr_entry> longer;
  std::uint64_t place = 0;
  const std::uint64_t end = 5 * 1502 - 3;
  for (const auto& row : banded(3000, 2).rows) {
    for (const csr_entry& e : row) {
      if (place >= 2 && place < end) longer.push_back({e.column, number_at(images.values, place, value_type::f64)});
      ++place;
    }
  }
  m.rows[1501] = longer;
  for (const double beta : {0.0, 0.5}) {
    spmv_options o = options();
    o.beta = beta;
    const placed_csr a(*ctx, images);
    const image y = numbers(3000, value_type::f64, y_at, true);
    const image x = numbers(3000, value_type::f64, x_at, false);
    const placed placed_x(*ctx, x);
    const placed placed_y(*ctx, y);
    spmv(*ctx, a.view(), const_values_of(placed_x.view(), value_type::f64), values_of(placed_y.view(), value_type::f64),
         o);
    EXPECT_THROW(ctx->wait(), error);
    image found = y;
    found.bytes = placed_y.download();
    expect_near(found, expected_of(m, o, value_type::f64), value_type::f64);
  }
}

/// Runs of a preparation that says what it took.
TEST(PrepareSpmvCuda, RunsHaveTheSameBitsAndAreRight) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  // Columns of many slices, of a band, of rows of which one is too long for a group, and 2.5 million entries in rows of
  // 1 to some 100000, so that windows of any size are more than a device has warps.
  const sparse_rows matrices[] = {at_random(30'000, 300'000, 8), banded(40'000, 5), power_law(3000, 200'000),
                                  power_law(200'000, 200'000)};
  for (const sparse_rows& m : matrices) {
    for (const csr_layout& layout : {csr_layout{}, csr_layout{.value = value_type::f32, .offset = index_type::i32}}) {
      const csr_images images(m, layout);
      const placed_csr a(*ctx, images);
      for (const auto& v : primitives::prepare_spmv_variants()) {
        if (!v.works_on(backend_kind::cuda)) continue;
        SCOPED_TRACE(fmt::format("{}, {}, {}", m.name, layout.description(), v.name));
        const spmv_options o{.transposed = v.name == "cuda.transposed"};
        const prepared_spmv prepared = prepare_spmv(*ctx, a.view(), 5, {.transposed = o.transposed, .variant = v.name});
        const image x = numbers(o.transposed ? a.view().rows : m.columns, layout.value, x_at, false);
        const image y = numbers(
            o.transposed ? m.columns : a.view().rows, layout.value, [](std::uint64_t) { return 7.0; }, true);
        image first;
        const placed placed_x(*ctx, x);
        const expected_product expected = expected_of(m, o, layout.value);
        for (int run = 0; run < 100; ++run) {
          const placed placed_y(*ctx, y);
          prepared.run(const_values_of(placed_x.view(), layout.value), values_of(placed_y.view(), layout.value));
          ctx->wait();
          image found = y;
          found.bytes = placed_y.download();
          if (run == 0) {
            expect_near(found, expected, layout.value);
            first = found;
          }
          expect_bytes(found.bytes, first, fmt::format("run {}", run));
          if (HasFailure()) return;
        }
        a.expect_unchanged();
      }
    }
  }
}

TEST(PrepareSpmvCuda, NamesWhatIsWrongWithAMatrix) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const csr_images good(banded(3000, 2), {});
  for (const auto& v : primitives::prepare_spmv_variants()) {
    // Where there are no blocks, cuda.bsr reads no further, and its runs check the columns.
    if (v.name == "kept" || v.name == "cuda.bsr" || !v.works_on(backend_kind::cuda)) continue;
    SCOPED_TRACE(v.name);
    const prepare_spmv_options o{.transposed = v.name == "cuda.transposed", .variant = v.name};
    csr_images images = good;
    set_entry(images.column_indices, 7000, 3000);
    const placed_csr with_bad_column(*ctx, images);
    expect_error(error_code::bad_index,
                 "prepare_spmv: column_indices[7000], of row 1400, is 3000, past the matrix's 3000 columns",
                 [&] { prepare_spmv(*ctx, with_bad_column.view(), 5, o); });
    set_entry(images.begins, 1501, 2);
    const placed_csr with_bad_row(*ctx, images);
    expect_error(error_code::bad_index, "prepare_spmv: row 1500 begins at 7497 and ends at 2, before it begins",
                 [&] { prepare_spmv(*ctx, with_bad_row.view(), 5, o); });
  }
}

INSTANTIATE_TEST_SUITE_P(SpmvCuda, SpmvOfADevice, testing::ValuesIn(cuda_variant_names()), test_name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SpmvOfADevice);

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_spmv_cuda_test
