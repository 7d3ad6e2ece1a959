// Bounds of what the pipeline rounds, beside numbers that are rounded here as formats of 8, 16 and 32 bits round them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"
#include "papers/ujaldon2005/opengl/error_bounds.hpp"

namespace sheaf::tests::papers_ujaldon2005_error_bounds_test {
namespace {

using opengl::blended_sum;
using opengl::bounded_number;
using opengl::channel_bits;

constexpr channel_bits all_bits[] = {channel_bits::fixed8, channel_bits::float16, channel_bits::float32};
constexpr const char* names[] = {"8 bits", "16 bits", "32 bits"};

/// A number of [-1, 1).
double drawn(std::uint64_t i) { return static_cast<double>(inputs::mix(i) >> 11) * 0x1p-52 - 1; }

/// The number as a format holds it, rounded to the nearest or cut off.
double rounded(channel_bits bits, double number, bool is_cut_off = false) {
  const auto whole = [&](double steps) { return is_cut_off ? std::trunc(steps) : std::nearbyint(steps); };
  if (bits == channel_bits::fixed8) return whole(number * 127) / 127;
  int exponent = 0;
  std::frexp(number, &exponent);
  const int digits = bits == channel_bits::float16 ? 11 : 24;
  const int least = bits == channel_bits::float16 ? -24 : -149;
  const double step = std::ldexp(1, std::max(exponent - digits, least));
  return whole(number / step) * step;
}

TEST(PipelineBounds, HoldWhatATexelRounds) {
  for (const channel_bits bits : {channel_bits::fixed8, channel_bits::float16}) {
    double nearest_to_bound = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      const double number = std::ldexp(drawn(i), -static_cast<int>(i % 30));
      const double bound = opengl::texel_error(bits, number);
      for (const bool is_cut_off : {false, true}) {
        if (is_cut_off && bits == channel_bits::fixed8) continue;  // fixed_texel takes the nearest
        const double error = std::abs(rounded(bits, number, is_cut_off) - number);
        ASSERT_LE(error, bound) << names[static_cast<int>(bits)] << ", " << number;
        nearest_to_bound = std::max(nearest_to_bound, error / bound);
      }
    }
    EXPECT_GT(nearest_to_bound, 0.8) << names[static_cast<int>(bits)];
  }
  EXPECT_EQ(opengl::texel_error(channel_bits::float32, 0.3), 0);
  EXPECT_EQ(opengl::texel_error(channel_bits::fixed8, 0), 0);
}

TEST(PipelineBounds, HoldTexelsOfEightBits) {
  EXPECT_EQ(opengl::fixed_texel(1), 127);
  EXPECT_EQ(opengl::fixed_texel(-1), -127);
  EXPECT_EQ(opengl::fixed_texel(0.6F / 127), 1);
  EXPECT_EQ(opengl::fixed_texel(-0.4F / 127), 0);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto number = static_cast<float>(drawn(i));
    const double error = std::abs(opengl::fixed_texel(number) / 127.0 - static_cast<double>(number));
    ASSERT_LE(error, opengl::texel_error(channel_bits::fixed8, number)) << number;
  }
}

TEST(PipelineBounds, HoldProductsOfRoundedNumbers) {
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const double attribute = drawn(i);
    const double number = drawn(i + 7777);
    const auto in_texture = static_cast<float>(rounded(channel_bits::float16, number));
    const float product = static_cast<float>(attribute) * in_texture;
    const bounded_number found =
        opengl::bounded_product(attribute, {number, opengl::texel_error(channel_bits::float16, number)});
    EXPECT_EQ(found.value, attribute * number);
    ASSERT_LE(std::abs(product - found.value), found.error);
    EXPECT_LE(found.error, 0x1p-9);
  }
}

/// What a frame buffer makes of terms, which it rounds before it adds them. Fixed-point sums stay in [-1, 1].
double blended(channel_bits bits, const std::vector<double>& terms, bool is_cut_off) {
  double sum = 0;
  for (const double term : terms) {
    sum = rounded(bits, sum + rounded(bits, term, is_cut_off && bits != channel_bits::fixed8),
                  is_cut_off && bits != channel_bits::fixed8);
    if (bits == channel_bits::fixed8) sum = std::clamp(sum, -1.0, 1.0);
  }
  return sum;
}

/// Terms, no sum of which is past [-1, 1]; of tiny ones among others.
std::vector<double> terms_of(std::uint64_t count, std::uint64_t seed, bool have_one_sign) {
  std::vector<double> terms(count);
  double magnitudes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    terms[i] = std::ldexp(drawn(1000 * seed + i), -static_cast<int>(i % 5 == 0 ? 12 : 0));
    if (have_one_sign) terms[i] = std::abs(terms[i]);
    magnitudes += std::abs(terms[i]);
  }
  for (double& term : terms) term /= magnitudes * (1 + 1e-9);
  return terms;
}

