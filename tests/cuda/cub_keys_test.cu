// Keys as CUB's passes see them: encoded without a branch, decoded to what they were, bad ones above all others. On the
// host, which has the same functions.
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "cuda/split/cub/encoded_keys.cuh"
#include "lab/inputs/pattern_function.hpp"
#include "primitives/sort/key.hpp"

namespace sheaf::tests::cuda_cub_keys_test {
namespace {

using cuda::cub_key_encoding;
using cuda::key_encoder;

template <class Bits>
constexpr Bits sign_bit = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));

template <class Bits>
std::vector<Bits> many_keys() {
  constexpr std::uint64_t sign = sign_bit<Bits>;
  constexpr std::uint64_t infinities[] = {0x78, 0x7c00, 0x7f800000, 0x7ff0000000000000};
  constexpr std::uint64_t infinity = infinities[sizeof(Bits) == 8 ? 3 : sizeof(Bits) / 2];
  std::vector<Bits> keys;
  for (const std::uint64_t magnitude :
       {std::uint64_t{0}, std::uint64_t{1}, infinity - 1, infinity, infinity + 1, sign - 1}) {
    keys.push_back(static_cast<Bits>(magnitude));
    keys.push_back(static_cast<Bits>(magnitude | sign));
  }
  for (std::uint64_t i = 0; i < 1000; ++i) keys.push_back(static_cast<Bits>(inputs::mix(i)));
  return keys;
}

// The masks that words/encoding.cpp makes of a field.
template <class Bits>
cub_key_encoding encoding_of(const key_field& f) {
  constexpr std::uint64_t sign = sign_bit<Bits>;
  constexpr std::uint64_t all = std::numeric_limits<Bits>::max();
  const std::uint64_t down = f.descending ? all : 0;
  switch (f.type) {
    case key_type::signed_integer: return {{sign ^ down, sign ^ down}};
    case key_type::floating: return {{sign ^ down, all ^ down}};
    default: return {{down, down}};
  }
}

template <class Bits>
void expect_the_librarys_order() {
  for (const key_type type : {key_type::unsigned_integer, key_type::signed_integer, key_type::floating}) {
    for (const bool descending : {false, true}) {
      const key_field f{0, sizeof(Bits), type, descending};
      const key_encoder<Bits> encoder(encoding_of<Bits>(f));
      for (const Bits key : many_keys<Bits>()) {
        std::byte row[sizeof(Bits)];
        std::memcpy(row, &key, sizeof key);
        EXPECT_EQ(encoder.encoded(key), static_cast<Bits>(primitives::number_of(row, f).word[0])) << key;
        EXPECT_EQ(encoder.decoded(encoder.encoded(key)), key);
      }
      using traits = sheaf_cccl::cub::detail::radix::traits_t<cuda::encoded_key<Bits>, false>;
      EXPECT_EQ(encoder.encoded(traits::max_raw_binary_key(encoder)), std::numeric_limits<Bits>::max());
      EXPECT_EQ(encoder.encoded(traits::min_raw_binary_key(encoder)), Bits{0});
    }
  }
}

TEST(CubKeys, HaveTheLibrarysOrder) {
  expect_the_librarys_order<std::uint8_t>();
  expect_the_librarys_order<std::uint16_t>();
  expect_the_librarys_order<std::uint32_t>();
  expect_the_librarys_order<std::uint64_t>();
}

TEST(CubKeys, PastTheLastCategoryAreAllOnes) {
  for (const std::uint32_t categories : {1U, 256U, 70000U, 0xffffffffU}) {
    const key_encoder<std::uint32_t> encoder({{}, categories - 1});
    EXPECT_EQ(encoder.encoded(categories - 1), categories - 1);
    EXPECT_EQ(encoder.encoded(categories), 0xffffffffU);
    EXPECT_EQ(encoder.encoded(0xffffffffU), 0xffffffffU);
    EXPECT_EQ(encoder.decoded(0xffffffffU), 0xffffffffU);
    EXPECT_EQ(encoder.encoded(0), 0U);
  }
}

TEST(CubKeys, HaveDigits) {
  const cuda::encoded_digit<std::uint64_t> digit{37, 0xff};
  EXPECT_EQ(digit.Digit(std::uint64_t{0x5a} << 37 | 12345), 0x5aU);
}

}  // namespace
}  // namespace sheaf::tests::cuda_cub_keys_test
