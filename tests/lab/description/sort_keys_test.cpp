#include "lab/description/sort/source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/memory.hpp>

#include "lab/description/job.hpp"
#include "lab/description/sort/items.hpp"
#include "primitives/enum_names.hpp"
#include "support/contexts.hpp"

// The generated keys of sorts: what their distributions promise, and that ranks are the order of the types' values.
namespace sheaf::tests::lab_description_sort_keys_test {
namespace {

using jobs::sort_source;
using primitives::key_distribution;

constexpr std::uint64_t count = 20000;

struct key_kind {
  key_type type;
  std::uint32_t bytes;
};
constexpr key_kind kinds[] = {
    {key_type::unsigned_integer, 4}, {key_type::unsigned_integer, 8},  {key_type::signed_integer, 4},
    {key_type::signed_integer, 8},   {key_type::floating, 4},          {key_type::floating, 8},
    {key_type::unsigned_integer, 1}, {key_type::unsigned_integer, 16}, {key_type::bytes, 10}};

sort_source source_of(key_distribution d, key_kind kind) {
  return {.distribution = d,
          .type = kind.type,
          .key_bytes = kind.bytes,
          .bits = 8 * kind.bytes,
          .count = count,
          .seed = 20070715};
}

std::string text_of(key_distribution d, key_kind kind) {
  return fmt::format("{} {}", name(d), primitives::key_name(kind.type, kind.bytes));
}

// The key as the number that a user sees; NaN where it has no such type.
long double value_of(key_kind kind, jobs::key_word128 key) {
  const auto word = static_cast<std::uint64_t>(key);
  if (kind.type == key_type::floating) {
    return kind.bytes == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(word)) : std::bit_cast<double>(word);
  }
  if (kind.bytes > 8 || kind.type == key_type::bytes) return std::numeric_limits<long double>::quiet_NaN();
  if (kind.type == key_type::unsigned_integer) return static_cast<long double>(word);
  return kind.bytes == 4 ? static_cast<std::int32_t>(word) : static_cast<std::int64_t>(word);
}

TEST(SortKeys, OfEveryDistributionHaveTheRankOfTheirValue) {
  for (const key_distribution d : primitives::all_key_distributions()) {
    for (const key_kind kind : kinds) {
      const sort_source s = source_of(d, kind);
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const jobs::key_word128 rank = jobs::rank_of(s, i);
        const jobs::key_word128 key = jobs::sort_key_bytes(s, i);
        ASSERT_TRUE(rank <= jobs::last_rank(s)) << text_of(d, kind);
        ASSERT_TRUE(jobs::rank_of_key(s, key) == rank) << text_of(d, kind);
        ASSERT_TRUE(kind.bytes == 16 || key >> (8 * kind.bytes) == 0) << text_of(d, kind);
        const long double value = value_of(kind, key);
        const long double next = value_of(kind, jobs::sort_key_bytes(s, i + 1));
        if (std::isnan(value)) continue;
        const jobs::key_word128 next_rank = jobs::rank_of(s, i + 1);
        ASSERT_EQ(value < next, rank < next_rank) << text_of(d, kind);
        ASSERT_EQ(value == next, rank == next_rank) << text_of(d, kind);
      }
    }
  }
}

TEST(SortKeys, OfFewValuesHaveSoMany) {
  for (const key_distribution d : {key_distribution::distinct100, key_distribution::few,
                                   key_distribution::distinct10007, key_distribution::equal, key_distribution::two}) {
    const std::uint64_t wanted = d == key_distribution::equal ? 1 : d == key_distribution::two ? 2 : distinct_keys(d);
    for (const key_kind kind : kinds) {
      if (kind.bytes == 1) continue;
      std::set<jobs::key_word128> found;
      for (std::uint64_t i = 0; i < 20 * wanted; ++i) found.insert(jobs::sort_key_bytes(source_of(d, kind), i));
      EXPECT_EQ(found.size(), wanted) << text_of(d, kind);
    }
  }
}

// A bit of an and of three is set with probability 1/8, whatever the bits above it are.
TEST(SortKeys, ThatAreNarrowedHaveFewBits) {
  const sort_source s = source_of(key_distribution::narrowed, {key_type::unsigned_integer, 8});
  std::uint64_t bits = 0;
  std::uint64_t zero_digits = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = static_cast<std::uint64_t>(jobs::sort_key_bytes(s, i));
    bits += static_cast<std::uint64_t>(std::popcount(key));
    for (int digit = 0; digit < 8; ++digit) zero_digits += (key >> (8 * digit) & 0xff) == 0;
  }
  EXPECT_NEAR(static_cast<double>(bits) / count, 8, 0.1);
  EXPECT_NEAR(static_cast<double>(zero_digits) / count, 8 * std::pow(0.875, 8), 0.05);
}

TEST(SortKeys, OfSignedNumbersAreBelowZeroWhereTheirDistributionIs) {
  const auto share_below_zero = [](key_distribution d, key_kind kind) {
    std::uint64_t below = 0;
    for (std::uint64_t i = 0; i < count; ++i) below += value_of(kind, jobs::sort_key_bytes(source_of(d, kind), i)) < 0;
    return static_cast<double>(below) / count;
  };
  for (const key_kind kind : {key_kind{key_type::signed_integer, 4}, key_kind{key_type::signed_integer, 8},
                              key_kind{key_type::floating, 4}, key_kind{key_type::floating, 8}}) {
    EXPECT_NEAR(share_below_zero(key_distribution::normal, kind), 0.5, 0.02);
    for (const key_distribution d : {key_distribution::lognormal, key_distribution::exponential,
                                     key_distribution::pareto, key_distribution::timestamps, key_distribution::unit}) {
      EXPECT_EQ(share_below_zero(d, kind), 0) << text_of(d, kind);
    }
  }
}

