// Hash searches refuse bad arguments by name, before any work.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/hash_search.hpp>

#include "primitives/hash/search.hpp"
#include "support/contexts.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests::primitives_hash_arguments_test {
namespace {

// Arrays that fit together: 8 keys of 8 bytes, searched for in themselves. Each test breaks one thing.
class HashArguments : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](std::uint64_t word) { return word == 0x5a; }))
        << "a refused call has written";
    EXPECT_NO_THROW(ctx.wait());
  }

  std::byte* at(std::uint64_t place) { return reinterpret_cast<std::byte*>(memory.data()) + place; }
  const_records keys(std::uint64_t count = 8, std::uint64_t width = 8) { return {at(0), count, width}; }
  index_output offsets(std::uint64_t count = 9, index_type type = index_type::u64) { return {at(128), count, type}; }
  index_output ids(std::uint64_t count = 8, index_type type = index_type::u32) { return {at(256), count, type}; }
  records found(std::uint64_t count = 8, std::uint64_t width = 1) { return {at(256), count, width}; }

  template <class Call>
  void refuses(std::string_view message, Call call) {
    expect_error(error_code::bad_argument, message, call);
  }
  void refuses_into(std::string_view message, const_records probes, index_output to, index_output numbers) {
    refuses(fmt::format("hash_search_into: {}", message), [&] { hash_search_into(ctx, index, probes, to, numbers); });
  }
  void refuses_find(std::string_view message, const_records probes, index_output to) {
    refuses(fmt::format("hash_find: {}", message), [&] { hash_find(ctx, index, probes, to); });
  }
  void refuses_count(std::string_view message, const_records probes, index_output to) {
    refuses(fmt::format("hash_count: {}", message), [&] { hash_count(ctx, index, probes, to); });
  }
  void refuses_contains(std::string_view message, const_records probes, records to) {
    refuses(fmt::format("hash_contains: {}", message), [&] { hash_contains(ctx, index, probes, to); });
  }
  void refuses_build(std::string_view message, const_records of, double load = 0.8) {
    refuses(fmt::format("build_hash_index: {}", message), [&] { build_hash_index(ctx, of, {.load = load}); });
  }

  const context ctx = context::cpu(2);
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(64, 0x5a);
  const hash_index index = build_hash_index(ctx, memory);
};

TEST_F(HashArguments, KeysHaveFourOrEightBytes) {
  refuses_build("keys of 2 bytes, not 4 or 8", keys(8, 2));
  refuses_build("keys of 16 bytes, not 4 or 8", keys(8, 16));
  refuses_build("keys has records of 0 bytes, not 1 to 65536", keys(8, 0));
  refuses_build("keys has a stride of 4 bytes, less than its records' 8", {at(0), 8, 8, 4});
  refuses_build("keys is null", {nullptr, 8, 8});
  refuses_find("probes of 4 bytes, but the index has keys of 8", keys(8, 4), ids());
  refuses("hash_search: probes of 4 bytes, but the index has keys of 8", [&] { hash_search(ctx, index, keys(8, 4)); });
  refuses("hash_search: probes is null", [&] { hash_search(ctx, index, {nullptr, 8, 8}); });
}

// Bytes of offsets, of scratch and of an index would have more than 64 bits, and seem few.
TEST_F(HashArguments, CountsThatNoMemoryHoldsAreRefused) {
  const const_records probes = keys(std::uint64_t{1} << 59);
  const std::string many = "576460752303423488 probes are more than memory can hold";
  refuses("hash_search: " + many, [&] { hash_search(ctx, index, probes); });
  refuses("hash_search: " + many, [&] { explain_hash_search(ctx, index, probes); });
  refuses_into(many, probes, offsets(probes.count + 1), ids());
  refuses_count(many, probes, ids(probes.count, index_type::u64));
  refuses_contains(many, probes, found(probes.count));
  refuses_find(many, probes, ids(probes.count));
  const std::string all = "2305843009213693951 keys are more than memory can hold";
  refuses_build(all, keys((std::uint64_t{1} << 61) - 1, 4));
  refuses("build_hash_index: " + all, [&] { explain_build_hash_index(ctx, keys((std::uint64_t{1} << 61) - 1, 4)); });
  const hash_index none = build_hash_index(ctx, keys(0));
  refuses("hash_count: " + many, [&] { hash_count(ctx, none, probes, ids(probes.count, index_type::u64)); });
  EXPECT_NE(explain_hash_search(ctx, index, keys(std::uint64_t{1} << 56)).choice(), nullptr);
}

TEST_F(HashArguments, TheLoadIsInRange) {
  refuses_build("a load of 1, not 0 or 0.05 to 0.99", keys(), 1);
  refuses_build("a load of 0.04, not 0 or 0.05 to 0.99", keys(), 0.04);
  refuses_build("a load of -1, not 0 or 0.05 to 0.99", keys(), -1);
  refuses_build("a load of nan, not 0 or 0.05 to 0.99", keys(), std::numeric_limits<double>::quiet_NaN());
  refuses("build_hash_index: a load of 2, not 0 or 0.05 to 0.99",
          [&] { explain_build_hash_index(ctx, keys(), {.load = 2}); });
}

