// list_rank and list_scan refuse bad arguments by name, before any work.
#include <array>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/list_scan.hpp>

#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::primitives_linked_list_arguments_test {
namespace {

constexpr std::uint64_t most_i32 = std::uint64_t{1} << 31;
constexpr std::uint64_t most_u32 = std::uint64_t{1} << 32;

// Arrays that fit together, on any backend: 8 nodes with values of 4 bytes. Each test breaks one thing.
class ListArguments : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend_kind::cuda) {
      const auto cuda = cuda_context();
      if (!cuda) GTEST_SKIP() << "no CUDA device here";
      ctx = *cuda;
    }
    memory = buffer(ctx, 1024);
    kept.assign(1024, std::byte{0x5a});
    copy_bytes(ctx, memory.data(), kept.data(), kept.size());
  }
  void TearDown() override {
    if (memory.data() == nullptr) return;
    std::vector<std::byte> now(kept.size());
    copy_bytes(ctx, now.data(), memory.data(), now.size());
    EXPECT_TRUE(now == kept) << "a refused call has written";
  }

  std::byte* at(std::uint64_t place) const { return memory.data() + place; }
  index_span successor(std::uint64_t count = 8, index_type type = index_type::u32) const {
    return {at(0), count, type};
  }
  index_output rank(std::uint64_t count = 8, index_type type = index_type::u32) const { return {at(256), count, type}; }
  const_values in(std::uint64_t count = 8, value_type type = value_type::f32) const { return {at(512), count, type}; }
  values out(std::uint64_t count = 8, value_type type = value_type::f32) const { return {at(768), count, type}; }
  const_list_nodes nodes(std::uint64_t count = 8, value_type type = value_type::f32) const {
    return {at(512), count, type};
  }

  template <class Call>
  void refuses(std::string_view message, Call call) {
    expect_error(error_code::bad_argument, message, call);
    EXPECT_NO_THROW(ctx.wait());
  }
  void refuses_rank(std::string_view message, index_span next, index_output to, const list_rank_options& options = {}) {
    refuses(fmt::format("list_rank: {}", message), [&] { list_rank(ctx, next, to, options); });
  }
  void refuses_scan(std::string_view message, index_span next, const_values from, values to,
                    scan_operator op = scan_operator::add, const list_scan_options& options = {}) {
    refuses(fmt::format("list_scan: {}", message), [&] { list_scan(ctx, next, from, to, op, options); });
  }
  void refuses_packed(std::string_view message, const_list_nodes from, values to, scan_operator op = scan_operator::add,
                      const list_scan_options& options = {}) {
    refuses(fmt::format("list_scan: {}", message), [&] { list_scan(ctx, from, to, op, options); });
  }

  context ctx = context::cpu(2);
  buffer memory;
  std::vector<std::byte> kept;
};

