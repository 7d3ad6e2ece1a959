// What spmv and prepare_spmv refuse, and in which words; and what they say of their plans.
#include <sheaf/spmv.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::primitives_sparse_spmv_arguments_test {
namespace {

class SpmvArguments : public testing::Test {
 protected:
  void refuses(const std::string& message, const csr_view& a, const_values from, values to,
               const spmv_options& o = {}) {
    expect_error(error_code::bad_argument, "spmv: " + message, [&] { spmv(ctx, a, from, to, o); });
  }
  void refuses_matrix(const std::string& message, const csr_view& a) {
    refuses(message, a, x, y);
    expect_error(error_code::bad_argument, "spmv: " + message, [&] { explain_spmv(ctx, a, x, y); });
    expect_error(error_code::bad_argument, "prepare_spmv: " + message, [&] { prepare_spmv(ctx, a, 1); });
  }
  csr_view matrix() const { return {2, 3, offsets, columns, numbers}; }

  context ctx = context::cpu(2);
  std::vector<std::uint64_t> offsets{0, 2, 3};
  std::vector<std::uint32_t> columns{0, 2, 1};
  std::vector<double> numbers{1, 2, 3};
  std::vector<double> x{1, 1, 1};
  std::vector<double> y{0, 0};
};

TEST_F(SpmvArguments, LengthsMustAgree) {
  refuses("x has 2 values for 3 columns", matrix(), y, y);
  refuses("y has 3 values for 2 rows", matrix(), x, x);
  refuses("x has 3 values for 2 rows", matrix(), x, x, {.transposed = true});
  refuses_matrix("3 row offsets for 3 rows, not one more", {3, 3, offsets, columns, numbers});
  refuses_matrix("column_indices has 2 entries, but values has 3",
                 {2, 3, offsets, index_span(columns.data(), 2, index_type::u32), numbers});
  const std::vector<std::uint64_t> two{0, 1};
  refuses_matrix("3 row begins and 2 row ends for 2 rows", {2, 3, offsets, two, columns, numbers});
  refuses_matrix("the matrix has 9223372036854775807 rows, more than memory can hold",
                 {~std::uint64_t{0} / 2, 3, offsets, columns, numbers});
}

TEST_F(SpmvArguments, TypesMustAgree) {
  const std::vector<float> narrow{1, 1, 1};
  refuses("x has values of type f32, but the matrix has f64", matrix(), narrow, y);
  const std::vector<std::int32_t> whole{1, 2, 3};
  refuses_matrix("the matrix has values of an integer type, not f32 or f64", {2, 3, offsets, columns, whole});
  const std::vector<std::uint64_t> begins{0, 2};
  const std::vector<std::uint32_t> ends{2, 3};
  refuses_matrix("row begins and row ends are of different types", {2, 3, begins, ends, columns, numbers});
  refuses("sums is 7, not 0 to 1", matrix(), x, y, {.sums = static_cast<spmv_sums>(7)});
  refuses("the order is 2, not 0 to 1", matrix(), x, y, {.order = static_cast<reduction_order>(2)});
  expect_error(error_code::bad_argument, "prepare_spmv: the order is 2, not 0 to 1",
               [&] { prepare_spmv(ctx, matrix(), 1, {.order = static_cast<reduction_order>(2)}); });
  refuses_matrix("the type of column_indices is 9, not 0 to 3",
                 {2, 3, offsets, index_span(columns.data(), 3, static_cast<index_type>(9)), numbers});
}

TEST_F(SpmvArguments, MemoryIsThereAlignedAndApart) {
  refuses("x is null", matrix(), {nullptr, 3, value_type::f64}, y);
  refuses("y is null", matrix(), x, {nullptr, 2, value_type::f64});
  const auto shifted = [](auto* data) { return reinterpret_cast<std::byte*>(data) + 2; };
  refuses("x is not aligned to its 8 bytes", matrix(), {shifted(x.data()), 3, value_type::f64}, y);
  refuses("column_indices is not aligned to its 4 bytes",
          {2, 3, offsets, index_span(shifted(columns.data()), 3, index_type::u32), numbers}, x, y);
  refuses("row_offsets is null", {2, 3, index_span(nullptr, 3, index_type::u64), columns, numbers}, x, y);
  refuses("y overlaps x", matrix(), x, {x.data() + 1, 2, value_type::f64});
  refuses("y overlaps values", matrix(), x, {numbers.data(), 2, value_type::f64});
  refuses("y overlaps row_offsets", matrix(), x, {offsets.data() + 1, 2, value_type::f64});
  const prepared_spmv prepared = prepare_spmv(ctx, matrix(), 1);
  expect_error(error_code::bad_argument, "prepared_spmv: y overlaps x",
               [&] { prepared.run(x, values(x.data(), 2, value_type::f64)); });
  expect_error(error_code::bad_argument, "prepared_spmv: x has 2 values for 3 columns", [&] { prepared.run(y, y); });
}

TEST_F(SpmvArguments, UnknownVariantsAreNamed) {
  const std::string message =
      message_of(error_code::bad_argument, [&] { spmv(ctx, matrix(), x, y, {.variant = "no"}); });
  EXPECT_NE(message.find("cpu.rows"), std::string::npos) << message;
  EXPECT_NE(message_of(error_code::no_variant,
                       [&] { spmv(ctx, matrix(), y, x, {.transposed = true, .variant = "cpu.rows"}); })
                .find("the product is transposed"),
            std::string::npos);
}

TEST_F(SpmvArguments, PlansTouchNoData) {
  const csr_view large(1 << 20, 1 << 20, index_span(nullptr, (1 << 20) + 1, index_type::u64),
                       index_span(nullptr, std::uint64_t{1} << 33, index_type::u32),
                       const_values(nullptr, std::uint64_t{1} << 33, value_type::f32));
  const const_values from(nullptr, 1 << 20, value_type::f32);
  const values to(nullptr, 1 << 20, value_type::f32);
  for (const bool transposed : {false, true}) {
    const explanation why = explain_spmv(ctx, large, from, to, {.transposed = transposed});
    ASSERT_NE(why.choice(), nullptr);
    EXPECT_EQ(why.choice()->variant, transposed ? "cpu.private" : "cpu.rows");
    EXPECT_GT(why.choice()->seconds, 0.01);
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_spmv_arguments_test
