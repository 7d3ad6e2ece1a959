// Results by textures and frame buffers of 8, 16 and 32 bits: what their errors are at most, that more bits have fewer,
// and what is refused.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lab/inputs/pattern_function.hpp"
#include "opengl/edges/ends.hpp"
#include "papers/ujaldon2005/opengl/arguments.hpp"
#include "papers/ujaldon2005/opengl/precision.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/trials/csr.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::papers_ujaldon2005_precision_test {
namespace {

using opengl::channel_bits;
using opengl::edge_sum_at_precision;
using opengl::pipeline_precision;
using opengl::precision_figures;
using opengl::spmv_at_precision;

constexpr channel_bits all_bits[] = {channel_bits::fixed8, channel_bits::float16, channel_bits::float32};
constexpr const char* names[] = {"8 bits", "16 bits", "32 bits"};

/// The most that a number in [-1, 1] is rounded by, which frame buffers may do twice as far, towards zero.
double rounding_of(channel_bits bits) {
  switch (bits) {
    case channel_bits::fixed8: return 0.5 / 127;
    case channel_bits::float16: return 0x1p-11;
    default: return 0x1p-24;
  }
}

/// Largest errors by the bits of textures and of frame buffers.
using errors_by_bits = double[3][3];

/// More bits have to show: where a driver gave textures and frame buffers other bits than were asked for, bounds from
/// above might hold. The least factor in the rows of figure 3 is 5, on llvmpipe.
void expect_fewer_errors_by_more_bits(const errors_by_bits& errors) {
  constexpr int most = 2;
  for (int bits = 0; bits < most; ++bits) {
    EXPECT_GT(errors[bits][most], 3 * errors[bits + 1][most]) << names[bits] << " a texel";
    EXPECT_GT(errors[most][bits], 3 * errors[most][bits + 1]) << names[bits] << " a pixel";
  }
}

class OpenglPrecision : public opengl_test {};

TEST_F(OpenglPrecision, ProductsErrByTheRoundingOfTexturesAndOfEachSum) {
  const sparse_rows m = banded(2000, 3);
  const csr_images images(m, {.value = value_type::f32});
  const placed_csr a(ctx(), images);
  std::vector<float> x(2000);
  for (std::uint64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(3 * x_at(i));
  errors_by_bits errors;
  for (const channel_bits texture : all_bits) {
    for (const channel_bits frame_buffer : all_bits) {
      SCOPED_TRACE(fmt::format("{} a texel, {} a pixel", names[static_cast<int>(texture)],
                               names[static_cast<int>(frame_buffer)]));
      std::vector<float> y(2000);
      const precision_figures found = spmv_at_precision(ctx(), a.view(), const_values(x), values(y),
                                                        {.texture = texture, .frame_buffer = frame_buffer});
      // A sum of seven products is rounded seven times, and a product once and when it is scaled; 3 is what the scale
      // of sums may be above the largest.
      const double bound = 3 * (rounding_of(texture) + 16 * rounding_of(frame_buffer) + 6 * 0x1p-24);
      EXPECT_LE(found.largest_error, bound);
      EXPECT_LE(found.mean_error, found.largest_error);
      EXPECT_TRUE(found.is_right()) << found.beyond;
      EXPECT_TRUE(found.is_in_range());
      EXPECT_LE(found.largest_error, found.largest_bound);
      EXPECT_EQ(found.bounded_share, 1);
      EXPECT_GT(found.largest_error, 0);
      EXPECT_GT(found.seconds, 0);
      errors[static_cast<int>(texture)][static_cast<int>(frame_buffer)] = found.largest_error;
    }
  }
  expect_fewer_errors_by_more_bits(errors);
}

TEST_F(OpenglPrecision, EdgeSumsErrLikewise) {
  for (const std::uint32_t components : {1, 3, 4}) {
    const edge_graph g = box_graph(9, true);
    const edge_images images(g, {.value = value_type::f32, .has_weights = false, .components = components});
    const placed_edges e(ctx(), images);
    errors_by_bits errors;
    for (const channel_bits texture : all_bits) {
      for (const channel_bits frame_buffer : all_bits) {
        SCOPED_TRACE(fmt::format("{} components, {} a texel, {} a pixel", components, names[static_cast<int>(texture)],
                                 names[static_cast<int>(frame_buffer)]));
        std::vector<float> result(images.values.count);
        const precision_figures found = edge_sum_at_precision(ctx(), e.edges(), e.values(), values(result), components,
                                                              edge_function::weighted_difference,
                                                              {.texture = texture, .frame_buffer = frame_buffer});
        // A node has up to 14 edges, each with two ends.
        EXPECT_LE(found.largest_error, 3 * (28 * rounding_of(texture) + 30 * rounding_of(frame_buffer) + 30 * 0x1p-24));
        EXPECT_GT(found.largest_error, 0);
        EXPECT_TRUE(found.is_right()) << found.beyond;
        EXPECT_TRUE(found.is_in_range());
        EXPECT_LE(found.largest_error, found.largest_bound);
        errors[static_cast<int>(texture)][static_cast<int>(frame_buffer)] = found.largest_error;
      }
    }
    expect_fewer_errors_by_more_bits(errors);
  }
}

// What the library itself has.
TEST_F(OpenglPrecision, OfThirtyTwoBitsIsThatOfForces) {
  const edge_images images(
      box_graph(8, false),
      {.value = value_type::f32, .has_weights = false, .components = 3, .function = edge_function::inverse_square});
  const placed_edges e(ctx(), images);
  std::vector<float> result(images.values.count);
  const precision_figures found =
      edge_sum_at_precision(ctx(), e.edges(), e.values(), values(result), 3, edge_function::inverse_square, {});
  EXPECT_LE(found.largest_error, 1e-5);
  EXPECT_TRUE(found.is_right()) << found.beyond;
}

/// Ways to be wrong: answers that are finite and not far from right ones.
std::vector<std::pair<const char*, std::vector<float>>> wrong_answers(const std::vector<float>& right, float factor) {
  std::vector<std::pair<const char*, std::vector<float>>> wrong;
  std::vector<float> moved = right;
  std::rotate(moved.begin(), moved.begin() + 1, moved.end());
  wrong.emplace_back("moved by one", moved);
  std::vector<float> reversed = right;
  std::reverse(reversed.begin(), reversed.end());
  wrong.emplace_back("reversed", reversed);
  std::vector<float> scaled = right;
  for (float& number : scaled) number *= factor;
  wrong.emplace_back("scaled", scaled);
  wrong.emplace_back("all zeros", std::vector<float>(right.size()));
  for (const float number : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> not_finite = right;
    not_finite.back() = number;
    wrong.emplace_back("one that is no number", not_finite);
  }
  return wrong;
}

/// An answer of 8 bits is not seen to be wrong by a tenth, but by the half.
void expect_wrong_is_caught(const opengl::expected_sums& expected, const std::vector<float>& right,
                            const pipeline_precision& precision) {
  EXPECT_TRUE(expected.judged(right).is_right());
  const bool has_eight = precision.texture == channel_bits::fixed8 || precision.frame_buffer == channel_bits::fixed8;
  for (const auto& [how, wrong] : wrong_answers(right, has_eight ? 1.5F : 1.1F)) {
    EXPECT_FALSE(expected.judged(wrong).is_right()) << how;
  }
  // One number by half as much again as its bound, which no other sum excuses.
  for (const std::size_t i : {std::size_t{0}, right.size() / 2, right.size() - 1}) {
    std::vector<float> wrong = right;
    wrong[i] = static_cast<float>(expected.sums[i] + 1.5 * expected.bounds[i] + 1e-30);
    EXPECT_EQ(expected.judged(wrong).beyond, 1U) << i;
    wrong[i] = static_cast<float>(expected.sums[i] - 0.7 * expected.bounds[i]);
    EXPECT_EQ(expected.judged(wrong).beyond, 0U) << i;
  }
}

TEST_F(OpenglPrecision, WrongProductsArePastTheirBounds) {
  const csr_images images(banded(2000, 3), {.value = value_type::f32});
  const placed_csr a(ctx(), images);
  const csr_view view = a.view();
  const primitives::spmv_problem problem =
      primitives::describe_spmv("test", ctx(), view, false, spmv_sums::as_values, {});
  std::vector<float> x(2000);
  for (std::uint64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(3 * x_at(i));
  for (const channel_bits texture : all_bits) {
    for (const channel_bits frame_buffer : all_bits) {
      SCOPED_TRACE(fmt::format("{} a texel, {} a pixel", names[static_cast<int>(texture)],
                               names[static_cast<int>(frame_buffer)]));
      const pipeline_precision precision{.texture = texture, .frame_buffer = frame_buffer};
      std::vector<float> y(2000);
      spmv_at_precision(ctx(), view, const_values(x), values(y), precision, 1);
      expect_wrong_is_caught(opengl::expected_product(problem, view, x.data(), precision), y, precision);
    }
  }
}

/// Positions on a grid of so many nodes a side, each a little off its place, from `first` on.
std::vector<float> near_grid(std::uint64_t side, float first) {
  std::vector<float> at(3 * side * side * side);
  for (std::uint64_t i = 0; i < at.size(); ++i) {
    const std::uint64_t node = i / 3;
    const std::uint64_t place = i % 3 == 0 ? node % side : i % 3 == 1 ? node / side % side : node / side / side;
    at[i] = first + static_cast<float>(place) + static_cast<float>(inputs::mix(i) % 1024) / 4096;
  }
  return at;
}

/// The ends of a graph's edges, side by side.
std::vector<std::uint32_t> ends_of(const edge_graph& g) {
  std::vector<std::uint32_t> ends;
  for (const auto& [i, j] : g.edges) {
    ends.push_back(static_cast<std::uint32_t>(i));
    ends.push_back(static_cast<std::uint32_t>(j));
  }
  return ends;
}

struct forces {
  std::vector<float> sums;
  precision_figures figures;
  opengl::expected_sums expected;
};

forces forces_of(const context& ctx, const std::vector<std::uint32_t>& ends, const std::vector<float>& at,
                 const pipeline_precision& precision) {
  const edge_view edges{index_span(ends)};
  forces found;
  found.sums.resize(at.size());
  found.figures = edge_sum_at_precision(ctx, edges, const_values(at), values(found.sums), 3,
                                        edge_function::inverse_square, precision, 1);
  const auto problem = opengl::plain_edge_sum(edges, at.size() / 3, 3, edge_function::inverse_square);
  std::uint64_t bad = opengl::no_edge;
  found.expected = opengl::expected_edge_sums(problem, edges, at.data(), precision, problem.edges, bad);
  EXPECT_EQ(bad, opengl::no_edge);
  return found;
}

TEST_F(OpenglPrecision, WrongForcesArePastTheirBounds) {
  const std::vector<std::uint32_t> ends = ends_of(box_graph(5, false));
  const std::vector<float> at = near_grid(5, 0);
  for (const channel_bits texture : all_bits) {
    for (const channel_bits frame_buffer : all_bits) {
      SCOPED_TRACE(fmt::format("{} a texel, {} a pixel", names[static_cast<int>(texture)],
                               names[static_cast<int>(frame_buffer)]));
      const pipeline_precision precision{.texture = texture, .frame_buffer = frame_buffer};
      const forces found = forces_of(ctx(), ends, at, precision);
      EXPECT_TRUE(found.figures.is_right()) << found.figures.beyond;
      EXPECT_TRUE(found.figures.is_in_range()) << found.figures.largest_bound;
      expect_wrong_is_caught(found.expected, found.sums, precision);
    }
  }
}

// Positions far from zero have few digits left for their distances. Those of 32 bits are scaled by a power of two, and
// those of fewer bits are taken from the middle.
TEST_F(OpenglPrecision, PositionsKeepTheDigitsOfTheirDistances) {
  const std::vector<std::uint32_t> ends = ends_of(box_graph(5, false));
  const forces near_zero = forces_of(ctx(), ends, near_grid(5, 0), {.texture = channel_bits::float16});
  for (const float first : {1000.0F, -3000.0F}) {
    const std::vector<float> at = near_grid(5, first);
    const forces all_bits_of = forces_of(ctx(), ends, at, {});
    EXPECT_TRUE(all_bits_of.figures.is_right()) << all_bits_of.figures.beyond;
    EXPECT_LE(all_bits_of.figures.largest_error, 1e-6);
    const forces sixteen = forces_of(ctx(), ends, at, {.texture = channel_bits::float16});
    EXPECT_TRUE(sixteen.figures.is_right()) << sixteen.figures.beyond;
    EXPECT_TRUE(sixteen.figures.is_in_range());
    EXPECT_LE(sixteen.figures.largest_bound, 2 * near_zero.figures.largest_bound);
  }
}

// Texels of 8 bits bring the ends of short edges together, whose force may then be any number.
TEST_F(OpenglPrecision, IsOutOfRangeWhereShortEdgesHaveNoBound) {
  std::vector<float> at = near_grid(5, 0);
  const std::vector<std::uint32_t> ends = ends_of(box_graph(5, false));
  for (std::uint64_t k = 0; k < 3; ++k) at[k] = at[3 + k] + (k == 0 ? -1e-3F : 0);
  for (const channel_bits texture : all_bits) {
    SCOPED_TRACE(names[static_cast<int>(texture)]);
    const forces found = forces_of(ctx(), ends, at, {.texture = texture});
    EXPECT_TRUE(found.figures.is_right()) << found.figures.beyond;
    EXPECT_EQ(found.figures.is_in_range(), texture == channel_bits::float32);
    EXPECT_EQ(found.figures.bounded_share < 1, texture != channel_bits::float32);
    EXPECT_GT(found.figures.bounded_share, 0.5);  // of all nodes but these two
    // Sums that have a bound are held to it all the same.
    std::vector<float> wrong = found.sums;
    wrong.back() += static_cast<float>(2 * found.expected.bounds.back());
    EXPECT_EQ(found.expected.judged(wrong).beyond, 1U);
  }
}

TEST_F(OpenglPrecision, OfNothingIsRight) {
  const std::vector<std::uint64_t> offsets{0};
  const csr_view a(0, 0, index_span(offsets), index_span(nullptr, 0, index_type::u32),
                   const_values(nullptr, 0, value_type::f32));
  std::vector<float> none;
  const precision_figures found = spmv_at_precision(ctx(), a, const_values(none), values(none), {}, 1);
  EXPECT_TRUE(found.is_right());
  EXPECT_TRUE(found.is_in_range());
  EXPECT_EQ(found.largest_error, 0);
  const precision_figures of_zeros = [&] {
    const std::vector<std::uint32_t> ends{0, 1, 2, 2};
    const std::vector<float> at(9);
    std::vector<float> sums(9, 5);
    return edge_sum_at_precision(ctx(), edge_view{index_span(ends)}, const_values(at), values(sums), 3,
                                 edge_function::inverse_square, {}, 1);
  }();
  EXPECT_TRUE(of_zeros.is_right());
  EXPECT_EQ(of_zeros.largest_error, 0);
}

// Textures of few texels and layers, and few points a draw, change no bit, as they change none of the library's own.
TEST_F(OpenglPrecision, IsWhateverTheSizesOfTilesLayersAndDraws) {
  const csr_images images(banded(700, 3), {.value = value_type::f32});
  const edge_images edges(box_graph(8, true), {.value = value_type::f32, .has_weights = false, .components = 3});
  const context small = context::opengl();
  opengl::state_of(small).lower_limits({.texture_edge = 13,
                                        .texture_layers = 11,
                                        .buffer_texels = 50,
                                        .points_per_draw = 100,
                                        .vertices_per_buffer = 270});
  const placed_csr a(ctx(), images);
  const placed_edges e(ctx(), edges);
  std::vector<float> x(700);
  for (std::uint64_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(x_at(i));
  for (const channel_bits texture : all_bits) {
    for (const channel_bits frame_buffer : all_bits) {
      SCOPED_TRACE(fmt::format("{} a texel, {} a pixel", names[static_cast<int>(texture)],
                               names[static_cast<int>(frame_buffer)]));
      const pipeline_precision precision{.texture = texture, .frame_buffer = frame_buffer};
      const auto product = [&](const context& where) {
        std::vector<float> y(700);
        spmv_at_precision(where, a.view(), const_values(x), values(y), precision);
        return y;
      };
      EXPECT_EQ(product(small), product(ctx()));
      const auto sum = [&](const context& where) {
        std::vector<float> result(edges.values.count);
        edge_sum_at_precision(where, e.edges(), e.values(), values(result), 3, edge_function::weighted_difference,
                              precision);
        return result;
      };
      // Of each buffer of edges, those that add come before those that subtract, so sizes of buffers change the order.
      const std::vector<float> expected = sum(ctx());
      const std::vector<float> found = sum(small);
      const double most = *std::max_element(expected.begin(), expected.end());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], most * 60 * rounding_of(frame_buffer)) << i;
      }
    }
  }
  EXPECT_EQ(unread_error(small), GLenum{GL_NO_ERROR});
}

TEST_F(OpenglPrecision, RefusesWhatTakesMoreLayersThanThereAre) {
  const csr_images images(banded(700, 1), {.value = value_type::f32});
  const edge_images edges(box_graph(9, true), {.value = value_type::f32, .has_weights = false});
  const placed_csr a(ctx(), images);
  const placed_edges e(ctx(), edges);
  state().lower_limits({.texture_edge = 13, .texture_layers = 10, .points_per_draw = 100, .vertices_per_buffer = 270});
  const std::vector<float> x(700, 1);
  std::vector<float> y(700, 7);
  expect_error(error_code::bad_argument,
               "spmv_at_precision: 700 values of x take more layers than a texture has here, 10 of 13 x 13 texels",
               [&] { spmv_at_precision(ctx(), a.view(), const_values(x), values(y), {}); });
  EXPECT_EQ(y, std::vector<float>(700, 7));
  std::vector<float> result(edges.values.count, 7);
  expect_error(error_code::bad_argument,
               "edge_sum_at_precision: 729 nodes take more layers than a texture has here, 10 of 13 x 13 texels", [&] {
                 edge_sum_at_precision(ctx(), e.edges(), e.values(), values(result), 3,
                                       edge_function::weighted_difference, {});
               });
  EXPECT_EQ(result, std::vector<float>(edges.values.count, 7));
}

TEST_F(OpenglPrecision, SaysWhatItCannotTake) {
  const csr_images images(banded(10, 1), {});
  const placed_csr a(ctx(), images);
  std::vector<double> x(10);
  std::vector<double> y(10);
  expect_error(error_code::bad_argument, "spmv_at_precision: the values are not f32",
               [&] { spmv_at_precision(ctx(), a.view(), const_values(x), values(y), {}); });
  std::vector<float> narrow(10);
  expect_error(error_code::bad_argument, "spmv_at_precision: 0 runs, not 1 or more",
               [&] { spmv_at_precision(ctx(), a.view(), const_values(narrow), values(narrow), {}, 0); });
  const std::vector<std::uint32_t> ends{0, 1};
  const std::vector<float> nodes(10);
  std::vector<float> sums(10);
  const edge_view edges(ends, ends);
  expect_error(error_code::bad_argument, "edge_sum_at_precision: 5 components, not 1 to 4", [&] {
    edge_sum_at_precision(ctx(), edges, const_values(nodes), values(sums), 5, edge_function::weighted_difference, {});
  });
  expect_error(error_code::bad_argument, "edge_sum_at_precision: the context works on cpu", [&] {
    edge_sum_at_precision(context::cpu(1), edges, const_values(nodes), values(sums), 1,
                          edge_function::weighted_difference, {});
  });
}

}  // namespace
}  // namespace sheaf::tests::papers_ujaldon2005_precision_test
