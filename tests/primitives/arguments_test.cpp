#include <array>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter.hpp>

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/variant_lists.hpp"

namespace sheaf::tests::primitives_arguments_test {
namespace {

// Arrays that fit together, on any backend; each test breaks one thing.
class Arguments : public testing::TestWithParam<backend_kind> {
 protected:
  static constexpr std::uint64_t bytes_each = 1 << 17;

  void SetUp() override {
    if (GetParam() == backend_kind::cuda) {
      const auto cuda = cuda_context();
      if (!cuda) GTEST_SKIP() << "no CUDA device here";
      ctx = *cuda;
    }
    sequential_memory = buffer(ctx, bytes_each);
    indexed_memory = buffer(ctx, bytes_each);
    index_memory = buffer(ctx, 1024);
  }

  records sequential(std::uint64_t count = 8, std::uint64_t width = 4) const {
    return {sequential_memory.data(), count, width};
  }
  records indexed(std::uint64_t count = 16, std::uint64_t width = 4) const {
    return {indexed_memory.data(), count, width};
  }
  index_span index(std::uint64_t count = 8) const { return {index_memory.data(), count, index_type::u32}; }

  void expect_gather(std::string_view message, const_records table, index_span list, records out,
                     const gather_options& options = {}) {
    expect_error(error_code::bad_argument, message, [&] { gather(ctx, table, list, out, options); });
    EXPECT_NO_THROW(ctx.wait());
  }
  void expect_scatter(std::string_view message, const_records in, index_span list, records out,
                      const scatter_options& options = {}) {
    expect_error(error_code::bad_argument, message, [&] { scatter(ctx, in, list, out, options); });
    EXPECT_NO_THROW(ctx.wait());
  }

