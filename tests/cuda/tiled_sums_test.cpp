// Sums by tiles: slots that share a bucket, an order of additions that positions alone decide, and the smallest floats.
#include <sheaf/scatter_reduce.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/contexts.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::cuda_tiled_sums_test {
namespace {

constexpr std::uint64_t tile = 2048;

template <class T>
constexpr value_type type_of = std::is_same_v<T, float> ? value_type::f32 : value_type::u32;

template <class T>
image image_of(const std::vector<T>& list) {
  image made = poisoned(list.size(), sizeof(T), sizeof(T), 0, false);
  std::memcpy(made.record(0), list.data(), list.size() * sizeof(T));
  return made;
}

class TiledSums : public testing::Test {
 protected:
  void SetUp() override {
    ctx_ = cuda_context();
    if (!ctx_) GTEST_SKIP() << "no device";
  }

  template <class T>
  std::vector<T> sums(const std::vector<T>& in, const std::vector<std::uint32_t>& index, std::vector<T> out,
                      const std::string& variant = "cuda.tiled") const {
    const image images[] = {image_of(in), image_of(index), image_of(out)};
    const placed values_in(*ctx_, images[0]);
    const placed entries(*ctx_, images[1]);
    const placed slots(*ctx_, images[2]);
    scatter_reduce(*ctx_, const_values(values_in.view().data, in.size(), type_of<T>), entries.index(index_type::u32),
                   values(slots.view().data, out.size(), type_of<T>), reduction::add, {.variant = variant});
    ctx_->wait();
    image found = images[2];
    found.bytes = slots.download();
    std::memcpy(out.data(), found.record(0), out.size() * sizeof(T));
    return out;
  }

  std::optional<context> ctx_;
};

// Of 10240 values and 2^22 slots, the lowest 17 bits of slot + (slot >> 17) * 0x9e3779b1 are the bucket. In bucket 0
// three slots have sums of all five tiles, so that it has many; buckets 7 and 9 have two and three sums of two slots.
TEST_F(TiledSums, SlotsOfABucketAreToldApart) {
  constexpr std::uint32_t bucket_bits = 17;
  const auto slot_in_bucket = [](std::uint32_t bucket, std::uint32_t high) {
    return high << bucket_bits | ((bucket - high * 0x9e3779b1U) & ((1U << bucket_bits) - 1));
  };
  std::vector<std::uint32_t> index(5 * tile);
  std::vector<std::uint32_t> in(index.size());
  for (std::uint32_t i = 0; i < index.size(); ++i) {
    in[i] = 1 + i * i;
    index[i] = i % 3 == 0 ? slot_in_bucket(0, 1 + i / 3 % 3) : slot_in_bucket(100 + i, i % 31);
  }
  index[1] = slot_in_bucket(7, 1);
  index[3 * tile + 1] = slot_in_bucket(7, 2);
  index[tile + 4] = slot_in_bucket(9, 3);
  index[tile + 5] = slot_in_bucket(9, 4);
  index[2 * tile + 5] = slot_in_bucket(9, 3);
  std::vector<std::uint32_t> expected(1 << 22);
  for (std::uint32_t s = 0; s < expected.size(); ++s) expected[s] = s;
  const std::vector<std::uint32_t> before = expected;
  for (std::size_t i = 0; i < index.size(); ++i) expected[index[i]] += in[i];
  EXPECT_TRUE(sums(in, index, before) == expected);
}

// Each value is alone with its slot in its tile, each slot has six sums or seven, and the places past the end of the
// list make one more, of the highest slot.
TEST_F(TiledSums, ThereIsRoomForASumOfEachValueAndOneMore) {
  constexpr std::uint32_t slots = 10000;
  std::vector<std::uint32_t> index(64000);
  std::vector<std::uint32_t> in(index.size());
  for (std::uint32_t i = 0; i < index.size(); ++i) {
    index[i] = slots - 1 - i % slots;
    in[i] = 1 + i * i;
  }
  std::vector<std::uint32_t> expected(slots);
  for (std::size_t i = 0; i < index.size(); ++i) expected[index[i]] += in[i];
  EXPECT_TRUE(sums(in, index, std::vector<std::uint32_t>(slots)) == expected);
}

// Slot 0 has a value in each of five tiles: with 2^-24 to 1, what is added to what shows in the sum. The last value, 0
// or -0, must not decide about that, and in buckets not about the way that the sums are added.
TEST_F(TiledSums, ValuesDoNotDecideAboutTheOrder) {
  for (const std::uint32_t slots : {5000U, 10000U, 1U << 20}) {
    std::vector<std::uint32_t> index(5 * tile);
    for (std::uint32_t i = 0; i < index.size(); ++i) index[i] = 1 + i % (slots - 1);
    std::vector<float> in(index.size(), 1.0F);
    constexpr float ulp = 0x1p-24F;
    const float of_tile[] = {1, ulp, ulp, ulp, 0.0F};
    for (std::uint32_t t = 0; t < 5; ++t) {
      index[t * tile + 17] = 0;
      in[t * tile + 17] = of_tile[t];
    }
    const std::vector<float> out(slots);
    const std::vector<float> with_zero = sums(in, index, out);
    in[4 * tile + 17] = -0.0F;
    EXPECT_EQ(with_zero[0], sums(in, index, out)[0]) << slots;
  }
}

TEST_F(TiledSums, FloatsBelowTheNormalOnesAreNotTakenForZero) {
  for (const char* variant : {"cuda.tiled", "cuda.sorted"}) {
    for (const std::uint32_t count : {10U, 9000U}) {
      for (const std::uint32_t slots : {10U, 9000U}) {
        std::vector<std::uint32_t> index(count);
        for (std::uint32_t i = 0; i < count; ++i) index[i] = i % slots;
        const std::vector<float> in(count, 1e-44F);
        const std::vector<float> found = sums(in, index, std::vector<float>(slots, 1e-40F), variant);
        std::vector<float> expected(slots, 1e-40F);
        for (const std::uint32_t slot : index) expected[slot] += 1e-44F;
        EXPECT_TRUE(found == expected) << variant << ", " << count << " values, " << slots << " slots";
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_tiled_sums_test
