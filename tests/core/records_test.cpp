#include <sheaf/records.hpp>

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>

#include "primitives/movement/problem.hpp"

namespace sheaf::tests::core_records_test {
namespace {

struct particle {
  float x, y, z;
};

static_assert(!std::is_constructible_v<records, std::span<const int>>, "an output is not const");
static_assert(std::is_constructible_v<const_records, std::span<const int>>);
static_assert(!std::is_constructible_v<const_records, std::span<std::vector<int>>>, "only bytes that may be copied");
static_assert(!std::is_constructible_v<index_span, std::span<const float>>);
static_assert(!std::is_constructible_v<index_span, std::span<const std::uint16_t>>);
static_assert(std::is_convertible_v<records, const_records> && !std::is_convertible_v<const_records, records>);
static_assert(bytes(index_type::u32) == 4 && bytes(index_type::i32) == 4);
static_assert(bytes(index_type::u64) == 8 && bytes(index_type::i64) == 8);

TEST(Records, OfTypedSpansArePacked) {
  std::array<particle, 7> particles{};
  const records view{std::span(particles)};
  EXPECT_EQ(static_cast<void*>(view.data), particles.data());
  EXPECT_EQ(view.count, 7U);
  EXPECT_EQ(view.record_bytes, sizeof(particle));
  EXPECT_EQ(view.stride_bytes, sizeof(particle));
  const const_records same = view;
  EXPECT_EQ(same.data, view.data);
  EXPECT_EQ(same.stride_bytes, view.stride_bytes);
}

TEST(Records, AreEmptyByDefault) {
  EXPECT_EQ(records{}.count, 0U);
  EXPECT_EQ(const_records{}.data, nullptr);
  EXPECT_EQ(index_span{}.count, 0U);
}

TEST(IndexSpan, KnowsItsType) {
  const std::vector<std::uint32_t> a(1);
  const std::vector<std::uint64_t> b(2);
  const std::vector<std::int32_t> c(3);
  const std::vector<std::int64_t> d(4);
  EXPECT_EQ(index_span(std::span(a)).type, index_type::u32);
  EXPECT_EQ(index_span(std::span(b)).type, index_type::u64);
  EXPECT_EQ(index_span(std::span(c)).type, index_type::i32);
  EXPECT_EQ(index_span(std::span(d)).type, index_type::i64);
  EXPECT_EQ(index_span(std::span(d)).count, 4U);
}

// The widest word that divides addresses, strides and the width: what loads and stores may use.
std::uint32_t word_of(std::uint64_t sequential, std::uint64_t indexed, std::uint64_t width,
                      std::uint64_t sequential_stride, std::uint64_t indexed_stride) {
  const context ctx = context::cpu(1);
  // NOLINTBEGIN(performance-no-int-to-ptr): addresses are looked at, never read
  return primitives::describe_movement(ctx, {reinterpret_cast<void*>(sequential), 9, width, sequential_stride},
                                       {nullptr, 9, index_type::u32},
                                       {reinterpret_cast<void*>(indexed), 9, width, indexed_stride}, {}, bounds::check)
      .word_bytes;
  // NOLINTEND(performance-no-int-to-ptr)
}

TEST(Movement, WordsDivideAddressesStridesAndWidth) {
  EXPECT_EQ(word_of(4096, 8192, 64, 64, 64), 16U) << "never over 16";
  EXPECT_EQ(word_of(4096, 8192, 24, 24, 24), 8U);
  EXPECT_EQ(word_of(4096, 8192, 12, 16, 16), 4U);
  EXPECT_EQ(word_of(4096 + 2, 8192, 16, 16, 16), 2U);
  EXPECT_EQ(word_of(4096, 8192 + 1, 16, 16, 16), 1U);
  EXPECT_EQ(word_of(4096, 8192, 16, 16, 20), 4U);
  EXPECT_EQ(word_of(4096, 8192, 16, 17, 16), 1U);
  EXPECT_EQ(word_of(0, 0, 8, 8, 8), 8U) << "no memory at all";
}

std::uint64_t limit_of(index_type type, std::uint64_t indexed_count, bounds checking) {
  primitives::movement m;
  m.index = type;
  m.indexed_count = indexed_count;
  m.bounds = checking;
  return m.index_limit();
}

TEST(Movement, IndexLimitPutsNegativeValuesPastEveryRecord) {
  constexpr std::uint64_t many = std::uint64_t{3} << 30;
  EXPECT_EQ(limit_of(index_type::u32, many, bounds::check), many);
  EXPECT_EQ(limit_of(index_type::i32, many, bounds::check), std::uint64_t{1} << 31);
  EXPECT_EQ(limit_of(index_type::i64, many, bounds::check), many);
  EXPECT_EQ(limit_of(index_type::i32, 10, bounds::check), 10U);
  EXPECT_EQ(limit_of(index_type::u64, ~std::uint64_t{0}, bounds::check), ~std::uint64_t{0});
  EXPECT_EQ(limit_of(index_type::i64, ~std::uint64_t{0}, bounds::check), std::uint64_t{1} << 63);
  EXPECT_EQ(limit_of(index_type::u32, 10, bounds::trust), ~std::uint64_t{0});
}

TEST(Error, CodesHaveNames) {
  EXPECT_EQ(name(error_code::bad_argument), "bad_argument");
  EXPECT_EQ(name(error_code::bad_index), "bad_index");
  EXPECT_EQ(name(error_code::bad_input), "bad_input");
  EXPECT_EQ(name(error_code::no_variant), "no_variant");
  EXPECT_EQ(name(error_code::out_of_memory), "out_of_memory");
  EXPECT_EQ(name(error_code::io_failure), "io_failure");
  EXPECT_EQ(name(error_code::backend_unavailable), "backend_unavailable");
  EXPECT_EQ(name(error_code::device_failure), "device_failure");
  EXPECT_EQ(name(error_code::measurement_failed), "measurement_failed");
  EXPECT_EQ(name(error_code::internal), "internal");
}

TEST(Error, IsARuntimeErrorWithItsMessage) {
  const error e(error_code::io_failure, "disk is full");
  const std::runtime_error& base = e;
  EXPECT_STREQ(base.what(), "disk is full");
  EXPECT_EQ(e.code(), error_code::io_failure);
}

}  // namespace
}  // namespace sheaf::tests::core_records_test
