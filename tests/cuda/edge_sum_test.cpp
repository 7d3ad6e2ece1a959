// Sums over edges on CUDA: prepared runs, the same bits in every run, what scratch is not to be had, and graphs.
#include <sheaf/edge_sum.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/captured_graph.hpp"
#include "support/edge_trial.hpp"
#include "support/expect_error.hpp"

namespace sheaf::tests {
namespace {

constexpr const char* preparations[] = {"kept", "cuda.by_node", "cuda.tiles"};

image run_of(const context& ctx, const prepared_edge_sum& prepared, const placed_edges& e, const edge_images& images) {
  return result_of(ctx, images.nodes * images.layout.components, images.layout.value,
                   [&](values result) { prepared.run(e.values(), e.weights(), result, images.layout.function); });
}

image coordinates_of(std::uint64_t nodes, std::uint32_t dimensions, value_type type, bool has_odd_ones) {
  image at = poisoned(nodes * dimensions, bytes(type), bytes(type), 0, false);
  for (std::uint64_t i = 0; i < at.count; ++i) {
    const double odd = i % 7 == 0   ? std::numeric_limits<double>::quiet_NaN()
                       : i % 5 == 0 ? -std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::max();
    set_float(at, i, type, has_odd_ones ? odd : drawn_float(i));
  }
  return at;
}

class EdgeSumOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  std::optional<context> ctx;
};

TEST_F(EdgeSumOnCuda, PreparedRunsSumGraphsOfEveryShape) {
  std::vector<edge_graph> graphs = every_graph();
  graphs.push_back(star_graph(90'000));  // a list of many pieces
  graphs.push_back(box_graph(24, true));
  graphs.push_back(drawn_graph(30'000, 300'000));  // a tile reaches more nodes than it is good for
  for (const edge_graph& g : graphs) {
    for (const edge_layout& layout :
         {edge_layout{value_type::f32, index_type::i32, false, true, 3, edge_function::inverse_square},
          edge_layout{value_type::f64, index_type::u64, true, false, 5, edge_function::weighted_difference},
          edge_layout{value_type::f64, index_type::u32, true, true, 8, edge_function::weighted_difference}}) {
      const edge_images images(g, layout);
      const expected_sums expected = expected_of(g, images);
      const placed_edges e(*ctx, images);
      for (const std::uint32_t dimensions : {0U, 2U, 3U}) {
        const value_type type = dimensions == 2 ? value_type::f32 : value_type::f64;
        const image coordinates = coordinates_of(g.nodes, dimensions, type, dimensions == 2);
        const placed at(*ctx, coordinates);
        for (const char* const variant : preparations) {
          if ((g.edges.empty() || g.nodes == 0) && variant != std::string_view("kept")) continue;
          SCOPED_TRACE(fmt::format("{}, {}, {} dimensions, {}", g.name, layout.description(), dimensions, variant));
          const prepared_edge_sum prepared =
              prepare_edge_sum(*ctx, e.edges(), g.nodes, layout.components, 3,
                               {.coordinates = {at.view().data, g.nodes * dimensions, type}, .variant = variant});
          EXPECT_EQ(prepared.report().variant, variant);
          EXPECT_EQ(prepared.report().kept_bytes > 0, variant != std::string_view("kept"));
          const image found = run_of(*ctx, prepared, e, images);
          expect_near(found, expected, layout.value);
          expect_bytes(run_of(*ctx, prepared, e, images).bytes, found, "the result of another run");
          e.expect_unchanged();
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Prepared for one number of components, run with others, up to values that shared memory does not hold.
TEST_F(EdgeSumOnCuda, PreparedRunsTakeOtherTypesAndFunctions) {
  const edge_graph g = box_graph(20, true);
  const image coordinates = coordinates_of(g.nodes, 3, value_type::f64, false);
  const placed at(*ctx, coordinates);
  for (const char* const variant : preparations) {
    const edge_images shapes(g, {.value = value_type::f32, .components = 3});
    const placed_edges prepared_for(*ctx, shapes);
    const prepared_edge_sum prepared = prepare_edge_sum(
        *ctx, prepared_for.edges(), g.nodes, 3, 3,
        {.coordinates = {at.view().data, 3 * g.nodes, value_type::f64}, .value = value_type::f32, .variant = variant});
    for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
      for (const value_type type : {value_type::f32, value_type::f64}) {
        SCOPED_TRACE(fmt::format("{}, type {}", variant, static_cast<int>(type)));
        const edge_images images(g, {.value = type, .components = 3, .function = function});
        const placed_edges e(*ctx, images);
        expect_near(run_of(*ctx, prepared, e, images), expected_of(g, images), type);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(EdgeSumOnCuda, HasTheSameBitsInEveryRun) {
  const edge_images images(rmat_graph(12, 60'000), {.value = value_type::f32, .components = 5});
  const placed_edges e(*ctx, images);
  const image first = sum_of(*ctx, e, images, {.variant = "cuda.two_pass"});
  for (int run = 0; run < 100; ++run) {
    expect_bytes(sum_of(*ctx, e, images, {.variant = "cuda.two_pass"}).bytes, first, "two passes");
  }
  for (const char* const variant : {"cuda.by_node", "cuda.tiles"}) {
    image of_variant;
    for (int preparation = 0; preparation < 5; ++preparation) {  // of 20 runs each
      const prepared_edge_sum prepared =
          prepare_edge_sum(*ctx, e.edges(), images.nodes, 5, 1, {.value = value_type::f32, .variant = variant});
      for (int run = 0; run < 20; ++run) {
        const image found = run_of(*ctx, prepared, e, images);
        if (of_variant.bytes.empty()) of_variant = found;
        expect_bytes(found.bytes, of_variant, variant);
      }
    }
  }
}

// Numbers that say nothing, and no coordinates: tiles of such nodes would reach more others than tiles are good for.
TEST_F(EdgeSumOnCuda, TilesAreGrownAlongTheEdgesWhereThereAreNoCoordinates) {
  const edge_graph g = box_graph(40, true);
  for (const bool in_pairs : {false, true}) {
    const edge_images images(g, {.in_pairs = in_pairs});
    const placed_edges e(*ctx, images);
    const expected_sums expected = expected_of(g, images);
    const auto prepared_by = [&](std::string_view variant, access_pattern pattern) {
      return prepare_edge_sum(*ctx, e.edges(), g.nodes, 3, 1, {.pattern = pattern, .variant = variant});
    };
    const prepared_edge_sum lists = prepared_by("cuda.by_node", access_pattern::random());
    const prepared_edge_sum tiles = prepared_by("cuda.tiles", access_pattern::random());
    const prepared_edge_sum ranges = prepared_by("cuda.tiles", access_pattern::sequential());  // which is not true
    EXPECT_LT(tiles.report().kept_bytes, lists.report().kept_bytes);
    EXPECT_EQ(ranges.report().kept_bytes, lists.report().kept_bytes) << "these are tiles, too";
    const image found = run_of(*ctx, tiles, e, images);
    expect_near(found, expected, value_type::f64);
    for (int preparation = 0; preparation < 3; ++preparation) {
      expect_bytes(run_of(*ctx, prepared_by("cuda.tiles", access_pattern::random()), e, images).bytes, found,
                   "the result of another preparation");
    }
  }
}

TEST_F(EdgeSumOnCuda, PreparationsNameTheFirstEndThatIsNoNode) {
  edge_images images(drawn_graph(100, 5000), {.index = index_type::i32});
  images.set_end(4000, 1, 100);
  images.set_end(4500, 0, ~std::uint64_t{0});
  const placed_edges e(*ctx, images);
  const std::string words = "end 1 of edge 4000 is 100, past the 100 nodes";
  for (const char* const variant : {"cuda.by_node", "cuda.tiles"}) {
    expect_error(error_code::bad_index, "prepare_edge_sum: " + words,
                 [&] { prepare_edge_sum(*ctx, e.edges(), 100, 3, 5, {.variant = variant}); });
  }
  const prepared_edge_sum kept = prepare_edge_sum(*ctx, e.edges(), 100, 3, 5, {.variant = "kept"});
  expect_error(error_code::bad_index, "edge_sum: " + words, [&] { run_of(*ctx, kept, e, images); });
}

TEST_F(EdgeSumOnCuda, AtomicsAreForSumsInAnyOrder) {
  const edge_images images(path_graph(10), {});
  const placed_edges e(*ctx, images);
  const std::string words =
      message_of(error_code::no_variant, [&] { sum_of(*ctx, e, images, {.variant = "cuda.atomic"}); });
  EXPECT_NE(words.find("adds in the order in which threads come"), std::string::npos) << words;
}

TEST_F(EdgeSumOnCuda, CallsKeepToTheScratchLimit) {
  const edge_images images(star_graph(20'000), {});
  const placed_edges e(*ctx, images);
  const image whole = sum_of(*ctx, e, images);
  const prepared_edge_sum prepared = prepare_edge_sum(*ctx, e.edges(), images.nodes, 3, 1, {.variant = "cuda.by_node"});
  ctx->limit_scratch(10);
  EXPECT_TRUE(message_of(error_code::out_of_memory, [&] {
                sum_of(*ctx, e, images, {.variant = "cuda.two_pass"});
              }).starts_with("edge_sum: "));
  EXPECT_TRUE(message_of(error_code::out_of_memory, [&] {
                run_of(*ctx, prepared, e, images);
              }).starts_with("prepared_edge_sum: "));
  ctx->limit_scratch(~std::uint64_t{0});
  expect_bytes(sum_of(*ctx, e, images).bytes, whole, "the result");
}

TEST_F(EdgeSumOnCuda, CanBeCapturedIntoAGraph) {
  edge_images images(box_graph(12, true), {});
  const expected_sums expected = expected_of(box_graph(12, true), images);
  const placed_edges e(*ctx, images);
  const prepared_edge_sum prepared = prepare_edge_sum(*ctx, e.edges(), images.nodes, 3, 1, {.variant = "cuda.tiles"});
  for (const bool is_prepared : {false, true}) {
    const image found = result_of(*ctx, images.nodes * 3, value_type::f64, [&](values result) {
      const captured_graph graph(*ctx, [&] {
        if (is_prepared) {
          prepared.run(e.values(), e.weights(), result, images.layout.function);
        } else {
          edge_sum(*ctx, e.edges(), e.values(), e.weights(), result, 3, images.layout.function);
        }
      });
      for (int launch = 0; launch < 3; ++launch) graph.launch();
      ctx->wait();
    });
    expect_near(found, expected, value_type::f64);
  }
}

}  // namespace
}  // namespace sheaf::tests
