#include <sheaf/sort.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "support/contexts.hpp"
#include "support/trials/sort.hpp"
#include "support/variant_lists.hpp"

namespace sheaf::tests::primitives_sort_order_test {
namespace {

constexpr std::uint64_t seed = 20070101;

// Made for the calls that are tested: ctest runs each test by itself, and answers to all calls took most of its time.
const std::vector<sort_trial>& trials(sort_call call) {
  static std::map<sort_call, std::vector<sort_trial>> made;
  const auto [of_call, is_new] = made.try_emplace(call);
  if (is_new) {
    for (const sort_case& c : sort_cases()) {
      if (c.call == call) of_call->second.emplace_back(c);
    }
  }
  return of_call->second;
}

class EverySortVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no CUDA device here";
  }

  // Runs that there must be: all where a variant takes everything, and for variants that take some kinds of keys one
  // for each case that they took when this was written. Of CUDA's variants nothing is said but that each sorts some
  // records.
  static std::size_t least_runs(const std::string& variant, sort_call call, std::size_t cases,
                                const std::vector<named_context>& contexts) {
    // Of records, pairs, pairs without keys and gather indexes.
    static const std::map<std::string, std::array<std::size_t, 4>> cases_of_some{
        {"cpu.counting", {48, 7, 0, 5}},
        {"cpu.split_sort", {159, 161, 48, 82}},
        {"cpu.radix_clustering", {116, 96, 27, 36}},
        {"cpu.vqsort", {}},  // not every processor and build has it; tests/cpu has its cases
    };
    const auto is_cpu = [](const named_context& where) { return where.ctx.backend() == backend_kind::cpu; };
    const auto cpu_contexts = static_cast<std::size_t>(std::count_if(contexts.begin(), contexts.end(), is_cpu));
    if (variant.empty()) return cases * contexts.size();
    if (variant.starts_with("cuda.")) return call == sort_call::records ? 1 : 0;
    if (variant == "reference.serial") return cases;  // on one context alone
    const auto some = cases_of_some.find(variant);
    if (some == cases_of_some.end()) return cases * cpu_contexts;
    switch (call) {
      case sort_call::records: return some->second[0] * cpu_contexts;
      case sort_call::pairs: return some->second[1] * cpu_contexts;
      case sort_call::pairs_without_keys: return some->second[2] * cpu_contexts;
      case sort_call::gather_index: return some->second[3] * cpu_contexts;
    }
    return 0;
  }

  // Every case of a call on every context; the planner finds a variant for each.
  void expect_order(sort_call call) {
    const auto contexts = every_context();
    std::size_t runs = 0;
    for (const sort_trial& t : trials(call)) {
      SCOPED_TRACE(t.c.description());
      for (const named_context& where : contexts) {
        // The oracle does not change with the number of threads.
        if (GetParam() == "reference.serial" && where.ctx.threads() != contexts.front().ctx.threads()) continue;
        SCOPED_TRACE(where.name);
        const bool ran = run_and_expect(where.ctx, t, GetParam());
        EXPECT_TRUE(ran || !GetParam().empty()) << "no variant runs this";
        if (ran) ++runs;
      }
      if (HasFailure()) break;
    }
    RecordProperty("runs", static_cast<int>(runs));
    EXPECT_GE(runs, least_runs(GetParam(), call, trials(call).size(), contexts)) << "the variant refused too much";
  }
};

INSTANTIATE_TEST_SUITE_P(Sort, EverySortVariant, testing::ValuesIn(sort_variant_names()), test_name_of);

TEST_P(EverySortVariant, BringsRecordsIntoOrderStably) { expect_order(sort_call::records); }
TEST_P(EverySortVariant, BringsKeysAndValuesIntoOrderStably) { expect_order(sort_call::pairs); }
TEST_P(EverySortVariant, BringsValuesAloneIntoOrderStably) { expect_order(sort_call::pairs_without_keys); }
TEST_P(EverySortVariant, SaysTheOrder) { expect_order(sort_call::gather_index); }

// Values number the rows, so that where keys are equal they must ascend.
TEST_P(EverySortVariant, KeepsTheOrderOfEqualKeys) {
  constexpr std::uint64_t count = 70001;
  std::mt19937 random(seed);
  image keys = poisoned(count, 4, 4, 0, false);
  image numbers = poisoned(count, 4, 4, 0, false);
  for (std::uint64_t i = 0; i < count; ++i) {
    set_entry(keys, i, random() % 100);
    set_entry(numbers, i, i);
  }
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const placed in(where.ctx, keys), values(where.ctx, numbers), out(where.ctx, keys), values_out(where.ctx, numbers);
    const sort_column column{values.view(), values_out.view()};
    try {
      sort_pairs(where.ctx, in.view(), sort_key::of<std::uint32_t>(), out.view(), std::span(&column, 1), {GetParam()});
    } catch (const error& e) {
      if (e.code() != error_code::no_variant) throw;
      continue;
    }
    where.ctx.wait();
    image got_keys = keys, got_numbers = numbers;
    got_keys.bytes = out.download();
    got_numbers.bytes = values_out.download();
    const auto entry = [](const image& of, std::uint64_t i) {
      std::uint32_t value = 0;
      std::memcpy(&value, of.record(i), sizeof value);
      return value;
    };
    for (std::uint64_t i = 1; i < count; ++i) {
      ASSERT_LE(entry(got_keys, i - 1), entry(got_keys, i)) << i;
      if (entry(got_keys, i - 1) == entry(got_keys, i)) {
        ASSERT_LT(entry(got_numbers, i - 1), entry(got_numbers, i)) << i;
      }
    }
  }
}

