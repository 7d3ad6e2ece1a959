#include <array>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/split.hpp>

#include "primitives/reduce/contract.hpp"
#include "primitives/split/contract.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"
#include "support/variant_lists.hpp"

namespace sheaf::tests::primitives_split_arguments_test {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

// Arrays that fit together, on any backend: 8 records of 4 bytes, a key and an index entry for each, 256 categories,
// and the same records with 8 memberships. Each test breaks one thing.
class SplitArguments : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend_kind::cuda) {
      const auto cuda = cuda_context();
      if (!cuda) GTEST_SKIP() << "no CUDA device here";
      ctx = *cuda;
    }
    memory = buffer(ctx, std::uint64_t{1} << 18);
  }

  std::byte* at(std::uint64_t place) const { return memory.data() + place; }
  records in(std::uint64_t count = 8, std::uint64_t width = 4) const { return {at(0), count, width}; }
  records out(std::uint64_t count = 8, std::uint64_t width = 4) const { return {at(1 << 17), count, width}; }
  const_records keys(std::uint64_t count = 8, std::uint64_t width = 1) const { return {at(1 << 16), count, width}; }
  index_output index(std::uint64_t count = 8, index_type type = index_type::u32) const {
    return {at(3 << 16), count, type};
  }
  std::span<std::uint64_t> offsets(std::uint64_t count = 257, std::uint64_t place = 5 << 15) const {
    return {reinterpret_cast<std::uint64_t*>(at(place)), count};
  }
  split_key by_bits(bit_field bits = {0, 8}) const { return split_key::of_record(bits); }
  split_key by_keys(const_records list, bit_field bits = {0, 8}) const { return split_key::of(list, bits); }
  membership of(std::uint64_t first_count = 9) const {
    return {{reinterpret_cast<const std::uint64_t*>(at(1 << 15)), first_count}, keys(), 256};
  }

  template <class Call>
  void refuses(std::string_view message, Call call) {
    expect_error(error_code::bad_argument, message, call);
    EXPECT_NO_THROW(ctx.wait());
  }
  // split and split_unstable check the same things, each under its own name.
  void expect_split(std::string_view message, const_records from, const split_key& key, records to,
                    std::span<std::uint64_t> bounds = {}, const split_options& options = {}) {
    refuses(fmt::format("split: {}", message), [&] { split(ctx, from, key, to, bounds, options); });
    refuses(fmt::format("split_unstable: {}", message), [&] { split_unstable(ctx, from, key, to, bounds, options); });
  }
  void expect_index(std::string_view message, const split_key& key, index_output to,
                    std::span<std::uint64_t> bounds = {}, const split_options& options = {}) {
    refuses(fmt::format("split_gather_index: {}", message), [&] { split_gather_index(ctx, key, to, bounds, options); });
    refuses(fmt::format("split_scatter_index: {}", message),
            [&] { split_scatter_index(ctx, key, to, bounds, options); });
  }
  void expect_multi(std::string_view message, const_records from, const membership& rows, records to,
                    index_output sources = {}, std::span<std::uint64_t> bounds = {}) {
    refuses(fmt::format("multi_split: {}", message), [&] { multi_split(ctx, from, rows, to, sources, bounds); });
  }
  void expect_multi_index(std::string_view message, const membership& rows, index_output sources,
                          std::span<std::uint64_t> bounds = {}) {
    refuses(fmt::format("multi_split: {}", message), [&] { multi_split_index(ctx, rows, sources, bounds); });
  }

  context ctx = context::cpu(1);
  buffer memory;
};