#if SHEAF_HAS_CUDA
constexpr backend_kind backends[] = {backend_kind::cpu, backend_kind::cuda};
#else
constexpr backend_kind backends[] = {backend_kind::cpu};
#endif
INSTANTIATE_TEST_SUITE_P(EveryBackend, ListArguments, testing::ValuesIn(backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(ListArguments, CountsMustAgree) {
  refuses_rank("rank has 7 values for 8 nodes", successor(), rank(7));
  refuses_rank("rank has 0 values for 8 nodes", successor(), rank(0));
  refuses_scan("out has 9 values for 8 nodes", successor(), in(), out(9));
  refuses_scan("in has 7 values for 8 nodes", successor(), in(7), out());
  refuses_packed("out has 7 values for 8 nodes", nodes(), out(7));
}

TEST_P(ListArguments, TypesMustAgree) {
  refuses_scan("in has values of type f32, but out has f64", successor(), in(), out(8, value_type::f64));
  refuses_scan("in has values of type u64, but out has i64", successor(), in(8, value_type::u64),
               out(8, value_type::i64));
  refuses_packed("in has values of type f32, but out has i32", nodes(), out(8, value_type::i32));
  refuses_packed("packed nodes have values and successors of 4 bytes, not 8 and 4", nodes(8, value_type::f64),
                 out(8, value_type::f64));
  refuses_packed("packed nodes have values and successors of 4 bytes, not 4 and 8",
                 {at(512), 8, value_type::f32, index_type::i64}, out());
  refuses_scan("exclusive_from has type i32, but the values have f32", successor(), in(), out(), scan_operator::add,
               {.exclusive_from = 1});
  refuses_packed("exclusive_from has type f64, but the values have f32", nodes(), out(), scan_operator::add,
                 {.exclusive_from = 1.0});
}

TEST_P(ListArguments, BitwiseOperatorsTakeIntegers) {
  for (const scan_operator op : {scan_operator::bit_and, scan_operator::bit_or, scan_operator::bit_xor}) {
    refuses_scan("the bitwise operators take integers, not f32", successor(), in(), out(), op);
    refuses_scan("the bitwise operators take integers, not f64", successor(), in(8, value_type::f64),
                 out(8, value_type::f64), op);
    refuses_packed("the bitwise operators take integers, not f32", nodes(), out(), op);
  }
}

TEST_P(ListArguments, EnumeratorsMustExist) {
  refuses_scan("the operator is 7, not 0 to 6", successor(), in(), out(), static_cast<scan_operator>(7));
  refuses_scan("the type of in is 12, not 0 to 5", successor(), in(8, static_cast<value_type>(12)), out());
  refuses_scan("the type of out is 15, not 0 to 5", successor(), in(), out(8, static_cast<value_type>(15)));
  refuses_scan("takes i32 to f64, but the type of in is i8", successor(), in(8, value_type::i8), out());
  refuses_scan("takes i32 to f64, but the type of out is f16", successor(), in(), out(8, value_type::f16));
  refuses_scan("lists is 2, not 0 to 1", successor(), in(), out(), scan_operator::add,
               {.lists = static_cast<list_count>(2)});
  refuses_rank("lists is 200, not 0 to 1", successor(), rank(), {.lists = static_cast<list_count>(200)});
  refuses_rank("the type of successor is 4, not 0 to 3", successor(8, static_cast<index_type>(4)), rank());
  refuses_rank("the type of rank is 5, not 0 to 3", successor(), rank(8, static_cast<index_type>(5)));
  scalar odd = 1.0F;
  odd.type = static_cast<value_type>(13);
  refuses_scan("the type of exclusive_from is 13, not 0 to 5", successor(), in(), out(), scan_operator::add,
               {.exclusive_from = odd});
}

TEST_P(ListArguments, NumbersMustHoldEveryNode) {
  refuses_rank("rank has 4-byte entries, too narrow for 2147483648 nodes", successor(most_i32, index_type::i64),
               rank(most_i32, index_type::i32));
  refuses_rank("rank has 4-byte entries, too narrow for 4294967296 nodes", successor(most_u32, index_type::i64),
               rank(most_u32, index_type::u32));
  refuses_rank("successor has 4-byte entries, too narrow for 2147483648 nodes", successor(most_i32, index_type::i32),
               rank(most_i32));
  refuses_scan("successor has 4-byte entries, too narrow for 4294967296 nodes", successor(most_u32), in(most_u32),
               out(most_u32));
}

TEST_P(ListArguments, ViewsMustNotBeNull) {
  refuses_rank("successor is null", {nullptr, 8, index_type::u32}, rank());
  refuses_rank("rank is null", successor(), {nullptr, 8, index_type::u32});
  refuses_scan("successor is null", {nullptr, 8, index_type::u32}, in(), out());
  refuses_scan("in is null", successor(), {nullptr, 8, value_type::f32}, out());
  refuses_scan("out is null", successor(), in(), {nullptr, 8, value_type::f32});
  refuses_packed("nodes is null", {nullptr, 8, value_type::f32}, out());
  refuses_packed("out is null", nodes(), {nullptr, 8, value_type::f32});
}

TEST_P(ListArguments, CountsMustBeSuchThatMemoryCanHoldThem) {
  for (const std::uint64_t nodes :
       {std::uint64_t{1} << 57, std::uint64_t{1} << 61, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    const std::string message = fmt::format("{} nodes are more than memory can hold", nodes);
    refuses_rank(message, {nullptr, nodes, index_type::u64}, {nullptr, nodes, index_type::u64});
    refuses("list_rank: " + message, [&] {
      explain_list_rank(ctx, {nullptr, nodes, index_type::u64}, {nullptr, nodes, index_type::u64});
    });
  }
}

TEST_P(ListArguments, ViewsMustBeAligned) {
  refuses_rank("successor is not aligned to its 4 bytes", {at(2), 8, index_type::u32}, rank());
  refuses_rank("rank is not aligned to its 8 bytes", successor(), {at(260), 8, index_type::u64});
  refuses_scan("in is not aligned to its 8 bytes", successor(), {at(516), 8, value_type::f64}, out(8, value_type::f64));
  refuses_scan("out is not aligned to its 4 bytes", successor(), in(), {at(769), 8, value_type::f32});
  refuses_packed("nodes is not aligned to its 8 bytes", {at(516), 8, value_type::f32}, out());
}

TEST_P(ListArguments, OutputMustNotOverlapInputs) {
  refuses_rank("rank overlaps successor", successor(), {at(28), 8, index_type::u32});
  refuses_scan("out overlaps successor", successor(), in(), {at(0), 8, value_type::f32});
  refuses_scan("out overlaps in", successor(), in(), {at(512), 8, value_type::f32});
  refuses_packed("out overlaps nodes", nodes(), {at(572), 8, value_type::f32});
}

TEST_P(ListArguments, VariantsMustExistOnTheBackend) {
  const std::string unknown =
      message_of(error_code::bad_argument, [&] { list_rank(ctx, successor(), rank(), {.variant = "cpu.sideways"}); });
  EXPECT_NE(unknown.find("list_rank"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("cpu.sideways"), std::string::npos) << unknown;
}

TEST_P(ListArguments, ExplanationsNeedNoMemoryButFittingShapes) {
  const index_span next(nullptr, 8, index_type::u32);
  if (ctx.backend() == backend_kind::cpu) {
    const explanation why =
        explain_list_rank(ctx, next, {nullptr, 8, index_type::u32}, {.variant = "reference.serial"});
    ASSERT_NE(why.choice(), nullptr);
    EXPECT_EQ(why.choice()->variant, "reference.serial");
  }
  refuses("list_rank: rank has 7 values for 8 nodes", [&] {
    explain_list_rank(ctx, next, {nullptr, 7, index_type::u32});
  });
  refuses("list_scan: in has values of type f32, but out has f64", [&] {
    explain_list_scan(ctx, next, {nullptr, 8, value_type::f32}, {nullptr, 8, value_type::f64}, scan_operator::add);
  });
  refuses("list_scan: out has 9 values for 8 nodes", [&] {
    explain_list_scan(ctx, const_list_nodes(nullptr, 8, value_type::f32), {nullptr, 9, value_type::f32},
                      scan_operator::add);
  });
}

TEST(ListArgumentsOfTheHost, FunctionsOfTheCallerAreChecked) {
  const context ctx = context::cpu(2);
  std::vector<std::uint32_t> next{1, 2, 3, 0xffffffff};
  std::vector<double> in(4), out(4), short_out(3);
  const auto add = [](double a, double b) { return a + b; };
  const auto refuses = [&](std::string_view message, auto call) {
    expect_error(error_code::bad_argument, message, call);
    EXPECT_NO_THROW(ctx.wait());
  };
  refuses("list_scan: out has 3 values for 4 nodes", [&] { list_scan(ctx, next, in, short_out, add); });
  refuses("list_scan: in has 3 values for 4 nodes", [&] { list_scan(ctx, next, short_out, out, add); });
  refuses("list_scan: out overlaps in", [&] { list_scan(ctx, next, in, in, add); });
  alignas(8) std::array<list_node<float>, 4> nodes{{{1, 1}, {2, 2}, {3, 3}, {4, -1}}};
  std::array<float, 4> sums{};
  const std::span<float> three(sums.data(), 3);
  const std::span<const list_node<float>> none;
  refuses("list_scan: out has 3 values for 4 nodes", [&] { list_scan(ctx, nodes, three, std::plus<>{}); });
  refuses("list_scan: out overlaps nodes",
          [&] { list_scan(ctx, nodes, std::span(reinterpret_cast<float*>(nodes.data()), 4), std::plus<>{}); });
  refuses("list_scan: lists is 7, not 0 to 1",
          [&] { list_scan(ctx, nodes, sums, std::plus<>{}, {.lists = static_cast<list_count>(7)}); });
  list_scan(ctx, none, std::span<float>(), std::plus<>{});
  if (const auto cuda = cuda_context()) {
    const std::string_view message =
        "list_scan: a function of the caller's runs on a CPU context, not on cuda; sheaf/cuda/list_scan.cuh takes one "
        "for "
        "CUDA";
    refuses(message, [&] { list_scan(*cuda, next, in, out, add); });
    refuses(message, [&] { list_scan(*cuda, nodes, sums, std::plus<>{}); });
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_linked_list_arguments_test