TEST_P(EverySortVariant, SortsAPermutationLikeTheOriginal) {
  constexpr std::uint64_t count = 50021;
  image rows = filled(count, 8, 8, 0, 9);
  image permuted = rows;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(permuted.record(inputs::permute(i, count, 3)), rows.record(i), 8);
  }
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const placed a(where.ctx, rows), b(where.ctx, permuted), a_out(where.ctx, rows), b_out(where.ctx, rows);
    try {
      sort_records(where.ctx, a.view(), sort_key::of<std::int64_t>(), a_out.view(), {GetParam()});
      sort_records(where.ctx, b.view(), sort_key::of<std::int64_t>(), b_out.view(), {GetParam()});
    } catch (const error& e) {
      if (e.code() != error_code::no_variant) throw;
      continue;
    }
    where.ctx.wait();
    EXPECT_TRUE(a_out.download() == b_out.download());
  }
}

TEST(Sort, EveryVariantTakesSomething) {
  for (const auto& v : primitives::sort_variants()) {
    if (!can_run_here(std::string(v.name)) || v.name == "cpu.vqsort") continue;
    sort_case c;
    c.count = 1000;
    std::size_t runs = 0;
    for (const std::uint32_t width : {1, 4}) {
      c.row_bytes = width;
      c.fields = {field(0, width, key_type::unsigned_integer)};
      const sort_trial t(c);
      for (const named_context& where : every_context()) runs += run_and_expect(where.ctx, t, v.name) ? 1 : 0;
    }
    // One key of a byte and one of four; of them cpu.counting takes the byte, CUDA's sorts at least one.
    expect_runs(v.name, runs, v.name.starts_with("cuda.") || v.name == "cpu.counting" ? 1 : 2);
  }
}

template <class Keys, class Sorted>
concept sorts_into = requires(const context& ctx, Keys& keys, Sorted& sorted) {
  sort_keys(ctx, keys, sorted);
};
template <class Keys, class Values, class SortedValues>
concept sorts_values_into = requires(const context& ctx, Keys& keys, Values& values, SortedValues& sorted) {
  sort_pairs(ctx, keys, keys, values, sorted);
};
using ints = std::vector<int>;

static_assert(sorts_into<ints, ints> && sorts_into<const ints, std::span<int>>);
static_assert(sorts_into<std::span<const float>, std::array<float, 4>> &&
              sorts_into<unsigned char[4], unsigned char[4]>);
static_assert(sorts_values_into<ints, std::vector<std::byte>, std::span<std::byte>>, "values are any records");
// What else is wrong is a message of the compiler's, which tests/project/wrong_calls.cpp has.
static_assert(!sort_key_range<std::vector<std::string>> && !sort_key_range<std::vector<std::byte>> &&
                  !sort_key_range<std::vector<int*>>,
              "only numbers are keys");
static_assert(!sort_key_range<std::vector<long double>>, "of a width that sorts");

TEST(Sort, TakesEveryRangeOfNumbersSideBySide) {
  const context ctx = context::cpu(1);
  const std::array<std::int16_t, 4> keys{3, -1, 2, -1};
  const char values[4] = {'a', 'b', 'c', 'd'};
  std::vector<std::int16_t> sorted(4);
  std::string values_out(4, ' ');
  sort_keys(ctx, keys, sorted);
  EXPECT_EQ(sorted, (std::vector<std::int16_t>{-1, -1, 2, 3}));
  sort_keys(ctx, std::span(keys), std::span(sorted), {.descending = true});
  EXPECT_EQ(sorted, (std::vector<std::int16_t>{3, 2, -1, -1}));
  sort_pairs(ctx, keys, sorted, values, values_out);
  EXPECT_EQ(sorted, (std::vector<std::int16_t>{-1, -1, 2, 3}));
  EXPECT_EQ(values_out, "bdca");
}

