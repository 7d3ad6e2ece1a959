// Vertices in host memory, which each run sends to the device: the answers are those of vertices that stay there, and
// what is refused and named is the same.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/spmv.hpp>

#include "papers/ujaldon2005/opengl/memory.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/trials/csr.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::papers_ujaldon2005_host_memory_test {
namespace {

using opengl::edge_sum_from_host;
using opengl::lookup_scheme;
using opengl::product_from_host;

constexpr csr_layout narrow{value_type::f32, index_type::u32, index_type::u32, false};

class OpenglHostMemory : public opengl_test {
 protected:
  // Small buffers, so that each matrix and mesh takes several.
  void cut_small() { state().lower_limits({.texture_edge = 13, .points_per_draw = 100, .vertices_per_buffer = 270}); }
};

std::vector<float> vector_of(std::uint64_t count, std::uint64_t seed) {
  std::vector<float> x(count);
  for (std::uint64_t i = 0; i < count; ++i) x[i] = static_cast<float>(x_at(i + seed));
  return x;
}

TEST_F(OpenglHostMemory, ProductsAreThoseOfVerticesOnTheDevice) {
  for (const bool small : {false, true}) {
    if (small) cut_small();
    for (const auto& [scheme, form] :
         {std::pair{lookup_scheme::texels, "opengl.texture"}, std::pair{lookup_scheme::colors, "opengl.lookup"},
          std::pair{lookup_scheme::vertices, "opengl.vertex"}}) {
      SCOPED_TRACE(fmt::format("{}, {}", form, small ? "small buffers" : "one buffer"));
      const sparse_rows m = at_random(700, 400, 6);
      const csr_images images(m, narrow);
      const placed_csr on_device(ctx(), images);
      const prepared_spmv prepared = prepare_spmv(ctx(), on_device.view(), 3, {.variant = form});
      std::optional<placed_csr> a(std::in_place, ctx(), images);
      product_from_host product(ctx(), a->view(), scheme);
      a.reset();
      EXPECT_GE(product.vertex_bytes(), 12 * m.entries());
      EXPECT_EQ(product.texture_bytes(), 4 * m.columns);
      for (const std::uint64_t seed : {1, 2}) {  // runs share their vertices, and nothing else
        const std::vector<float> x = vector_of(m.columns, seed);
        std::vector<float> expected(m.rows.size(), -1);
        std::vector<float> y(m.rows.size(), -2);
        prepared.run(const_values(x), values(expected));
        product.run(const_values(x), values(y));
        ctx().wait();
        EXPECT_EQ(y, expected);
      }
    }
  }
}

TEST_F(OpenglHostMemory, EdgeSumsAreThoseOfVerticesOnTheDevice) {
  for (const bool small : {false, true}) {
    if (small) cut_small();
    for (const std::uint32_t components : {1, 3, 8}) {
      SCOPED_TRACE(fmt::format("{} components, {}", components, small ? "small buffers" : "one buffer"));
      const edge_images images(box_graph(9, true),
                               {.value = value_type::f32, .has_weights = false, .components = components});
      const placed_edges e(ctx(), images);
      const auto function = edge_function::inverse_square;
      edge_sum_from_host sum(ctx(), e.edges(), images.nodes, components, function);
      EXPECT_EQ(sum.vertex_bytes(), 8 * images.edges);
      EXPECT_EQ(sum.texture_bytes(), 4 * components * images.nodes);
      for (const std::uint64_t seed : {1, 2}) {
        const std::vector<float> at = vector_of(images.nodes * components, seed);
        std::vector<float> expected(at.size(), -1);
        std::vector<float> found(at.size(), -2);
        edge_sum(ctx(), e.edges(), const_values(at), const_values(nullptr, 0, value_type::f32), values(expected),
                 components, function, {.variant = "opengl.points"});
        sum.run(const_values(at), values(found));
        ctx().wait();
        EXPECT_EQ(found, expected);
      }
    }
  }
}

TEST_F(OpenglHostMemory, WhatIsBadIsLeftOutAndNamed) {
  const std::vector<std::uint32_t> offsets{0, 2, 3};
  const std::vector<std::uint32_t> columns{0, 9, 1};
  const std::vector<float> entries{2, 3, 4};
  const csr_view a(2, 3, index_span(offsets), index_span(columns), const_values(entries));
  product_from_host product(ctx(), a, lookup_scheme::texels);
  expect_error(error_code::bad_index, "spmv: column_indices[1], of row 0, is 9, past the matrix's 3 columns",
               [&] { ctx().wait(); });
  const std::vector<float> x{1, 10, 100};
  std::vector<float> y(2);
  product.run(const_values(x), values(y));
  EXPECT_EQ(y, (std::vector<float>{2, 40}));
  const std::vector<std::uint32_t> ends{0, 1, 1, 7};
  edge_sum_from_host sum(ctx(), edge_view(index_span(ends)), 3, 1, edge_function::weighted_difference);
  EXPECT_THROW(ctx().wait(), error);
  std::vector<float> sums(3);
  sum.run(const_values(x), values(sums));
  EXPECT_EQ(sums, (std::vector<float>{9, -9, 0}));
  EXPECT_NO_THROW(ctx().wait());
}

TEST_F(OpenglHostMemory, RefusesWhatTakesMoreLayersThanThereAre) {
  const csr_images images(banded(700, 1), narrow);
  const placed_csr a(ctx(), images);
  state().lower_limits({.texture_edge = 13,
                        .texture_layers = 10,
                        .buffer_texels = 600,
                        .points_per_draw = 100,
                        .vertices_per_buffer = 270});
  expect_error(error_code::bad_argument,
               "product_from_host: 700 values of x take more layers than a texture has here, 10 of 13 x 13 texels",
               [&] { product_from_host(ctx(), a.view(), lookup_scheme::texels); });
  expect_error(error_code::bad_argument, "product_from_host: x has 700 values, but a table of one row holds 600",
               [&] { product_from_host(ctx(), a.view(), lookup_scheme::colors); });
  EXPECT_NO_THROW(product_from_host(ctx(), a.view(), lookup_scheme::vertices));
  const std::vector<std::uint32_t> ends{0, 1};
  expect_error(
      error_code::bad_argument,
      "edge_sum_from_host: 700 texels of nodes take more layers than a texture has here, 10 of 13 x 13 texels",
      [&] { edge_sum_from_host(ctx(), edge_view(index_span(ends)), 140, 5, edge_function::weighted_difference); });
}

TEST_F(OpenglHostMemory, SaysWhatItCannotTake) {
  const csr_images wide(banded(10, 1), {});
  const placed_csr a(ctx(), wide);
  expect_error(error_code::bad_argument, "product_from_host: the values are not f32",
               [&] { product_from_host(ctx(), a.view(), lookup_scheme::texels); });
  const csr_images shared(banded(10, 1), {value_type::f32, index_type::u32, index_type::u32, true});
  const placed_csr with_ends(ctx(), shared);
  expect_error(error_code::bad_argument,
               "product_from_host: a point is one entry, but rows with ends of their own may share entries",
               [&] { product_from_host(ctx(), with_ends.view(), lookup_scheme::texels); });
  const csr_images images(banded(10, 1), narrow);
  const placed_csr good(ctx(), images);
  expect_error(error_code::bad_argument, "product_from_host: the context works on cpu",
               [&] { product_from_host(context::cpu(1), good.view(), lookup_scheme::texels); });
  product_from_host product(ctx(), good.view(), lookup_scheme::texels);
  const std::vector<float> x(9);
  std::vector<float> y(10);
  EXPECT_THROW(product.run(const_values(x), values(y)), error);
  const std::vector<std::uint32_t> ends{0, 1};
  const edge_view edges{index_span(ends)};
  expect_error(error_code::bad_argument, "edge_sum_from_host: the context works on cpu",
               [&] { edge_sum_from_host(context::cpu(1), edges, 2, 1, edge_function::weighted_difference); });
  EXPECT_THROW(edge_sum_from_host(ctx(), edges, 2, 9, edge_function::weighted_difference), error);
  edge_sum_from_host sum(ctx(), edges, 2, 1, edge_function::weighted_difference);
  EXPECT_THROW(sum.run(const_values(x), values(y)), error);
}

}  // namespace
}  // namespace sheaf::tests::papers_ujaldon2005_host_memory_test
