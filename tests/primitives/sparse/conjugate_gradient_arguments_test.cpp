// What conjugate_gradient refuses, and in which words; operators; and memory that is short.
#include <sheaf/conjugate_gradient.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/context_state.hpp"
#include "support/expect_error.hpp"
#include "support/trials/system.hpp"

namespace sheaf::tests::primitives_sparse_conjugate_gradient_arguments_test {
namespace {

class SystemArguments : public testing::Test {
 protected:
  void refuses(const std::string& message, const csr_view& a, const_values right, values to,
               const conjugate_gradient_options& o = {}) {
    expect_error(error_code::bad_argument, "conjugate_gradient: " + message,
                 [&] { conjugate_gradient(ctx, a, right, to, o); });
  }
  csr_view matrix() const { return {2, 2, offsets, columns, numbers}; }
  /// Twice its argument.
  static void twice(const context&, const_values in, values out) {
    for (std::uint64_t i = 0; i < in.count; ++i) {
      static_cast<double*>(out.data)[i] = 2 * static_cast<const double*>(in.data)[i];
    }
  }

  context ctx = context::cpu(2);
  std::vector<std::uint64_t> offsets{0, 1, 2};
  std::vector<std::uint32_t> columns{0, 1};
  std::vector<double> numbers{1, 2};
  std::vector<double> b{1, 1};
  std::vector<double> x{0, 0};
  std::vector<double> three{1, 1, 1};
};

TEST_F(SystemArguments, SizesMustAgree) {
  refuses("the matrix is 2 x 3, not square", {2, 3, offsets, columns, numbers}, b, x);
  refuses("b has 3 values for 2 rows", matrix(), three, x);
  refuses("x has 3 values for 2 rows", matrix(), b, three);
  refuses("3 row offsets for 3 rows, not one more", {3, 3, offsets, columns, numbers}, b, x);
  refuses("a diagonal is given, but the matrix has its own", matrix(), b, x, {.diagonal = b});
}

TEST_F(SystemArguments, TypesAndOptionsMustBeThere) {
  std::vector<float> narrow{1, 1};
  refuses("b has values of type f32, but the system has f64", matrix(), narrow, x);
  refuses("x has values of type f32, but the system has f64", matrix(), b, narrow);
  refuses("the tolerance is -1, not 0 or more", matrix(), b, x, {.tolerance = -1});
  refuses("the tolerance is nan, not 0 or more", matrix(), b, x, {.tolerance = std::nan("")});
  refuses("the absolute tolerance is -2, not 0 or more", matrix(), b, x, {.absolute_tolerance = -2});
  refuses("the progress interval is 0, not 1 or more", matrix(), b, x, {.progress_interval = 0});
  refuses("preconditioner is 5, not 0 to 1", matrix(), b, x, {.preconditioner = static_cast<preconditioner>(5)});
  refuses("sums is 7, not 0 to 1", matrix(), b, x, {.sums = static_cast<spmv_sums>(7)});
}

TEST_F(SystemArguments, MemoryIsThereAlignedAndApart) {
  refuses("b is null", matrix(), {nullptr, 2, value_type::f64}, x);
  refuses("x is null", matrix(), b, {nullptr, 2, value_type::f64});
  refuses("x overlaps b", matrix(), b, b);
  refuses("x overlaps values", matrix(), b, numbers);
  refuses("x overlaps row_offsets", matrix(), b, {offsets.data() + 1, 2, value_type::f64});
  refuses("x is not aligned to its 8 bytes", matrix(), b,
          {reinterpret_cast<std::byte*>(x.data()) + 4, 2, value_type::f64});
}

TEST_F(SystemArguments, OperatorsAreCheckedAsMatricesAre) {
  const auto refused = [&](const std::string& message, const linear_operator& apply, const_values right, values to,
                           const conjugate_gradient_options& o = {}) {
    expect_error(error_code::bad_argument, "conjugate_gradient: " + message,
                 [&] { conjugate_gradient(ctx, apply, right, to, o); });
  };
  refused("the operator is empty", {}, b, x);
  refused("x has 3 values for 2 rows", twice, b, three);
  refused("preconditioner::jacobi needs the operator's diagonal", twice, b, x,
          {.preconditioner = preconditioner::jacobi});
  refused("the diagonal has 3 values for 2 rows", twice, b, x,
          {.preconditioner = preconditioner::jacobi, .diagonal = three});
  refused("a diagonal is given without preconditioner::jacobi", twice, b, x, {.diagonal = b});
  const std::vector<std::int32_t> whole{1, 2};
  refused("b has values of an integer type, not f32 or f64", twice, whole, x);
  const std::string message =
      message_of(error_code::no_variant, [&] { conjugate_gradient(ctx, twice, b, x, {.variant = "cpu.fused"}); });
  EXPECT_NE(message.find("needs a matrix, but the system has an operator"), std::string::npos) << message;
}

TEST_F(SystemArguments, OperatorsOfNoRowsNeedNoDiagonal) {
  const std::vector<float> none;
  std::vector<float> to;
  const conjugate_gradient_options o{.preconditioner = preconditioner::jacobi};
  EXPECT_TRUE(conjugate_gradient(ctx, twice, none, to, o).converged());
  conjugate_gradient_options wide = o;
  wide.diagonal = three;
  expect_error(error_code::bad_argument,
               "conjugate_gradient: the diagonal has values of type f64, but the system has f32",
               [&] { conjugate_gradient(ctx, twice, none, to, wide); });
}

TEST_F(SystemArguments, PlansTouchNoData) {
  const std::uint64_t n = 1 << 20;
  const csr_view large(n, n, index_span(nullptr, n + 1, index_type::u64), index_span(nullptr, 8 * n, index_type::u32),
                       const_values(nullptr, 8 * n, value_type::f64));
  const explanation why =
      explain_conjugate_gradient(ctx, large, {nullptr, n, value_type::f64}, {nullptr, n, value_type::f64});
  ASSERT_NE(why.choice(), nullptr);
  EXPECT_EQ(why.choice()->variant, "cpu.fused");
  EXPECT_GT(why.choice()->seconds, 1e-4);
}

// An operator that multiplies by a matrix takes the steps of the matrix.
TEST(SystemOperators, AreSolvedAsTheirMatricesAre) {
  const csr_images images(badly_scaled(8), {});
  std::vector<double> diagonal;
  for (const auto& row : badly_scaled(8).rows) {
    for (const csr_entry& e : row) {
      if (e.column == diagonal.size()) {
        diagonal.push_back(e.value);
        break;
      }
    }
  }
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  std::vector<double> b(512);
  for (std::uint64_t i = 0; i < b.size(); ++i) b[i] = y_at(i);
  std::uint64_t applied = 0;
  const linear_operator product = [&](const context& where, const_values in, values out) {
    ++applied;
    spmv(where, a.view(), in, out);
  };
  for (const char* const variant : {"", "cpu.separate", "reference.serial"}) {
    SCOPED_TRACE(variant);
    for (const preconditioner scaling : {preconditioner::none, preconditioner::jacobi}) {
      conjugate_gradient_options o{.preconditioner = scaling, .variant = variant};
      if (o.variant.empty()) o.variant = "cpu.separate";
      std::vector<double> of_matrix(512);
      std::vector<double> of_operator(512);
      const conjugate_gradient_result expected = conjugate_gradient(ctx, a.view(), b, of_matrix, o);
      if (scaling == preconditioner::jacobi) o.diagonal = diagonal;
      o.variant = variant;
      applied = 0;
      const conjugate_gradient_result found = conjugate_gradient(ctx, product, b, of_operator, o);
      EXPECT_TRUE(found.converged());
      // The reference's sums of a matrix are longer than spmv's.
      EXPECT_NEAR(static_cast<double>(found.iterations), static_cast<double>(expected.iterations),
                  0.02 * static_cast<double>(expected.iterations) + 1);
      if (o.variant != "reference.serial") {
        EXPECT_EQ(found.iterations, expected.iterations);
      }
      EXPECT_EQ(applied, found.iterations + 1 + (o.variant == "reference.serial" ? 1 : 0));
    }
  }
}

TEST(SystemOperators, WhatTheyThrowLeavesTheBestX) {
  const csr_images images(laplacian(8), {});
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const std::vector<double> b(512, 1);
  for (const char* const variant : {"cpu.separate", "reference.serial"}) {
    std::vector<double> after_three(512);
    conjugate_gradient(ctx, a.view(), b, after_three, {.iteration_limit = 3, .variant = variant});
    int applied = 0;
    const int products_before = std::string_view(variant) == "reference.serial" ? 1 : 0;
    std::vector<double> x(512);
    EXPECT_THROW(conjugate_gradient(ctx,
                                    [&](const context& where, const_values in, values out) {
                                      if (++applied == 4 + products_before) throw std::runtime_error("no more");
                                      spmv(where, a.view(), in, out);
                                    },
                                    b, x, {.variant = variant}),
                 std::runtime_error);
    EXPECT_EQ(x, after_three);
  }
}

TEST(SystemOperators, MayHaveFaultsOfTheirOwn) {
  csr_images images(laplacian(8), {});
  set_entry(images.column_indices, 1000, 512);
  const context ctx = context::cpu(2);
  const placed_csr a(ctx, images);
  const std::vector<double> b(512, 1);
  std::vector<double> x(512);
  expect_error(
      error_code::bad_index, "spmv: column_indices[1000], of row 153, is 512, past the matrix's 512 columns", [&] {
        conjugate_gradient(
            ctx, [&](const context& where, const_values in, values out) { spmv(where, a.view(), in, out); }, b, x);
      });
  EXPECT_EQ(x, std::vector<double>(512));
}

// A child has little address space, so that the history cannot grow for long.
TEST(SystemMemory, AHistoryThatCannotGrowIsAnErrorOfTheLibrary) {
  if (under_address_sanitizer || under_thread_sanitizer) {
    GTEST_SKIP() << "a sanitizer takes more address space than a limit leaves";
  }
  std::vector<double> history;
  const conjugate_gradient_options options{.history = &history};
  primitives::conjugate_gradient_watch watch(options);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_AS, &none) != 0) _exit(2);
    while (!watch.asks_to_stop()) watch.report(history.size(), 1, 0);
    try {
      watch.rethrow();
    } catch (const error& e) {
      const bool says = std::string_view(e.what()).starts_with("conjugate_gradient: there is no memory for a hist");
      _exit(e.code() == error_code::out_of_memory && says ? 0 : 3);
    } catch (...) {
      _exit(4);
    }
    _exit(5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Scratch is taken once, before anything is written.
TEST(SystemMemory, IsTakenAtOnceAndFailsWithNothingWritten) {
  struct counted {
    memory_resource under;
    std::uint64_t allowed = 0;
    std::uint64_t calls = 0;
  };
  const csr_images images(laplacian(12), {});
  for (const auto& v : primitives::conjugate_gradient_variants()) {
    if (!v.works_on(backend_kind::cpu)) continue;
    SCOPED_TRACE(v.name);
    const context ctx = context::cpu(2);
    const placed_csr a(ctx, images);
    const std::vector<double> b(1728, 1);
    counted memory{ctx.state().memory};
    ctx.state().memory = {[](void* state, std::uint64_t bytes, CUstream_st* stream) -> void* {
                            auto& self = *static_cast<counted*>(state);
                            if (self.calls++ >= self.allowed) return nullptr;
                            return self.under.allocate(self.under.state, bytes, stream);
                          },
                          [](void* state, void* block, std::uint64_t bytes, CUstream_st* stream) {
                            auto& self = *static_cast<counted*>(state);
                            self.under.deallocate(self.under.state, block, bytes, stream);
                          },
                          &memory};
    std::vector<double> x(1728, 7);
    const std::string message =
        message_of(error_code::out_of_memory, [&] { conjugate_gradient(ctx, a.view(), b, x, {.variant = v.name}); });
    EXPECT_TRUE(message.starts_with("conjugate_gradient: ")) << message;
    EXPECT_EQ(x, std::vector<double>(1728, 7));
    memory.allowed = ~std::uint64_t{0};
    memory.calls = 0;
    EXPECT_TRUE(conjugate_gradient(ctx, a.view(), b, x, {.variant = v.name}).converged());
    EXPECT_EQ(memory.calls, 1U);
  }
  const context limited = context::cpu(1);
  limited.state().limit_scratch(1000);
  const placed_csr a(limited, images);
  const std::vector<double> b(1728, 1);
  std::vector<double> x(1728);
  EXPECT_NE(message_of(error_code::out_of_memory, [&] { conjugate_gradient(limited, a.view(), b, x); }).find("1000"),
            std::string::npos);
}

}  // namespace
}  // namespace sheaf::tests::primitives_sparse_conjugate_gradient_arguments_test