// Of a span only address and size are looked at, so that it may lie where the host cannot read.
TEST(Sort, TakesSpansOfItsContextsMemory) {
  constexpr std::uint64_t count = 1000;
  std::vector<std::uint64_t> keys(count), sorted(count);
  std::vector<float> values(count), sorted_values(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    keys[i] = (count - i) << 40;
    values[i] = static_cast<float>(i);
  }
  for (const named_context& where : every_context()) {
    SCOPED_TRACE(where.name);
    const buffer memory(where.ctx, 24 * count);
    const std::span<std::uint64_t> in(memory.as<std::uint64_t>(), count), out(in.data() + count, count);
    const std::span<float> values_in(reinterpret_cast<float*>(out.data() + count), count);
    const std::span<float> values_out(values_in.data() + count, count);
    copy_bytes(where.ctx, in.data(), keys.data(), in.size_bytes());
    copy_bytes(where.ctx, values_in.data(), values.data(), values_in.size_bytes());
    sort_pairs(where.ctx, in, out, values_in, values_out);
    where.ctx.wait();
    copy_bytes(where.ctx, sorted_values.data(), values_out.data(), values_out.size_bytes());
    EXPECT_TRUE(std::equal(values.begin(), values.end(), sorted_values.rbegin()));
    sort_keys(where.ctx, std::span<const std::uint64_t>(in), out);
    where.ctx.wait();
    copy_bytes(where.ctx, sorted.data(), out.data(), out.size_bytes());
    EXPECT_TRUE(std::equal(keys.begin(), keys.end(), sorted.rbegin()));
  }
}

// Against the standard library and written out, not against the reference.
TEST(Sort, OfTypedNumbersIsTheirOrder) {
  const context ctx = context::cpu(2);
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> in(30000);
  for (auto& x : in) x = static_cast<std::int32_t>(random());
  std::vector<std::int32_t> expected = in, out(in.size());
  std::sort(expected.begin(), expected.end());
  sort_keys(ctx, in, out);
  EXPECT_EQ(out, expected);
  std::reverse(expected.begin(), expected.end());
  sort_keys(ctx, in, out, {.descending = true});
  EXPECT_EQ(out, expected);

  const std::vector<std::uint8_t> keys{3, 1, 2, 1};
  const std::vector<double> values{0.5, 1.5, 2.5, 3.5};
  std::vector<std::uint8_t> keys_out(4);
  std::vector<double> values_out(4);
  sort_pairs(ctx, keys, keys_out, values, values_out);
  EXPECT_EQ(keys_out, (std::vector<std::uint8_t>{1, 1, 2, 3}));
  EXPECT_EQ(values_out, (std::vector<double>{1.5, 3.5, 2.5, 0.5}));
  std::vector<std::int64_t> index(4);
  sort_gather_index(ctx, keys, sort_key::of<std::uint8_t>(true), index);
  EXPECT_EQ(index, (std::vector<std::int64_t>{0, 2, 1, 3}));
}

TEST(Sort, OfFloatsIsTheTotalOrder) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double least = std::numeric_limits<double>::denorm_min();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> expected{
      std::copysign(nan, -1.0), -infinity, -1e300, -1.0, -least, -0.0, 0.0, least, 1.0, 1e300, infinity, nan};
  std::vector<double> in = expected;
  std::mt19937 random(seed);
  for (const named_context& where : every_context()) {
    if (where.ctx.backend() != backend_kind::cpu) continue;
    std::shuffle(in.begin(), in.end(), random);
    std::vector<double> out(in.size());
    sort_keys(where.ctx, in, out);
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(double)), 0);
    sort_keys(where.ctx, in, out, {.descending = true});
    std::reverse(out.begin(), out.end());
    EXPECT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(double)), 0);
  }
}

TEST(Sort, OfStringsIsTheirByteOrder) {
  const context ctx = context::cpu(1);
  const char in[] = "banana\0\0\0\0apple\0\0\0\0\0applepie\0\0cherry\0\0\0\0";
  char out[sizeof in] = {};
  sort_records(ctx, {in, 4, 10}, key_field{0, 10, key_type::bytes}, {out, 4, 10});
  EXPECT_STREQ(out, "apple");
  EXPECT_STREQ(out + 10, "applepie");
  EXPECT_STREQ(out + 20, "banana");
  EXPECT_STREQ(out + 30, "cherry");
}

TEST(Sort, OfNothingDoesNothing) {
  for (const named_context& where : every_context()) {
    const records none(nullptr, 0, 4);
    sort_records(where.ctx, none, sort_key::of<float>(), none);
    sort_pairs(where.ctx, none, sort_key::of<float>(), none, {});
    sort_gather_index(where.ctx, none, sort_key::of<float>(), {nullptr, 0, index_type::u32});
    where.ctx.wait();
  }
}

TEST(Sort, ExplainsWhatItWouldDo) {
  const context ctx = context::cpu(2);
  const const_records rows(nullptr, 100000, 12);
  const sort_column column{const_records(nullptr, 100000, 4), records(nullptr, 100000, 4)};
  for (const explanation& why : {explain_sort_records(ctx, rows, sort_key::of<double>()),
                                 explain_sort_pairs(ctx, rows, sort_key::of<float>(), false, std::span(&column, 1)),
                                 explain_sort_gather_index(ctx, rows, sort_key::of<double>(), index_type::i32)}) {
    ASSERT_NE(why.choice(), nullptr);
    EXPECT_GT(why.choice()->seconds, 0);
    EXPECT_EQ(why.variants.size(), count_of(primitives::sort_variants(), ctx.backend()));
  }
}

}  // namespace
}  // namespace sheaf::tests::primitives_sort_order_test