TEST(PipelineBounds, HoldWhatBlendingRounds) {
  for (const channel_bits bits : all_bits) {
    double nearest_to_bound = 0;
    for (const std::uint64_t count : {1, 2, 3, 10, 60, 300}) {
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const std::vector<double> terms = terms_of(count, seed, seed % 2 == 0);
        blended_sum sum;
        for (const double term : terms) sum.add(bits, {term, 0});
        const bounded_number found = sum.read_back(bits);
        for (const bool is_cut_off : {false, true}) {
          SCOPED_TRACE(fmt::format("{}, {} terms, seed {}{}", names[static_cast<int>(bits)], count, seed,
                                   is_cut_off ? ", cut off" : ""));
          const double error = std::abs(blended(bits, terms, is_cut_off) - found.value);
          ASSERT_LE(error, found.error);
          nearest_to_bound = std::max(nearest_to_bound, error / found.error);
        }
        // The step of the format by the number of terms, and by the range.
        const double of_terms = static_cast<double>(count);
        const double most = bits == channel_bits::fixed8    ? 0.6 / 127 * of_terms
                            : bits == channel_bits::float16 ? 0x1p-10 * (of_terms + 1)
                                                            : 0x1p-23 * (of_terms + 1);
        EXPECT_LE(found.error, 1.01 * most + 0x1p-20 * most + 8 * 0x1p-24);
      }
    }
    EXPECT_GT(nearest_to_bound, 0.3) << names[static_cast<int>(bits)];
  }
}

// A term that is less than half a step is lost, which is all that it can be off.
TEST(PipelineBounds, OfTermsBelowHalfAStepAreTheTerms) {
  blended_sum sum;
  for (int i = 0; i < 100; ++i) sum.add(channel_bits::fixed8, {0.001, 0.0001});
  const bounded_number found = sum.read_back(channel_bits::fixed8);
  EXPECT_NEAR(found.value, 0.1, 1e-9);
  EXPECT_NEAR(found.error, 100 * (0.0001 + 0.0011), 1e-6);
}

TEST(PipelineBounds, OfATermAddToThoseOfTheSum) {
  for (const channel_bits bits : all_bits) {
    blended_sum exact;
    blended_sum off;
    for (int i = 0; i < 10; ++i) {
      exact.add(bits, {0.05, 0});
      off.add(bits, {0.05, 0.01});
    }
    EXPECT_NEAR(off.read_back(bits).error - exact.read_back(bits).error, 0.1, 0.002);
  }
}

TEST(PipelineBounds, HoldForcesOfMovedEnds) {
  for (const bool is_inverse : {false, true}) {
    double nearest_to_bound = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      constexpr std::uint32_t components = 3;
      const double share = i % 4 == 0 ? 0.5 : 0.01;  // of the distance that ends may move
      bounded_number difference[components];
      double moved[components];
      double square = 0;
      double square_of_moved = 0;
      for (std::uint32_t k = 0; k < components; ++k) {
        const double number = drawn(components * i + k);
        difference[k] = {number, share * std::abs(drawn(components * i + 1)) / 2};
        // The nearest place that the other end may have is the worst; others are drawn.
        const double way = i % 3 == 0 ? (number < 0 ? 1 : -1) : drawn(900'001 + components * i + k);
        moved[k] = number + way * difference[k].error;
        square += number * number;
        square_of_moved += moved[k] * moved[k];
      }
      bounded_number found[components];
      opengl::bound_contribution(difference, components, 0.7, is_inverse, found);
      for (std::uint32_t k = 0; k < components; ++k) {
        const double exact = 0.7 * difference[k].value / (is_inverse ? square * std::sqrt(square) : 1);
        const double now = 0.7 * moved[k] / (is_inverse ? square_of_moved * std::sqrt(square_of_moved) : 1);
        EXPECT_NEAR(found[k].value, exact, 1e-12 * std::abs(exact));
        ASSERT_LE(std::abs(now - exact), found[k].error) << i << ", component " << k;
        nearest_to_bound = std::max(nearest_to_bound, std::abs(now - exact) / found[k].error);
      }
    }
    EXPECT_GT(nearest_to_bound, 0.5) << is_inverse;
  }
}

TEST(PipelineBounds, AreInfiniteWhereEndsMayMeet) {
  const bounded_number near[2] = {{0.03, 0.025}, {0.04, 0.045}};
  bounded_number found[2];
  opengl::bound_contribution(near, 2, 1, true, found);
  EXPECT_EQ(found[0].error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(found[1].error, std::numeric_limits<double>::infinity());
  opengl::bound_contribution(near, 2, 1, false, found);
  EXPECT_NEAR(found[0].error, 0.025, 1e-6);
  EXPECT_NEAR(found[1].error, 0.045, 1e-6);
  // The same place in all bits has no force at all.
  const bounded_number same[1] = {{0, 0}};
  opengl::bound_contribution(same, 1, 1, true, found);
  EXPECT_EQ(found[0].value, 0);
  EXPECT_EQ(found[0].error, 0);
  // Of so small a difference the shader's square has lost digits.
  const bounded_number tiny[1] = {{0x1p-60, 0}};
  opengl::bound_contribution(tiny, 1, 1, true, found);
  EXPECT_EQ(found[0].error, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace sheaf::tests::papers_ujaldon2005_error_bounds_test