std::uint64_t word_of(key_distribution d, std::uint64_t i) {
  return static_cast<std::uint64_t>(jobs::sort_key_bytes(source_of(d, {key_type::unsigned_integer, 8}), i));
}

// Every `step`-th bit of a word, from bit `first` on.
std::uint64_t bits_of(std::uint64_t word, int first, int step) {
  std::uint64_t bits = 0;
  for (int bit = 0; first + bit * step < 64; ++bit) bits |= (word >> (first + bit * step) & 1) << bit;
  return bits;
}

TEST(SortKeys, OfASphereAreMortonCodesOfItsPoints) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t code = word_of(key_distribution::sphere, i);
    ASSERT_EQ(code >> 63, 0U);
    double square = 0;
    for (int axis = 0; axis < 3; ++axis) square += std::pow(static_cast<double>(bits_of(code, axis, 3)) - (1 << 20), 2);
    ASSERT_NEAR(std::sqrt(square), 1 << 20, 2) << i;
  }
}

TEST(SortKeys, OfCitiesLieNearFewPlaces) {
  std::set<std::uint64_t> cells;  // of the sides' 256th
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t code = word_of(key_distribution::cities, i);
    ASSERT_EQ(code >> 62, 0U);
    cells.insert(code >> 46);
  }
  EXPECT_GT(cells.size(), 2000U);
  EXPECT_LT(cells.size(), 8000U);  // of 65536, of which points at random would lie in 17000
}

TEST(SortKeys, OfGeohashesAndHostsAreText) {
  const std::string characters = "0123456789bcdefghjkmnpqrstuvwxyz";
  std::uint64_t begin_with_www = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t hash = word_of(key_distribution::geohash, i);
    const std::uint64_t host = word_of(key_distribution::urls, i);
    for (int byte = 0; byte < 8; ++byte) {
      ASSERT_NE(characters.find(static_cast<char>(hash >> (8 * byte))), std::string::npos) << i;
      const auto character = static_cast<char>(host >> (8 * byte));
      ASSERT_TRUE(character == '.' || (character >= 'a' && character <= 'z')) << i;
    }
    begin_with_www += host >> 32 == 0x7777772e;
  }
  EXPECT_NEAR(static_cast<double>(begin_with_www) / count, 0.5, 0.02);
}

// The children of a node take five eighths, a quarter and an eighth, but where two of them are the same child.
TEST(SortKeys, OfTreesAreClusteredBelowEveryNode) {
  for (const auto& [d, bits, levels] :
       {std::tuple{key_distribution::quadtree, 2, 31}, std::tuple{key_distribution::octree, 3, 20}}) {
    std::uint64_t node = 0;
    for (int level = 1; level <= 3; ++level) {
      std::map<std::uint64_t, std::uint64_t> children;
      std::uint64_t all = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t path = word_of(d, i);
        ASSERT_EQ(path >> (bits * levels), 0U);
        const std::uint64_t child = path >> (bits * (levels - level));
        if (child >> bits != node) continue;
        ++children[child];
        ++all;
      }
      std::uint64_t most = 0;
      for (const auto& [child, keys] : children) {
        if (keys > most) node = child;
        most = std::max(most, keys);
      }
      EXPECT_LE(children.size(), 3U);
      EXPECT_GE(static_cast<double>(most) / static_cast<double>(all), 0.6);
    }
  }
}

TEST(SortKeys, OfVersionsAreFourSmallNumbers) {
  std::uint64_t small = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t version = word_of(key_distribution::versions, i);
    for (int part = 0; part < 4; ++part) {
      const std::uint64_t number = version >> (16 * part) & 0xffff;
      ASSERT_LT(number, 2048U);
      small += number < 16;
    }
  }
  EXPECT_GT(small, count);
}

TEST(SortKeys, OfCountersInterleaveTheirBits) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t code = word_of(key_distribution::counters, i);
    ASSERT_EQ(bits_of(code, 1, 2), i / 64);
    ASSERT_EQ(bits_of(code, 0, 2), i % 64);
  }
}

// Peers on a device and on the host sort the same keys, and the host can check what a device has sorted.
TEST(SortKeys, AreTheSameOnEveryBackend) {
  const auto cuda = cuda_context();
  if (!cuda) GTEST_SKIP() << "no CUDA device";
  for (const key_distribution d : primitives::all_key_distributions()) {
    if (d == key_distribution::zipf) continue;  // takes a logarithm of the platform's
    for (const key_kind kind : kinds) {
      const std::string type = primitives::key_name(kind.type, kind.bytes);
      const auto p =
          primitives::parse_problem(fmt::format("sort_keys/{}/r{}/{}/n={}", name(d), kind.bytes, type, count));
      const buffer made(*cuda, count * kind.bytes);
      jobs::fill(*cuda, p, 0, jobs::places::source, {made.data(), count, kind.bytes});
      std::vector<std::byte> found(count * kind.bytes);
      copy_bytes(*cuda, found.data(), made.data(), found.size());
      std::vector<std::byte> expected(count * kind.bytes);
      jobs::fill(context::cpu(2), p, 0, jobs::places::source, {expected.data(), count, kind.bytes});
      EXPECT_TRUE(found == expected) << name(p);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::lab_description_sort_keys_test
