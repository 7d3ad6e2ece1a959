#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <sheaf/sheaf.hpp>
#include <sheaf/split.hpp>

// What write-combining buffers, several threads and several passes could get wrong: records that do not fill a line,
// parts that meet inside a line, widths that divide no line. Every answer is compared with the reference's, byte for
// byte, with what lies around and between the records of the output.
namespace sheaf::tests::cpu_split_test {
namespace {

constexpr std::uint64_t seed = 20090301;

std::vector<std::byte> random_bytes(std::uint64_t count, std::uint64_t salt = 0) {
  std::mt19937_64 random(seed + salt);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

struct shape {
  std::uint64_t record_bytes;
  std::uint64_t in_gap = 0;
  std::uint64_t out_gap = 0;
  std::uint64_t out_shift = 0;  ///< bytes from an address aligned to two lines
};

struct answer {
  std::vector<std::byte> out;
  std::vector<std::uint64_t> offsets;
  std::string bad;
  friend bool operator==(const answer&, const answer&) = default;
};

std::string bad_index_of(const context& ctx) {
  try {
    ctx.wait();
  } catch (const error& e) {
    return e.what();
  }
  return "none";
}

answer split_with(const char* variant, int threads, std::uint64_t count, const shape& s, split_key key, bool stable) {
  const context ctx = context::cpu(threads);
  const auto in = random_bytes(count * (s.record_bytes + s.in_gap) + 1);
  const std::uint64_t out_bytes = count * (s.record_bytes + s.out_gap) + 256;
  const buffer out(ctx, out_bytes);
  std::memset(out.data(), 0x5a, out_bytes);
  answer a{{}, std::vector<std::uint64_t>(key.categories + 1, 77), {}};
  const const_records from(in.data(), count, s.record_bytes, s.record_bytes + s.in_gap);
  const records to(out.data() + 128 + s.out_shift, count, s.record_bytes, s.record_bytes + s.out_gap);
  if (stable) {
    split(ctx, from, key, to, a.offsets, {.variant = variant});
  } else {
    split_unstable(ctx, from, key, to, a.offsets, {.variant = variant});
  }
  a.bad = bad_index_of(ctx);
  a.out.assign(out.data(), out.data() + out_bytes);
  return a;
}

void expect_reference(std::uint64_t count, const shape& s, const split_key& key) {
  const answer expected = split_with("reference.serial", 1, count, s, key, true);
  for (const int threads : {1, 2, 3, 7}) {
    const answer got = split_with("cpu.buffered", threads, count, s, key, threads != 3);
    EXPECT_EQ(got.bad, expected.bad);
    EXPECT_TRUE(got.offsets == expected.offsets)
        << threads << " threads, " << count << " records of " << s.record_bytes << " bytes, " << key.categories;
    EXPECT_TRUE(got.out == expected.out) << threads << " threads, " << count << " records of " << s.record_bytes
                                         << " bytes, gaps " << s.in_gap << " " << s.out_gap << ", shift " << s.out_shift
                                         << ", " << key.categories << " categories";
  }
}

constexpr std::uint64_t many = 50001;  // enough for 7 parts

TEST(CpuSplit, RecordsOfEveryWidthEqualTheReference) {
  for (const std::uint64_t width : {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 64, 100}) {
    for (const std::uint32_t bits : {1U, 5U, 8U}) expect_reference(many, {width}, split_key::of_record({0, bits}));
  }
}

TEST(CpuSplit, OutputsThatBeginInsideALineEqualTheReference) {
  for (const std::uint64_t shift : {1, 4, 8, 16, 24, 60, 120}) {
    for (const std::uint64_t width : {4, 8, 16, 12}) {
      expect_reference(many, {width, 0, 0, shift}, split_key::of_record({3, 7}));
    }
  }
}

TEST(CpuSplit, GapsKeepWhatTheyHold) {
  for (const std::uint64_t width : {1, 3, 4, 8, 12, 16, 64, 100}) {
    expect_reference(many, {width, 4, 4}, split_key::of_record({1, 6}));
    expect_reference(many, {width, 0, 28}, split_key::of_record({1, 6}));
    expect_reference(many, {width, 64 - width % 64, 0}, split_key::of_record({1, 6}));
  }
}

TEST(CpuSplit, KeysAnywhereInTheRecordInBothOrders) {
  for (const bit_order order : {bit_order::little_endian, bit_order::from_left}) {
    for (const std::uint64_t width : {3, 4, 5, 7, 8, 12, 16, 100}) {
      for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{7}, width * 8 - 15}) {
        expect_reference(4321, {width}, split_key::of_record({first, 9, order}));
        expect_reference(4321, {width}, split_key::of_record({first, 15, order}));
      }
    }
  }
}

TEST(CpuSplit, SeveralPassesEqualTheReference) {
  for (const std::uint64_t width : {2, 4, 8, 16, 12, 100}) {
    for (const std::uint32_t bits : {12U, 16U}) expect_reference(many, {width}, split_key::of_record({0, bits}));
  }
  for (const std::uint64_t width : {4, 8}) {
    expect_reference(many, {width, 0, 0, 8}, split_key::of_record({2, 24}));
    expect_reference(many, {width, 4, 4}, split_key::of_record({2, 20}));
  }
}

TEST(CpuSplit, KeysApartEqualTheReference) {
  const auto keys = random_bytes(many * 12);
  for (const std::uint64_t key_bytes : {1, 2, 4, 8, 12}) {
    const const_records of(keys.data(), many, key_bytes, 12);
    for (const std::uint64_t width : {1, 4, 8, 16, 100}) {
      expect_reference(many, {width}, split_key::of(of, {0, 8}));
      if (key_bytes >= 2) expect_reference(many, {width}, split_key::of(of, {1, 15, bit_order::from_left}));
    }
  }
}

TEST(CpuSplit, BadCategoriesAreLeftOutAndTheFirstIsReported) {
  for (const std::uint64_t categories : {1, 2, 200, 3000, 60000}) {
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> category(many);
    for (auto& c : category) c = static_cast<std::uint32_t>(random() % categories);
    category[many - 3] = static_cast<std::uint32_t>(categories);
    category[many / 2] = 0xffffffff;
    for (const std::uint64_t width : {4, 8, 12}) {
      expect_reference(many, {width}, split_key::category(category, categories));
    }
  }
}

TEST(CpuSplit, SkewedAndTinyInputsEqualTheReference) {
  std::vector<std::uint16_t> category(many, 4095);
  category[17] = 3;
  expect_reference(many, {8}, split_key::category(category, 4096));
  expect_reference(many, {8}, split_key::category(category, std::uint64_t{1} << 17));
  for (const std::uint64_t count : {0, 1, 2, 7, 63, 64, 65, 1023, 1024, 1025}) {
    expect_reference(count, {8}, split_key::of_record({0, 8}));
    expect_reference(count, {8}, split_key::of_record({0, 14}));
    expect_reference(count, {100}, split_key::of_record({0, 3}));
  }
}

template <class Index>
void expect_indices(const split_key& key) {
  const auto made = [&](const char* variant, int threads, bool gathers) {
    const context ctx = context::cpu(threads);
    std::vector<Index> index(key.keys.count, 99);
    answer a{{}, std::vector<std::uint64_t>(key.categories + 1), {}};
    const auto make = gathers ? split_gather_index : split_scatter_index;
    make(ctx, key, index, a.offsets, {.variant = variant});
    a.bad = bad_index_of(ctx);
    const auto bytes = std::as_bytes(std::span(index));
    a.out.assign(bytes.begin(), bytes.end());
    return a;
  };
  for (const bool gathers : {false, true}) {
    const answer expected = made("reference.serial", 1, gathers);
    for (const int threads : {1, 2, 3, 7}) {
      EXPECT_TRUE(made("cpu.buffered", threads, gathers) == expected)
          << (gathers ? "gather" : "scatter") << " index, " << threads << " threads, " << key.categories;
    }
  }
}

TEST(CpuSplit, IndicesEqualTheReferences) {
  std::mt19937_64 random(seed);
  std::vector<std::uint32_t> keys(many);
  for (auto& k : keys) k = static_cast<std::uint32_t>(random());
  for (const std::uint32_t bits : {1U, 8U, 13U, 18U}) {
    expect_indices<std::uint32_t>(split_key::of(keys, {3, bits}));
    expect_indices<std::int64_t>(split_key::of(keys, {3, bits, bit_order::from_left}));
  }
  for (auto& k : keys) k %= 100;
  expect_indices<std::int32_t>(split_key::category(keys, 99));
  expect_indices<std::uint64_t>(split_key::category(keys, std::uint64_t{1} << 20));
}

// Output beyond the last-level cache is streamed; a profile with a small cache makes that of a small input.
TEST(CpuSplit, StreamedLinesEqualTheReference) {
  context ctx = context::cpu(3);
  machine small = ctx.profile();
  small.cache_bytes = 1024;
  ctx.use(small);
  for (const std::uint64_t width : {4, 8, 16, 64, 100}) {
    for (const std::uint32_t bits : {6U, 13U}) {
      const auto in = random_bytes(many * width);
      std::vector<std::byte> expected(many * width);
      std::vector<std::byte> got(many * width);
      const split_key key = split_key::of_record({0, bits});
      split(ctx, {in.data(), many, width}, key, {expected.data(), many, width}, {}, {.variant = "reference.serial"});
      split(ctx, {in.data(), many, width}, key, {got.data(), many, width}, {}, {.variant = "cpu.buffered"});
      EXPECT_TRUE(got == expected) << width << " bytes, " << bits << " bits";
    }
  }
}

TEST(CpuSplit, RowsOfEntriesEqualTheReference) {
  const context ctx = context::cpu(3);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> first{0};
  for (int row = 0; row < 20000; ++row) first.push_back(first.back() + (random() % 4 == 0 ? random() % 20 : 0));
  const std::vector<std::uint16_t> category(first.back(), 0);
  std::vector<std::uint32_t> sources(first.back());
  multi_split_index(ctx, {first, category, 1}, sources);
  ctx.wait();
  for (std::uint64_t row = 0; row + 1 < first.size(); ++row) {
    for (std::uint64_t e = first[row]; e < first[row + 1]; ++e) ASSERT_EQ(sources[e], row);
  }
}

TEST(CpuSplit, RowsThatDoNotAscendWriteNothingElsewhere) {
  const context ctx = context::cpu(3);
  constexpr std::uint64_t rows = 20000;
  constexpr std::uint64_t entries = 60000;
  constexpr std::uint32_t untouched = 0xabcdabcd;
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> first(rows + 1);
  for (auto& f : first) f = random() % 3 == 0 ? random() : random() % (2 * entries);
  const std::vector<std::uint8_t> category(entries, 0);
  std::vector<std::uint32_t> sources(entries + 128, untouched);
  multi_split_index(ctx, {first, category, 1}, std::span(sources).subspan(64, entries));
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(sources[i], untouched);
    EXPECT_EQ(sources[64 + entries + i], untouched);
  }
}

}  // namespace
}  // namespace sheaf::tests::cpu_split_test