  context ctx = context::cpu(1);
  buffer sequential_memory, indexed_memory, index_memory;
};

#if SHEAF_HAS_CUDA
constexpr backend_kind backends[] = {backend_kind::cpu, backend_kind::cuda};
#else
constexpr backend_kind backends[] = {backend_kind::cpu};
#endif
INSTANTIATE_TEST_SUITE_P(EveryBackend, Arguments, testing::ValuesIn(backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(Arguments, LengthsMustAgree) {
  expect_gather("gather: index has 7 entries, but out has 8 records", indexed(), index(7), sequential());
  expect_gather("gather: index has 8 entries, but out has 0 records", indexed(), index(), sequential(0));
  expect_scatter("scatter: index has 9 entries, but in has 8 records", sequential(), index(9), indexed());
  expect_gather("gather: index has 0 entries, but out has 8 records", indexed(), {}, sequential());
}

TEST_P(Arguments, WidthsMustAgree) {
  expect_gather("gather: out has records of 4 bytes, but table has 8", indexed(16, 8), index(), sequential());
  expect_scatter("scatter: in has records of 4 bytes, but out has 5", sequential(), index(), indexed(16, 5));
}

TEST_P(Arguments, WidthsAreOneByteTo64KiB) {
  expect_gather("gather: out has records of 0 bytes, not 1 to 65536", indexed(16, 0), index(), sequential(8, 0));
  expect_gather("gather: table has records of 65537 bytes, not 1 to 65536", indexed(1, 65537), index(1),
                sequential(1, 1));
  expect_scatter("scatter: in has records of 65537 bytes, not 1 to 65536", sequential(1, 65537), index(1),
                 indexed(1, 65537));
  expect_scatter("scatter: out has records of 0 bytes, not 1 to 65536", sequential(), index(), indexed(16, 0));
}

TEST_P(Arguments, StridesReachPastTheRecord) {
  expect_gather("gather: table has a stride of 3 bytes, less than its records' 4", {indexed_memory.data(), 16, 4, 3},
                index(), sequential());
  expect_gather("gather: out has a stride of 0 bytes, less than its records' 4", indexed(), index(),
                {sequential_memory.data(), 8, 4, 0});
  expect_scatter("scatter: out has a stride of 1 bytes, less than its records' 4", sequential(), index(),
                 {indexed_memory.data(), 16, 4, 1});
}

TEST_P(Arguments, ExtentsFitInMemory) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  expect_gather("gather: table has 4611686018427387904 records 4 bytes apart, more than memory can hold",
                {indexed_memory.data(), std::uint64_t{1} << 62, 4}, index(), sequential());
  expect_gather(fmt::format("gather: table has {} records 1 bytes apart, more than memory can hold", most),
                {indexed_memory.data(), most, 1}, index(), sequential(8, 1));
  expect_scatter(fmt::format("scatter: out has 1 records {} bytes apart, more than memory can hold", most),
                 sequential(), index(), {indexed_memory.data(), 1, 4, most});
  expect_scatter("scatter: out has 3 records 4611686018427387904 bytes apart, more than memory can hold", sequential(),
                 index(), {indexed_memory.data(), 3, 4, std::uint64_t{1} << 62});
  // An index list can be too long for memory although its records, one byte wide, are not.
  constexpr std::uint64_t many = (std::uint64_t{1} << 60) + 1;
  expect_gather(fmt::format("gather: index has {} entries, more than memory can hold", many), indexed(16, 1),
                {index_memory.data(), many, index_type::u64}, {sequential_memory.data(), many, 1});
}

TEST_P(Arguments, MemoryIsThere) {
  expect_gather("gather: table is null", {nullptr, 16, 4}, index(), sequential());
  expect_gather("gather: index is null", indexed(), {nullptr, 8, index_type::u32}, sequential());
  expect_gather("gather: out is null", indexed(), index(), {nullptr, 8, 4});
  expect_scatter("scatter: in is null", {nullptr, 8, 4}, index(), indexed());
  expect_scatter("scatter: index is null", sequential(), {nullptr, 8, index_type::u32}, indexed());
  expect_scatter("scatter: out is null", sequential(), index(), {nullptr, 16, 4});
}

TEST_P(Arguments, IndexListsAreAligned) {
  const std::byte* first = index_memory.data();
  expect_gather("gather: index is not aligned to its 4 bytes", indexed(), {first + 2, 8, index_type::i32},
                sequential());
  expect_gather("gather: index is not aligned to its 8 bytes", indexed(), {first + 4, 8, index_type::u64},
                sequential());
  expect_scatter("scatter: index is not aligned to its 8 bytes", sequential(), {first + 1, 8, index_type::i64},
                 indexed());
}

TEST_P(Arguments, IndexTypesAreOneOfFour) {
  const index_span odd(index_memory.data(), 8, static_cast<index_type>(4));
  expect_gather("gather: the type of index is 4, not 0 to 3", indexed(), odd, sequential());
  expect_scatter("scatter: the type of index is 4, not 0 to 3", sequential(), odd, indexed());
  const auto refused = [](std::string_view message, auto call) {
    expect_error(error_code::bad_argument, message, call);
  };
  refused("gather: the type of index is 4, not 0 to 3", [&] { explain_gather(ctx, indexed(), odd, sequential()); });
  refused("scatter: the type of index is 4, not 0 to 3", [&] { explain_scatter(ctx, sequential(), odd, indexed()); });
  refused("prepare_gather: the type of index is 4, not 0 to 3", [&] { prepare_gather(ctx, odd, 16, 4, 1); });
  refused("prepare_scatter: the type of index is 4, not 0 to 3", [&] { prepare_scatter(ctx, odd, 16, 4, 1); });
}

TEST_P(Arguments, OutputsOverlapNothing) {
  std::byte* shared = indexed_memory.data();
  expect_gather("gather: out overlaps table", indexed(), index(), {shared, 8, 4});
  expect_gather("gather: out overlaps table", indexed(), index(), {shared + 63, 8, 4});
  expect_gather("gather: out overlaps table", {shared + 31, 16, 4}, index(), {shared, 8, 4});
  expect_gather("gather: out overlaps index", indexed(), index(), {index_memory.data() + 31, 8, 4});
  expect_gather("gather: out overlaps index", indexed(), {sequential_memory.data() + 28, 8, index_type::u32},
                sequential());
  expect_scatter("scatter: in overlaps out", {shared + 60, 8, 4}, index(), indexed());
  expect_scatter("scatter: out overlaps index", sequential(), {shared + 32, 8, index_type::u32}, indexed());
}

TEST_P(Arguments, NeighboursAreNoOverlap) {
  std::byte* shared = indexed_memory.data();
  const std::array<std::uint32_t, 8> zeros{};
  copy_bytes(ctx, index_memory.data(), zeros.data(), sizeof zeros);
  for (std::uint64_t at = 0; at + sizeof zeros <= indexed_memory.size(); at += sizeof zeros) {
    copy_bytes(ctx, shared + at, zeros.data(), sizeof zeros);
  }
  gather(ctx, {shared, 16, 4}, index(), {shared + 64, 8, 4});
  gather(ctx, {shared + 32, 16, 4}, index(), {shared, 8, 4});
  scatter(ctx, {shared, 8, 4}, index(), {shared + 32, 16, 4});
  EXPECT_NO_THROW(ctx.wait());
}

TEST_P(Arguments, InputsMayOverlapEachOther) {
  const std::array<std::uint32_t, 8> list{3, 1, 2, 0, 7, 6, 5, 4};
  copy_bytes(ctx, index_memory.data(), list.data(), sizeof list);
  gather(ctx, {index_memory.data(), 8, 4}, index(), sequential());
  ctx.wait();
  std::array<std::uint32_t, 8> got{};
  copy_bytes(ctx, got.data(), sequential_memory.data(), sizeof got);
  EXPECT_EQ(got, (std::array<std::uint32_t, 8>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_P(Arguments, VariantsAreKnown) {
  expect_gather(
      "gather: no variant is named 'cpu.fastest'; there are " + names_of(primitives::gather_variants(), ctx.backend()),
      indexed(), index(), sequential(), {.variant = "cpu.fastest"});
  expect_scatter(
      "scatter: no variant is named 'direct'; there are " + names_of(primitives::scatter_variants(), ctx.backend()),
      sequential(), index(), indexed(), {.variant = "direct"});
}

TEST(CallArguments, ForcedVariantMustBeAbleToRun) {
  const context ctx = context::cpu(1);
  std::vector<std::uint32_t> in(8), out(8), index{0, 1, 2, 3, 4, 5, 6, 7};
  expect_error(error_code::no_variant, "scatter: no variant can run this: cpu.direct (any writer may win)", [&] {
    scatter(ctx, std::span(in), std::span(index), std::span(out),
            {.duplicates = duplicates::last, .variant = "cpu.direct"});
  });
  for (const auto& v : primitives::gather_variants()) {
    if (!v.name.starts_with("cuda.")) continue;
    const std::string message = message_of(error_code::no_variant, [&] {
      gather(ctx, std::span(in), std::span(index), std::span(out), {.variant = v.name});
    });
    EXPECT_TRUE(message.starts_with(fmt::format("gather: no variant can run this: {} (", v.name))) << message;
  }
}

TEST(CallArguments, ExplanationsLookAtShapesAlone) {
  const context ctx = context::cpu(2);
  const auto why =
      explain_gather(ctx, {nullptr, 1 << 20, 16}, {nullptr, 1 << 10, index_type::u32}, {nullptr, 1 << 10, 16});
  EXPECT_NE(why.choice(), nullptr);
  expect_error(error_code::bad_argument, "gather: index has 2 entries, but out has 3 records", [&] {
    explain_gather(ctx, {nullptr, 4, 16}, {nullptr, 2, index_type::u32}, {nullptr, 3, 16});
  });
  expect_error(error_code::bad_argument, "scatter: in has records of 0 bytes, not 1 to 65536", [&] {
    explain_scatter(ctx, {nullptr, 4, 0}, {nullptr, 4, index_type::u32}, {nullptr, 3, 16});
  });
}

TEST(CallArguments, ThatAreRefusedLeaveTheOutputAlone) {
  const context ctx = context::cpu(1);
  const std::vector<std::uint32_t> table{1, 2, 3}, index{0, 1};
  std::vector<std::uint32_t> out(3, 77);
  EXPECT_THROW(gather(ctx, std::span(table), std::span(index), std::span(out)), error);
  EXPECT_EQ(out, (std::vector<std::uint32_t>{77, 77, 77}));
}

}  // namespace
}  // namespace sheaf::tests::primitives_arguments_test
