// Reductions in one rendering pass and in several, beside sums, minima and maxima of the host.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"
#include "papers/ujaldon2005/opengl/reduction.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"

namespace sheaf::tests::papers_ujaldon2005_reduction_test {
namespace {

using opengl::kept_reduction;
using opengl::reduction_form;

constexpr reduction_form forms[] = {reduction_form::one_pass, reduction_form::log_passes};
constexpr const char* form_names[] = {"one pass", "log passes"};
constexpr reduction operations[] = {reduction::add, reduction::min, reduction::max};

class OpenglReduction : public opengl_test {};

/// Multiples of 1/64, whose sums are exact in any order.
std::vector<float> numbers_of(std::uint64_t count) {
  std::vector<float> numbers(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<float>(static_cast<int>(inputs::mix(i) % 1023) - 511) / 64;
  }
  return numbers;
}

std::vector<std::uint64_t> offsets_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<std::uint64_t> offsets{0};
  for (const std::uint64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<float> expected_of(const std::vector<float>& numbers, const std::vector<std::uint64_t>& offsets,
                               reduction op) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> slots;
  for (std::size_t s = 1; s < offsets.size(); ++s) {
    float all = op == reduction::min ? infinity : op == reduction::max ? -infinity : 0;
    for (std::uint64_t i = offsets[s - 1]; i < offsets[s]; ++i) {
      all = op == reduction::min   ? std::min(all, numbers[i])
            : op == reduction::max ? std::max(all, numbers[i])
                                   : all + numbers[i];
    }
    slots.push_back(all);
  }
  return slots;
}

/// Slots of every length around those at which a pass is added, and empty ones.
std::vector<std::vector<std::uint64_t>> lengths_to_try() {
  std::vector<std::vector<std::uint64_t>> all{{}, {0}, {0, 0, 0}, {1}, {1, 1, 0, 1}};
  for (const std::uint64_t length : {2, 3, 4, 5, 8, 9, 16, 17, 63, 64, 65, 1000, 5000}) all.push_back({length});
  std::vector<std::uint64_t> mixed;
  for (std::uint64_t s = 0; s < 700; ++s) mixed.push_back(inputs::mix(s) % 37);
  all.push_back(mixed);
  all.push_back({0, 300, 0, 1, 2, 40, 0});
  return all;
}

void expect_reductions(const context& ctx) {
  for (const std::vector<std::uint64_t>& lengths : lengths_to_try()) {
    const std::vector<std::uint64_t> offsets = offsets_of(lengths);
    const std::vector<float> numbers = numbers_of(offsets.back());
    for (const reduction op : operations) {
      const std::vector<float> expected = expected_of(numbers, offsets, op);
      for (const reduction_form form : forms) {
        SCOPED_TRACE(fmt::format("{}, operation {}, {} values in {} slots", form_names[static_cast<int>(form)],
                                 static_cast<int>(op), numbers.size(), lengths.size()));
        const kept_reduction kept(ctx, numbers, offsets, op, form);
        for (int repeat = 0; repeat < 2; ++repeat) {
          std::vector<float> found(lengths.size(), -12345);
          kept.draw();
          kept.read_back(found);
          EXPECT_EQ(found, expected);
        }
      }
    }
  }
}

TEST_F(OpenglReduction, IsThatOfTheHostByEitherForm) { expect_reductions(ctx()); }

TEST_F(OpenglReduction, IsWhateverTheSizesOfBuffersAndDraws) {
  state().lower_limits({.texture_edge = 256, .points_per_draw = 100, .vertices_per_buffer = 270});
  expect_reductions(ctx());
}

// Blending takes as many tiles as there are slots; passes need one texture for all.
TEST_F(OpenglReduction, InOnePassTakesSlotsOfSeveralTextures) {
  state().lower_limits({.texture_edge = 4, .points_per_draw = 100, .vertices_per_buffer = 270});
  const std::vector<std::uint64_t> offsets = offsets_of(std::vector<std::uint64_t>(50, 3));
  const std::vector<float> numbers = numbers_of(150);
  const kept_reduction kept(ctx(), numbers, offsets, reduction::add, reduction_form::one_pass);
  std::vector<float> found(50);
  kept.draw();
  kept.read_back(found);
  EXPECT_EQ(found, expected_of(numbers, offsets, reduction::add));
  expect_error(error_code::bad_argument,
               "kept_reduction: the texture of slots has 200 records, which take 13 textures of 4 x 4 texels, not one",
               [&] { kept_reduction(ctx(), numbers, offsets, reduction::add, reduction_form::log_passes); });
}

TEST_F(OpenglReduction, TakesOnePassOrTheLogarithmOfTheLongestSlot) {
  const std::vector<float> numbers = numbers_of(5000);
  const auto passes = [&](const std::vector<std::uint64_t>& lengths, reduction_form form) {
    const std::vector<std::uint64_t> offsets = offsets_of(lengths);
    const std::span<const float> some(numbers.data(), offsets.back());
    return kept_reduction(ctx(), some, offsets, reduction::add, form).passes();
  };
  EXPECT_EQ(passes({5000}, reduction_form::one_pass), 1U);
  EXPECT_EQ(passes({}, reduction_form::one_pass), 0U);
  EXPECT_EQ(passes({1, 1}, reduction_form::log_passes), 0U);
  EXPECT_EQ(passes({2}, reduction_form::log_passes), 1U);
  EXPECT_EQ(passes({4, 1}, reduction_form::log_passes), 1U);
  EXPECT_EQ(passes({5}, reduction_form::log_passes), 2U);  // 8: a quarter, and a half of it
  EXPECT_EQ(passes({16}, reduction_form::log_passes), 2U);
  EXPECT_EQ(passes({17}, reduction_form::log_passes), 3U);
  EXPECT_EQ(passes({4096}, reduction_form::log_passes), 6U);
  EXPECT_EQ(passes({3, 4097, 2}, reduction_form::log_passes), 7U);
}

TEST_F(OpenglReduction, KeepsItsValuesWhereTheCallersAreGone) {
  for (const reduction_form form : forms) {
    std::vector<float> numbers{1, 2, 4, 8};
    std::vector<std::uint64_t> offsets{0, 1, 4};
    const kept_reduction kept(ctx(), numbers, offsets, reduction::add, form);
    std::ranges::fill(numbers, 100.0F);
    std::ranges::fill(offsets, 0);
    const kept_reduction other(ctx(), std::vector<float>{5, 7}, std::vector<std::uint64_t>{0, 2}, reduction::max, form);
    std::vector<float> found(2);
    kept.draw();
    other.draw();
    kept.read_back(found);
    EXPECT_EQ(found, (std::vector<float>{1, 14}));
    std::vector<float> of_other(1);
    other.read_back(of_other);
    EXPECT_EQ(of_other, (std::vector<float>{7}));
  }
}

TEST_F(OpenglReduction, SaysWhatItCannotTake) {
  const std::vector<float> numbers(4);
  const auto message = [&](const std::vector<std::uint64_t>& offsets, reduction op) {
    return message_of(error_code::bad_argument,
                      [&] { kept_reduction(ctx(), numbers, offsets, op, reduction_form::one_pass); });
  };
  EXPECT_EQ(message({0, 4}, reduction::subtract), "kept_reduction: the operation is subtract, not add, min or max");
  EXPECT_EQ(message({}, reduction::add), "kept_reduction: there are no offsets, not even one");
  EXPECT_EQ(message({1, 4}, reduction::add), "kept_reduction: the first offset is 1, not 0");
  EXPECT_EQ(message({0, 3, 2, 4}, reduction::add), "kept_reduction: offset 2 is 2, below the 3 before it");
  EXPECT_EQ(message({0, 3}, reduction::add), "kept_reduction: the last offset is 3, but there are 4 values");
  const std::vector<std::uint64_t> offsets{0, 4};
  expect_error(error_code::bad_argument, "kept_reduction: the context works on cpu",
               [&] { kept_reduction(context::cpu(1), numbers, offsets, reduction::add, reduction_form::one_pass); });
  const kept_reduction kept(ctx(), numbers, offsets, reduction::add, reduction_form::one_pass);
  std::vector<float> two(2);
  expect_error(error_code::bad_argument, "kept_reduction: room for 2 slots, not 1", [&] { kept.read_back(two); });
}

}  // namespace
}  // namespace sheaf::tests::papers_ujaldon2005_reduction_test