TEST_F(HashArguments, LengthsMustAgree) {
  refuses_find("ids has 7 entries for 8 probes", keys(), ids(7));
  refuses_count("counts has 9 entries for 8 probes", keys(), ids(9));
  refuses_contains("found has 0 entries for 8 probes", keys(), found(0));
  refuses_into("offsets has 8 entries for 8 probes, not one more", keys(), offsets(8), ids());
  refuses_into("offsets has 10 entries for 8 probes, not one more", keys(), offsets(10), ids());
}

TEST_F(HashArguments, TypesMustHoldWhatIsWritten) {
  refuses_into("offsets is not of type u64", keys(), offsets(9, index_type::i64), ids());
  refuses_into("ids has entries of 8 bytes, but record numbers of the index have 4", keys(), offsets(),
               ids(8, index_type::u64));
  refuses_find("ids has entries of 8 bytes, but record numbers of the index have 4", keys(), ids(8, index_type::i64));
  refuses_find("the type of ids is 9, not 0 to 3", keys(), ids(8, static_cast<index_type>(9)));
  refuses_count("the type of counts is 4, not 0 to 3", keys(), ids(8, static_cast<index_type>(4)));
  refuses_contains("found has records of 2 bytes, 2 bytes apart, not bytes side by side", keys(), found(8, 2));
  refuses_contains("found has records of 1 bytes, 3 bytes apart, not bytes side by side", keys(), {at(256), 8, 1, 3});
}

TEST_F(HashArguments, OutputsMustBeThereAlignedAndApart) {
  refuses_into("offsets is null", keys(), {nullptr, 9, index_type::u64}, ids());
  refuses_into("ids is null", keys(), offsets(), {nullptr, 8, index_type::u32});
  refuses_into("offsets is not aligned to its 8 bytes", keys(), {at(132), 9, index_type::u64}, ids());
  refuses_into("ids is not aligned to its 4 bytes", keys(), offsets(), {at(258), 8, index_type::u32});
  refuses_into("offsets overlaps probes", keys(), {at(56), 9, index_type::u64}, ids());
  refuses_into("ids overlaps probes", keys(), offsets(), {at(60), 8, index_type::u32});
  refuses_into("ids overlaps offsets", keys(), offsets(), {at(196), 8, index_type::u32});
  refuses_find("ids overlaps probes", keys(), {at(0), 8, index_type::u32});
  refuses_find("ids is null", keys(), {nullptr, 8, index_type::u32});
  refuses_count("counts overlaps probes", keys(), {at(32), 8, index_type::u32});
  refuses_count("counts is not aligned to its 8 bytes", keys(), {at(260), 8, index_type::u64});
  refuses_contains("found overlaps probes", keys(), {at(63), 8, 1});
  refuses_contains("found is null", keys(), {nullptr, 8, 1});
}

// A pretended index of as many records as no test can have.
class wide_table final : public primitives::hash_table {
 public:
  wide_table(std::uint64_t records, std::uint64_t longest_chain, index_type id) {
    facts.records = records;
    facts.distinct = 1;
    facts.longest_chain = longest_chain;
    facts.id = id;
  }
  std::uint64_t bytes() const noexcept override { return 0; }
};

TEST_F(HashArguments, NumbersMustHoldEveryRecordAndChain) {
  constexpr std::uint64_t most_i32 = std::uint64_t{1} << 31;
  const hash_index signed_limit(std::make_unique<wide_table>(most_i32, most_i32, index_type::u32));
  refuses("hash_find: ids has 4-byte entries, too narrow for 2147483648 records",
          [&] { hash_find(ctx, signed_limit, keys(), ids(8, index_type::i32)); });
  refuses("hash_count: counts has 4-byte entries, too narrow for 2147483648 records",
          [&] { hash_count(ctx, signed_limit, keys(), ids(8, index_type::i32)); });
  const hash_index wide(std::make_unique<wide_table>(2 * most_i32, 2 * most_i32, index_type::u64));
  refuses("hash_find: ids has entries of 4 bytes, but record numbers of the index have 8",
          [&] { hash_find(ctx, wide, keys(), ids()); });
  refuses("hash_count: counts has 4-byte entries, too narrow for 4294967296 records",
          [&] { hash_count(ctx, wide, keys(), ids()); });
}

TEST_F(HashArguments, VariantsMustExist) {
  EXPECT_TRUE(message_of(error_code::bad_argument, [&] {
                build_hash_index(ctx, keys(), {.variant = "cpu.sideways"});
              }).starts_with("build_hash_index: no variant is named 'cpu.sideways'; there are reference.serial, "));
  EXPECT_TRUE(message_of(error_code::bad_argument, [&] {
                build_hash_index(ctx, keys(0), {.variant = "cpu.sideways"});
              }).starts_with("build_hash_index: no variant is named 'cpu.sideways'; there are reference.serial, "));
  EXPECT_TRUE(message_of(error_code::bad_argument, [&] {
                hash_count(ctx, index, keys(), ids(), {.variant = "cpu.sideways"});
              }).starts_with("hash_count: no variant is named 'cpu.sideways'; there are reference.serial, cpu.direct"));
}

}  // namespace
}  // namespace sheaf::tests::primitives_hash_arguments_test
