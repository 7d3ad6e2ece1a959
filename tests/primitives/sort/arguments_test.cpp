#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/sort.hpp>

#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::primitives_sort_arguments_test {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

// Arrays that fit together, on any backend: 8 rows of 12 bytes, and as many values of 4. Each test breaks one thing.
class SortArguments : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend_kind::cuda) {
      const auto cuda = cuda_context();
      if (!cuda) GTEST_SKIP() << "no CUDA device here";
      ctx = *cuda;
    }
    memory = buffer(ctx, std::uint64_t{1} << 20);
  }

  std::byte* at(std::uint64_t place) const { return memory.data() + place; }
  records in(std::uint64_t count = 8, std::uint64_t width = 12) const { return {at(0), count, width}; }
  records out(std::uint64_t count = 8, std::uint64_t width = 12) const { return {at(1 << 18), count, width}; }
  sort_column values(std::uint64_t count = 8, std::uint64_t width = 4) const {
    return {const_records(at(1 << 17), count, width), records(at(3 << 17), count, width)};
  }
  index_output index(std::uint64_t count = 8, index_type type = index_type::u32) const {
    return {at(3 << 18), count, type};
  }
  static sort_key key() { return sort_key::of<std::uint32_t>(); }
  static sort_key key(std::uint64_t offset, std::uint32_t bytes, key_type type = key_type::unsigned_integer,
                      std::uint32_t first_bit = 0, std::uint32_t bit_count = 0) {
    return key_field{offset, bytes, type, false, first_bit, bit_count};
  }

  template <class Call>
  void refuses(std::string_view message, Call call) {
    expect_error(error_code::bad_argument, message, call);
    EXPECT_NO_THROW(ctx.wait());
  }
  void expect_records(std::string_view message, const_records from, const sort_key& by, records to) {
    refuses(fmt::format("sort_records: {}", message), [&] { sort_records(ctx, from, by, to); });
  }
  void expect_pairs(std::string_view message, const_records keys, const sort_key& by, records keys_out,
                    const std::vector<sort_column>& columns) {
    refuses(fmt::format("sort_pairs: {}", message), [&] { sort_pairs(ctx, keys, by, keys_out, columns); });
  }
  void expect_index(std::string_view message, const_records from, const sort_key& by, index_output to) {
    refuses(fmt::format("sort_gather_index: {}", message), [&] { sort_gather_index(ctx, from, by, to); });
  }
  // All calls check the same things of keys, each under its own name.
  void expect_key(std::string_view message, const sort_key& by, std::uint64_t width = 12) {
    expect_records(message, in(8, width), by, out(8, width));
    expect_pairs(message, in(8, width), by, out(8, width), {values()});
    expect_index(message, in(8, width), by, index());
    refuses(fmt::format("sort_records: {}", message), [&] { explain_sort_records(ctx, in(8, width), by); });
  }

  context ctx = context::cpu(1);
  buffer memory;
};