#if SHEAF_HAS_CUDA
constexpr backend_kind backends[] = {backend_kind::cpu, backend_kind::cuda};
#else
constexpr backend_kind backends[] = {backend_kind::cpu};
#endif
INSTANTIATE_TEST_SUITE_P(EveryBackend, SplitArguments, testing::ValuesIn(backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(SplitArguments, CountsAndWidthsMustAgree) {
  expect_split("in has 8 records, but out has 7", in(), by_bits(), out(7));
  expect_split("in has records of 4 bytes, but out has 5", in(), by_bits(), out(8, 5));
  expect_split("in has 8 records, but there are 7 keys", in(), by_keys(keys(7)), out());
  expect_split("in has 8 records, but there are 9 keys", in(), split_key::category(keys(9), 256), out());
  expect_index("the index has 7 entries, but there are 8 keys", by_keys(keys()), index(7));
  expect_multi("in has records of 4 bytes, but out has 8", in(), of(), out(8, 8));
  expect_multi("out has 9 records, but there are 8 memberships", in(), of(), out(9));
  expect_multi("first has 8 values, not 9 for 8 records", in(), of(8), out());
  expect_multi("sources has 7 entries, but there are 8 memberships", in(), of(), out(), index(7));
  expect_multi_index("sources has 7 entries, but there are 8 memberships", of(), index(7));
  expect_multi_index("first is empty; it needs one value more than there are records", of(0), index());
}

TEST_P(SplitArguments, ShapesMakeSense) {
  expect_split("in has records of 0 bytes, not 1 to 65536", in(8, 0), by_bits(), out());
  expect_split("out has records of 65537 bytes, not 1 to 65536", in(), by_bits(), out(1, 65537));
  expect_split("keys has records of 0 bytes, not 1 to 65536", in(), by_keys(keys(8, 0)), out());
  expect_split("in has a stride of 3 bytes, less than its records' 4", {at(0), 8, 4, 3}, by_bits(), out());
  expect_index("keys has a stride of 1 bytes, less than its records' 2", by_keys({at(0), 8, 2, 1}), index());
  expect_index(fmt::format("keys has {} records 1 bytes apart, more than memory can hold", most),
               by_keys({at(0), most, 1}), {at(8), most, index_type::u64});
  constexpr std::uint64_t many = std::uint64_t{1} << 61;
  expect_index(fmt::format("the index has {} entries, more than memory can hold", many), by_keys({at(0), many, 1}),
               {at(1 << 16), many, index_type::u64});
  expect_multi("category has records of 0 bytes, not 1 to 65536", in(), {of().first, keys(8, 0), 256}, out());
  expect_multi_index(fmt::format("first has {} values, more than memory can hold", many), of(many), index());
}

TEST_P(SplitArguments, KeysAre1To96BitsOfTheRecord) {
  expect_split("a key of 0 bits, not 1 to 96", in(), by_bits({0, 0}), out());
  expect_split("a key of 97 bits, not 1 to 96", in(8, 16), by_bits({0, 97}), out(8, 16));
  expect_split("a key of 128 bits, not 1 to 96", in(8, 16), by_bits({0, 128}), out(8, 16));
  expect_split("33 bits from bit 0 on reach past a record of 32 bits", in(), by_bits({0, 33}), out());
  expect_split("96 bits from bit 1 on reach past a record of 96 bits", in(8, 12), by_bits({1, 96}), out(8, 12));
  expect_index("64 bits from bit 1 on reach past a record of 64 bits", by_keys(keys(8, 8), {1, 64}), index());
  expect_index("a key of 97 bits, not 1 to 96", by_keys(keys(8, 16), {3, 97}), index());
  expect_split("8 bits from bit 25 on reach past a record of 32 bits", in(), by_bits({25, 8}), out());
  expect_split("1 bits from bit 33 on reach past a record of 32 bits", in(), by_bits({33, 1}), out());
  expect_split(fmt::format("8 bits from bit {} on reach past a record of 32 bits", most), in(), by_bits({most, 8}),
               out());
  expect_split("8 bits from bit 1 on reach past a record of 8 bits", in(), by_keys(keys(), {1, 8}), out());
  expect_index("17 bits from bit 0 on reach past a record of 16 bits", by_keys(keys(8, 2), {0, 17}), index());
  expect_index("a key of 4294967295 bits, not 1 to 96", by_keys(keys(), {0, 0xffffffff}), index());
}

TEST_P(SplitArguments, CategoriesAreNumbersOf1To4Bytes) {
  for (const std::uint64_t width : {3, 8}) {
    const std::string message = fmt::format("categories are numbers of {} bytes, not 1, 2 or 4", width);
    expect_split(message, in(), split_key::category(keys(8, width), 10), out());
    expect_index(message, split_key::category(keys(8, width), 10), index());
    expect_multi(message, in(), {of().first, keys(8, width), 10}, out());
    expect_multi_index(message, {of().first, keys(8, width), 10}, index());
  }
  for (const std::uint64_t categories : {std::uint64_t{0}, (std::uint64_t{1} << 32) + 1, most}) {
    const std::string message = fmt::format("{} categories, not 1 to 2^32", categories);
    expect_split(message, in(), split_key::category(keys(), categories), out());
    expect_index(message, split_key::category(keys(), categories), index());
    expect_multi(message, in(), {of().first, keys(), categories}, out());
  }
}

TEST_P(SplitArguments, KeysOfMoreThan32BitsHaveNoOffsets) {
  for (const std::uint32_t bits : {33U, 64U, 96U}) {
    const bit_field field{0, bits, bit_order::from_left};
    EXPECT_EQ(by_bits(field).categories, 0U);
    EXPECT_EQ(by_keys(keys(8, 12), field).categories, 0U);
    for (const std::uint64_t count : {1, 257}) {
      const std::string message =
          fmt::format("offsets has {} values, but a key of {} bits, more than 32, has too many categories for offsets",
                      count, bits);
      expect_split(message, in(8, 12), by_bits(field), out(8, 12), offsets(count));
      expect_split(message, in(), by_keys(keys(8, 12), field), out(), offsets(count));
      expect_index(message, by_keys(keys(8, 12), field), index(), offsets(count));
      // Whatever a key that was put together by hand says of its categories.
      split_key made = by_bits(field);
      made.categories = count - 1;
      expect_split(message, in(8, 12), made, out(8, 12), offsets(count));
    }
  }
  EXPECT_EQ(by_bits({0, 32}).categories, std::uint64_t{1} << 32);
}

TEST_P(SplitArguments, OffsetsAreOneMoreThanCategories) {
  expect_split("offsets has 256 values, not 257 for 256 categories", in(), by_bits(), out(), offsets(256));
  expect_split("offsets has 257 values, not 12 for 11 categories", in(), split_key::category(keys(), 11), out(),
               offsets());
  expect_index("offsets has 1 values, not 3 for 2 categories", by_keys(keys(), {7, 1}), index(), offsets(1));
  expect_multi("offsets has 1 values, not 257 for 256 categories", in(), of(), out(), {}, offsets(1));
  // A key that was put together by hand may hold any number of categories.
  split_key by_hand = by_bits();
  by_hand.categories = 0;
  expect_split("offsets has 1 values, not 257 for 256 categories", in(), by_hand, out(), offsets(1));
}

TEST_P(SplitArguments, MemoryIsThere) {
  expect_split("in is null", {nullptr, 8, 4}, by_bits(), out());
  expect_split("out is null", in(), by_bits(), {nullptr, 8, 4});
  expect_split("keys is null", in(), by_keys({nullptr, 8, 1}), out());
  expect_split("offsets is null", in(), by_bits(), out(), {static_cast<std::uint64_t*>(nullptr), 257});
  expect_index("keys is null", by_keys({nullptr, 8, 1}), index());
  expect_index("the index is null", by_keys(keys()), {nullptr, 8, index_type::u32});
  expect_multi("in is null", {nullptr, 8, 4}, of(), out());
  expect_multi("out is null", in(), of(), {nullptr, 8, 4});
  expect_multi("sources is null", in(), of(), out(), {nullptr, 8, index_type::u32});
  expect_multi("category is null", in(), {of().first, {nullptr, 8, 1}, 256}, out());
  expect_multi("first is null", in(), {{static_cast<std::uint64_t*>(nullptr), 9}, keys(), 256}, out());
}

TEST_P(SplitArguments, NumbersAreAligned) {
  expect_split("offsets is not aligned to its 8 bytes", in(), by_bits(), out(), offsets(257, (5 << 15) + 4));
  expect_index("the index is not aligned to its 8 bytes", by_keys(keys()), {at((3 << 16) + 4), 8, index_type::i64});
  expect_index("the index is not aligned to its 4 bytes", by_keys(keys()), {at((3 << 16) + 2), 8, index_type::i32});
  const membership odd{{reinterpret_cast<const std::uint64_t*>(at((1 << 15) + 4)), 9}, keys(), 256};
  expect_multi("first is not aligned to its 8 bytes", in(), odd, out());
  expect_multi("sources is not aligned to its 8 bytes", in(), of(), out(), {at((3 << 16) + 4), 8, index_type::u64});
}

TEST_P(SplitArguments, FourByteEntriesAreForFewerRecords) {
  constexpr std::uint64_t two_32 = std::uint64_t{1} << 32;
  expect_index("the index has 4-byte entries, too narrow for 4294967296 records", by_keys(keys(two_32)), index(two_32));
  expect_index("the index has 4-byte entries, too narrow for 2147483648 records", by_keys(keys(two_32 / 2)),
               index(two_32 / 2, index_type::i32));
  expect_multi_index("sources has 4-byte entries, too narrow for 4294967296 records", of(two_32 + 1), index());
}

TEST_P(SplitArguments, OutputsOverlapNothing) {
  expect_split("in overlaps out", in(), by_bits(), in());
  expect_split("in overlaps out", in(), by_bits(), {at(31), 8, 4});
  expect_split("keys overlaps out", in(), by_keys({at((1 << 17) + 31), 8, 1}), out());
  expect_split("in overlaps offsets", in(), by_bits(), out(), offsets(257, 0));
  expect_split("out overlaps offsets", in(), by_bits(), out(), offsets(257, (1 << 17) + 24));
  expect_split("keys overlaps offsets", in(), by_keys(keys()), out(), offsets(257, 1 << 16));
  expect_index("keys overlaps the index", by_keys(keys()), {at((1 << 16) + 4), 8, index_type::u32});
  expect_index("keys overlaps offsets", by_keys(keys()), index(), offsets(257, 1 << 16));
  expect_index("offsets overlaps the index", by_keys(keys()), index(), offsets(257, 3 << 16));
  expect_multi("out overlaps in", in(), of(), in());
  expect_multi("out overlaps category", in(), of(), {at(1 << 16), 8, 4});
  expect_multi("out overlaps first", in(), of(), {at(1 << 15), 8, 4});
  expect_multi("sources overlaps in", in(), of(), out(), {at(28), 8, index_type::u32});
  expect_multi("out overlaps sources", in(), of(), out(), {at(1 << 17), 8, index_type::u32});
  expect_multi("offsets overlaps in", in(), of(), out(), {}, offsets(257, 0));
  expect_multi_index("sources overlaps first", of(), {at(1 << 15), 8, index_type::u32});
  expect_multi_index("sources overlaps offsets", of(), index(), offsets(257, 3 << 16));
  expect_multi_index("offsets overlaps category", of(), index(), offsets(257, 1 << 16));
}

TEST_P(SplitArguments, IndexesNeedKeysOfTheirOwn) {
  expect_index("give the keys, with split_key::of or ::category", by_bits(), index());
}

TEST_P(SplitArguments, EnumerationsHaveTheValuesThatTheyList) {
  const auto odd_type = static_cast<index_type>(9);
  expect_index("the type of the index is 9, not 0 to 3", by_keys(keys()), index(8, odd_type));
  expect_multi("the type of sources is 9, not 0 to 3", in(), of(), out(), index(8, odd_type));
  expect_multi_index("the type of sources is 9, not 0 to 3", of(), index(8, odd_type));
  refuses("split_gather_index: the type of the index is 9, not 0 to 3",
          [&] { explain_split_gather_index(ctx, by_keys(keys()), odd_type); });
  refuses("split_scatter_index: the type of the index is 9, not 0 to 3",
          [&] { explain_split_scatter_index(ctx, by_keys(keys()), odd_type); });
  split_key odd_kind = by_keys(keys());
  odd_kind.from = static_cast<split_key::kind>(3);
  expect_split("the kind of the key is 3, not 0 to 2", in(), odd_kind, out());
  expect_split("the order of the key's bits is 2, not 0 to 1", in(), by_bits({0, 8, static_cast<bit_order>(2)}), out());
}

TEST_P(SplitArguments, VariantsAreKnown) {
  const std::string message =
      "no variant is named 'cpu.fastest'; there are " + names_of(primitives::split_variants(), ctx.backend());
  expect_split(message, in(), by_bits(), out(), {}, {"cpu.fastest"});
  expect_index(message, by_keys(keys()), index(), {}, {"cpu.fastest"});
}

TEST_P(SplitArguments, ReductionsFitTogether) {
  const auto refused = [&](std::string_view message, const_values from, index_span through, values to,
                           const scatter_reduce_options& options = {}) {
    refuses(fmt::format("scatter_reduce: {}", message),
            [&] { scatter_reduce(ctx, from, through, to, reduction::add, options); });
  };
  const const_values from(at(0), 8, value_type::f32);
  const values to(at(1 << 17), 16, value_type::f32);
  refused("in has values of type f32, but out has i32", from, index(), {to.data, 16, value_type::i32});
  refused("in has values of type u64, but out has f64", {at(0), 8, value_type::u64}, index(),
          {to.data, 16, value_type::f64});
  refused("in is not aligned to its 4 bytes", {at(2), 8, value_type::f32}, index(), to);
  refused("out is not aligned to its 8 bytes", {at(0), 8, value_type::i64}, index(), {at(4), 16, value_type::i64});
  refused("index has 7 entries, but in has 8 records", from, index(7), to);
  refused("index is not aligned to its 8 bytes", from, {at((3 << 16) + 4), 8, index_type::u64}, to);
  refused("in is null", {nullptr, 8, value_type::f32}, index(), to);
  refused("index is null", from, {nullptr, 8, index_type::u32}, to);
  refused("out is null", from, index(), {nullptr, 16, value_type::f32});
  refused("in overlaps out", from, index(), {at(28), 16, value_type::f32});
  refused("out overlaps index", from, index(), {at(3 << 16), 16, value_type::f32});
  refused("out has 4611686018427387904 records 4 bytes apart, more than memory can hold", from, index(),
          {to.data, std::uint64_t{1} << 62, value_type::f32});
  refused("no variant is named 'atomic'; there are " + names_of(primitives::scatter_reduce_variants(), ctx.backend()),
          from, index(), to, {.variant = "atomic"});
}

TEST_P(SplitArguments, ReductionsHaveTypesAndOperationsThatExist) {
  const auto refused = [&](std::string_view message, const_values from, index_span through, values to, reduction op) {
    refuses(fmt::format("scatter_reduce: {}", message), [&] { scatter_reduce(ctx, from, through, to, op); });
    refuses(fmt::format("scatter_reduce: {}", message), [&] { explain_scatter_reduce(ctx, from, through, to, op); });
  };
  const auto typed = [&](value_type type) { return const_values(at(0), 8, type); };
  const auto to = [&](value_type type) { return values(at(1 << 17), 16, type); };
  const auto odd = static_cast<value_type>(200);
  refused("the type of in is 200, not 0 to 11", typed(odd), index(), to(odd), reduction::add);
  refused("the type of in is 200, not 0 to 11", typed(odd), index(), to(value_type::f32), reduction::add);
  refused("the type of out is 200, not 0 to 11", typed(value_type::f32), index(), to(odd), reduction::add);
  refused("the reduction is 7, not 0 to 6", typed(value_type::f32), index(), to(value_type::f32),
          static_cast<reduction>(7));
  refused("the type of index is 4, not 0 to 3", typed(value_type::f32), index(8, static_cast<index_type>(4)),
          to(value_type::f32), reduction::add);
}

TEST(SplitCalls, ExplanationsLookAtShapesAlone) {
  const context ctx = context::cpu(2);
  const const_records in(nullptr, 1 << 20, 16);
  const const_records keys(nullptr, 1 << 20, 4);
  EXPECT_EQ(explain_split(ctx, in, split_key::of_record({5, 11})).primitive, "split");
  EXPECT_EQ(explain_split(ctx, in, split_key::of_record({5, 11}), false).primitive, "split_unstable");
  const auto from = explain_split_gather_index(ctx, split_key::of(keys, {0, 8}), index_type::u32);
  EXPECT_EQ(from.primitive, "split_gather_index");
  EXPECT_EQ(from.variants.size(), count_of(primitives::split_variants(), ctx.backend()));
  EXPECT_EQ(explain_split_scatter_index(ctx, split_key::of(keys, {0, 8}), index_type::u32).primitive,
            "split_scatter_index");
  EXPECT_EQ(explain_scatter_reduce(ctx, {nullptr, 9, value_type::f32}, {nullptr, 9, index_type::u32},
                                   {nullptr, 5, value_type::f32}, reduction::max)
                .primitive,
            "scatter_reduce");
  expect_error(error_code::bad_argument, "split: a key of 97 bits, not 1 to 96", [&] {
    explain_split(ctx, in, split_key::of_record({0, 97}));
  });
  expect_error(error_code::bad_argument, "split: in has 1048576 records, but there are 7 keys", [&] {
    explain_split(ctx, in, split_key::of({nullptr, 7, 4}, {0, 8}));
  });
  expect_error(error_code::bad_argument, "split_gather_index: give the keys, with split_key::of or ::category", [&] {
    explain_split_gather_index(ctx, split_key::of_record({0, 8}), index_type::u32);
  });
  expect_error(error_code::bad_argument,
               "split_scatter_index: the index has 4-byte entries, too narrow for 2147483648 records", [&] {
                 explain_split_scatter_index(ctx, split_key::of({nullptr, 1U << 31, 4}, {0, 8}), index_type::i32);
               });
  expect_error(error_code::bad_argument, "scatter_reduce: in has values of type f32, but out has u32", [&] {
    explain_scatter_reduce(ctx, {nullptr, 9, value_type::f32}, {nullptr, 9, index_type::u32},
                           {nullptr, 5, value_type::u32}, reduction::max);
  });
}

TEST(SplitCalls, AnEmptySpanOfOffsetsAsksForNone) {
  const context ctx = context::cpu(1);
  const std::vector<std::uint8_t> in{3, 1, 2};
  std::vector<std::uint8_t> out(3);
  std::vector<std::uint64_t> kept(300, 7);
  std::vector<std::uint32_t> index(3);
  split(ctx, in, split_key::of_record({0, 8}), out, std::span(kept).first(0), {"reference.serial"});
  split_gather_index(ctx, split_key::of(in, {0, 8}), index, std::span(kept).first(0), {"reference.serial"});
  EXPECT_EQ(kept, std::vector<std::uint64_t>(300, 7));
  EXPECT_EQ(out, (std::vector<std::uint8_t>{1, 2, 3}));
}

}  // namespace
}  // namespace sheaf::tests::primitives_split_arguments_test
