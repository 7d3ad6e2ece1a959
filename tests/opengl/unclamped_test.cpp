// Values outside (0, 1) pass every stage as they are (Ujaldon and Saltz 2005, section 6.1): attributes, textures, the
// products and differences of shaders, and the sums, extrema and differences that blend, on their way too.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/edge_sum.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/spmv.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "support/opengl_test.hpp"
#include "support/trials/scatter_reduce.hpp"

namespace sheaf::tests::opengl_unclamped_test {
namespace {

class OpenglUnclamped : public opengl_test {};

/// A whole number other than 0 from -limit to limit: sums are exact in any order.
float whole_number(std::uint64_t seed, std::int64_t limit) {
  const auto drawn = static_cast<std::int64_t>(inputs::mix(seed) % (2 * static_cast<std::uint64_t>(limit))) - limit;
  return static_cast<float>(drawn < 0 ? drawn : drawn + 1);
}

std::vector<float> whole_numbers(std::uint64_t count, std::int64_t limit, std::uint64_t seed) {
  std::vector<float> list(count);
  for (std::uint64_t i = 0; i < count; ++i) list[i] = whole_number(i + 100'000 * seed, limit);
  return list;
}

TEST_F(OpenglUnclamped, ReductionsAreOfAnyValues) {
  const std::vector<float> in = whole_numbers(3000, 500, 1);
  const std::vector<float> before = whole_numbers(70, 900, 2);
  std::vector<std::uint32_t> index(in.size());
  for (std::uint64_t i = 0; i < index.size(); ++i) index[i] = static_cast<std::uint32_t>(inputs::mix(i) % 70);
  for (const reduction op : reductions) {
    std::vector<float> expected = before;
    for (std::uint64_t i = 0; i < in.size(); ++i) {
      float& slot = expected[index[i]];
      switch (op) {
        case reduction::add: slot += in[i]; break;
        case reduction::subtract: slot -= in[i]; break;
        case reduction::min: slot = std::min(slot, in[i]); break;
        case reduction::max: slot = std::max(slot, in[i]); break;
        default: FAIL() << name(op) << " is no reduction into slots";
      }
    }
    std::vector<float> out = before;
    scatter_reduce(ctx(), in, index, out, op, {.variant = "opengl.blended"});
    ctx().wait();
    EXPECT_EQ(out, expected) << name(op);
  }
}

TEST_F(OpenglUnclamped, ReductionsReachTheEndsOfTheRange) {
  const std::vector<std::uint32_t> index{0, 1, 2, 3};
  const std::vector<float> in{3e38F, -3e38F, 1.5e-38F, -2};
  const std::vector<float> before{5, 5, 0, -1};
  const auto reduced = [&](reduction op) {
    std::vector<float> out = before;
    scatter_reduce(ctx(), in, index, out, op);
    ctx().wait();
    return out;
  };
  EXPECT_EQ(reduced(reduction::add), (std::vector<float>{3e38F, -3e38F, 1.5e-38F, -3}));
  EXPECT_EQ(reduced(reduction::subtract), (std::vector<float>{-3e38F, 3e38F, -1.5e-38F, 1}));
  EXPECT_EQ(reduced(reduction::min), (std::vector<float>{5, -3e38F, 0, -2}));
  EXPECT_EQ(reduced(reduction::max), (std::vector<float>{3e38F, 5, 1.5e-38F, -1}));
}

// What the two rows of numbers in the middle leave is within (0, 1), and what they blend on their way is not.
TEST_F(OpenglUnclamped, ProductsAndTheirSumsAreOfAnyValues) {
  constexpr std::uint64_t rows = 300;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint32_t> columns;
  std::vector<float> entries;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t k = 0; k < row % 7; ++k) {
      columns.push_back(static_cast<std::uint32_t>(inputs::mix(row * 8 + k) % rows));
      entries.push_back(whole_number(row * 8 + k, 64));
    }
    offsets.push_back(columns.size());
  }
  std::vector<float> x = whole_numbers(rows, 100, 3);
  x[7] = 1;
  for (const float entry : {1000.0F, -999.5F}) {
    columns.push_back(7);
    entries.push_back(entry);
  }
  offsets.push_back(columns.size());
  const csr_view a(rows + 1, rows, offsets, columns, entries);
  std::vector<float> expected(rows + 1);
  for (std::uint64_t row = 0; row <= rows; ++row) {
    for (std::uint64_t p = offsets[row]; p < offsets[row + 1]; ++p) expected[row] += entries[p] * x[columns[p]];
  }
  ASSERT_EQ(expected.back(), 0.5F);
  ASSERT_GT(*std::max_element(expected.begin(), expected.end()), 1000);
  ASSERT_LT(*std::min_element(expected.begin(), expected.end()), -1000);
  for (const char* const form :
       {"opengl.texture", "opengl.lookup", "opengl.vertex", "opengl.packed", "opengl.fragments"}) {
    std::vector<float> y(rows + 1);
    spmv(ctx(), a, x, values(y), {.variant = form});
    ctx().wait();
    EXPECT_EQ(y, expected) << form;
    // y = -2 A x + 4 y is a pass of its own.
    spmv(ctx(), a, x, values(y), {.alpha = -2, .beta = 4, .variant = form});
    ctx().wait();
    for (float& value : y) value /= 2;
    EXPECT_EQ(y, expected) << form << " and a pass for alpha and beta";
  }
}

TEST_F(OpenglUnclamped, EdgeSumsAreOfAnyValues) {
  constexpr std::uint64_t nodes = 200;
  std::vector<std::uint32_t> ends;
  for (std::uint64_t e = 0; e < 2 * 1500; ++e) ends.push_back(static_cast<std::uint32_t>(inputs::mix(e) % nodes));
  for (const std::uint32_t components : {1, 3, 4, 8}) {
    const std::vector<float> at = whole_numbers(nodes * components, 1000, components);
    std::vector<float> expected(at.size());
    for (std::uint64_t e = 0; e < ends.size(); e += 2) {
      for (std::uint32_t k = 0; k < components; ++k) {
        const std::uint64_t i = ends[e] * std::uint64_t{components} + k;
        const std::uint64_t j = ends[e + 1] * std::uint64_t{components} + k;
        expected[i] += at[j] - at[i];
        expected[j] -= at[j] - at[i];
      }
    }
    for (const char* const form : {"opengl.points", "opengl.fragments"}) {
      std::vector<float> sums(at.size());
      edge_sum(ctx(), edge_view(index_span(ends)), at, const_values(nullptr, 0, value_type::f32), values(sums),
               components, edge_function::weighted_difference, {.variant = form});
      ctx().wait();
      EXPECT_EQ(sums, expected) << form << ", " << components << " components";
    }
  }
}

// What the paper's first devices did, and what these tests would see.
TEST_F(OpenglUnclamped, AFrameBufferOfFixedPointNumbersWouldClamp) {
  const std::vector<std::uint32_t> numbers{0, 1, 2};
  const std::vector<float> in{2.5F, -3, 1};
  std::vector<float> out(3);
  opengl::pipeline_call call(state(), "test");
  const auto targets = opengl::zero_targets(state(), {GL_R8, GL_RED, GL_FLOAT, 4}, out.size());
  const opengl::program& points = state().program_of({"values.vert", "", "value.frag"});
  points.use();
  opengl::begin_sums();
  opengl::draw_points(state(), points, targets, numbers, const_records(in.data(), in.size(), 4),
                      opengl::point_payload::value);
  opengl::end_sums();
  for (const opengl::tile_target& target : targets) target.pixels.read_back(records(out.data(), out.size(), 4));
  call.finish();
  EXPECT_EQ(out, (std::vector<float>{1, 0, 1}));
}

}  // namespace
}  // namespace sheaf::tests::opengl_unclamped_test