#if SHEAF_HAS_CUDA
constexpr backend_kind backends[] = {backend_kind::cpu, backend_kind::cuda};
#else
constexpr backend_kind backends[] = {backend_kind::cpu};
#endif
INSTANTIATE_TEST_SUITE_P(EveryBackend, SortArguments, testing::ValuesIn(backends),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(SortArguments, CountsAndWidthsMustAgree) {
  expect_records("in has 8 rows, but out has 7", in(), key(), out(7));
  expect_records("in has rows of 12 bytes, but out has 13", in(), key(), out(8, 13));
  expect_pairs("keys has 8 rows, but keys_out has 9", in(), key(), out(9), {values()});
  expect_pairs("keys has rows of 12 bytes, but keys_out has 4", in(), key(), out(8, 4), {values()});
  expect_pairs("8 keys, but values[0].in has 7 values", in(), key(), out(), {values(7)});
  expect_pairs("8 keys, but values[1].in has 9 values", in(), key(), {}, {values(), values(9)});
  sort_column odd = values();
  odd.out.count = 7;
  expect_pairs("values[0].in has 8 rows, but values[0].out has 7", in(), key(), out(), {odd});
  odd = values();
  odd.out.record_bytes = odd.out.stride_bytes = 8;
  expect_pairs("values[0].in has rows of 4 bytes, but values[0].out has 8", in(), key(), out(), {odd});
  expect_pairs("9 arrays of values, more than 8", in(), key(), out(), std::vector<sort_column>(9, values()));
  expect_index("the index has 7 entries, but there are 8 rows", in(), key(), index(7));
}

TEST_P(SortArguments, ShapesMakeSense) {
  expect_records("in has records of 0 bytes, not 1 to 65536", in(8, 0), key(), out(8, 0));
  expect_records("in has records of 65537 bytes, not 1 to 65536", in(1, 65537), key(), out(1, 65537));
  expect_records("in has a stride of 3 bytes, less than its records' 4", {at(0), 8, 4, 3}, key(), out(8, 4));
  expect_records("out has a stride of 3 bytes, less than its records' 4", in(8, 4), key(), {at(1 << 18), 8, 4, 3});
  expect_pairs("keys has records of 0 bytes, not 1 to 65536", in(8, 0), key(), {}, {values()});
  expect_index(fmt::format("in has {} records 4 bytes apart, more than memory can hold", most), {at(0), most, 4}, key(),
               {at(8), most, index_type::u64});
}

TEST_P(SortArguments, FourByteEntriesAreForFewerRows) {
  const auto expect_narrow = [&](index_type type, std::uint64_t rows) {
    const std::string message = fmt::format("the index has 4-byte entries, too narrow for {} records", rows);
    expect_index(message, in(rows), key(), index(rows, type));
    refuses(fmt::format("sort_gather_index: {}", message),
            [&] { explain_sort_gather_index(ctx, in(rows), key(), type); });
    EXPECT_NO_THROW(explain_sort_gather_index(ctx, in(rows - 1), key(), type));
  };
  expect_narrow(index_type::u32, std::uint64_t{1} << 32);
  expect_narrow(index_type::i32, std::uint64_t{1} << 31);
}

TEST_P(SortArguments, FieldsLieInsideTheRow) {
  expect_key("a key field of 4 bytes from byte 9 on reaches past a row of 12 bytes", key(9, 4));
  expect_key("a key field of 1 bytes from byte 13 on reaches past a row of 12 bytes", key(13, 1));
  expect_key("a key field of 16 bytes from byte 0 on reaches past a row of 12 bytes", key(0, 16));
  expect_key(fmt::format("a key field of 2 bytes from byte {} on reaches past a row of 12 bytes", most), key(most, 2));
}

TEST_P(SortArguments, FieldsHaveAWidthOfTheirType) {
  expect_key("a key field of 3 bytes, not 2, 4 or 8 for a float", key(0, 3, key_type::floating));
  expect_key("a key field of 12 bytes, not 2, 4 or 8 for a float", key(0, 12, key_type::floating));
  expect_key("a key field of 0 bytes, not 1 to 32", key(0, 0));
  expect_key("a key field of 0 bytes, not 1 to 32", key(0, 0, key_type::bytes));
  expect_key("a key field of 33 bytes, not 1 to 32", key(0, 33, key_type::bytes), 100);
  expect_key("a key field of 33 bytes, not 1 to 32", key(0, 33, key_type::signed_integer), 100);
  expect_key("the type of a key field is 9, not 0 to 3", key(0, 4, static_cast<key_type>(9)));
}

TEST_P(SortArguments, IndexTypesAreOneOfFour) {
  const auto odd = static_cast<index_type>(255);
  expect_index("the type of the index is 255, not 0 to 3", in(), key(), index(8, odd));
  refuses("sort_gather_index: the type of the index is 255, not 0 to 3",
          [&] { explain_sort_gather_index(ctx, in(), key(), odd); });
}

TEST_P(SortArguments, BitsLieInsideTheField) {
  expect_key("bit 32 lies past a key field of 32 bits", key(0, 4, key_type::unsigned_integer, 32, 0));
  expect_key("8 bits from bit 25 on reach past a key field of 32 bits", key(0, 4, key_type::floating, 25, 8));
  expect_key("33 bits from bit 0 on reach past a key field of 32 bits", key(0, 4, key_type::bytes, 0, 33));
  expect_key("4294967295 bits from bit 1 on reach past a key field of 32 bits",
             key(0, 4, key_type::unsigned_integer, 1, 0xffffffff));
}

TEST_P(SortArguments, KeysHave1To8FieldsOf256Bits) {
  sort_key none = key();
  none.count = 0;
  expect_key("a key of 0 fields, not 1 to 8", none);
  none.count = 9;
  expect_key("a key of 9 fields, not 1 to 8", none);
  refuses("sort_key: more than 8 fields", [] {
    const key_field f{0, 1};
    const sort_key nine{f, f, f, f, f, f, f, f, f};
  });
  const sort_key wide{{0, 32, key_type::bytes}, {32, 1, key_type::bytes}};
  expect_key("a key of 264 bits, more than 256", wide, 100);
  // The most bits that a key may have, in fields that overlap.
  sort_records(ctx, in(8, 32), {{0, 32, key_type::bytes, false, 0, 128}, {0, 16, key_type::unsigned_integer}},
               out(8, 32));
  ctx.wait();
}

TEST_P(SortArguments, WhatIsWrittenLiesApart) {
  const auto overlaps = [&](std::string_view call, std::string_view a, std::string_view b, auto run) {
    const std::string message = message_of(error_code::bad_argument, run);
    EXPECT_TRUE(message.starts_with(call)) << message;
    EXPECT_NE(message.find(a), std::string::npos) << message;
    EXPECT_NE(message.find(b), std::string::npos) << message;
    EXPECT_NE(message.find("overlap"), std::string::npos) << message;
  };
  overlaps("sort_records: ", "in", "out", [&] { sort_records(ctx, in(), key(), in()); });
  overlaps("sort_records: ", "in", "out", [&] { sort_records(ctx, in(), key(), {at(8 * 12 - 1), 8, 12}); });
  const auto pairs = [&](records keys_out, const std::vector<sort_column>& columns) {
    return [=, this] { sort_pairs(ctx, in(), key(), keys_out, columns); };
  };
  overlaps("sort_pairs: ", "keys", "keys_out", pairs(in(), {values()}));
  overlaps("sort_pairs: ", "values[0].in", "values[0].out", pairs(out(), {{values().in, {at(1 << 17), 8, 4}}}));
  overlaps("sort_pairs: ", "keys", "values[0].out", pairs(out(), {{values().in, {at(4), 8, 4}}}));
  overlaps("sort_pairs: ", "keys_out", "values[0].out", pairs(out(), {{values().in, {at(1 << 18), 8, 4}}}));
  overlaps("sort_pairs: ", "values[0].out", "values[1].out", pairs(out(), {values(), values()}));
  overlaps("sort_gather_index: ", "in", "the index", [&] {
    sort_gather_index(ctx, in(), key(), {at(8), 8, index_type::u32});
  });
}

TEST_P(SortArguments, ValuesMayComeFromOneArray) {
  sort_column again = values();
  again.out = records(at(7 << 17), 8, 4);
  sort_pairs(ctx, in(), key(), out(), std::vector<sort_column>{values(), again});
  ctx.wait();
}

TEST_P(SortArguments, IndexEntriesCanSayEveryRow) {
  constexpr std::uint64_t past_u32 = (std::uint64_t{1} << 32) + 1;
  constexpr std::uint64_t past_i32 = (std::uint64_t{1} << 31) + 1;
  const auto refused = [&](std::uint64_t count, index_type type) {
    return message_of(error_code::bad_argument, [&] {
      sort_gather_index(ctx, {at(0), count, 1}, sort_key::of<std::uint8_t>(), index(count, type));
    });
  };
  EXPECT_TRUE(refused(past_u32, index_type::u32).starts_with("sort_gather_index: the index"));
  EXPECT_TRUE(refused(past_i32, index_type::i32).starts_with("sort_gather_index: the index"));
}

TEST_P(SortArguments, MemoryIsThere) {
  const auto named = [&](std::string_view what, auto call) {
    const std::string message = message_of(error_code::bad_argument, call);
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_NE(message.find("null"), std::string::npos) << message;
  };
  named("in", [&] { sort_records(ctx, {nullptr, 8, 12}, key(), out()); });
  named("out", [&] { sort_records(ctx, in(), key(), {nullptr, 8, 12}); });
  named("keys_out", [&] { sort_pairs(ctx, in(), key(), {nullptr, 8, 12}, {}); });
  named("the index", [&] { sort_gather_index(ctx, in(), key(), {nullptr, 8, index_type::u32}); });
}

TEST_P(SortArguments, VariantsHaveNames) {
  const std::string message =
      message_of(error_code::bad_argument, [&] { sort_records(ctx, in(), key(), out(), {.variant = "cpu.quick"}); });
  EXPECT_NE(message.find("cpu.quick"), std::string::npos) << message;
  EXPECT_NE(message.find(ctx.backend() == backend_kind::cuda ? "cuda.sample" : "cpu.msd"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace sheaf::tests::primitives_sort_arguments_test
