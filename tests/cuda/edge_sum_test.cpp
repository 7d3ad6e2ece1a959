// Sums over edges on CUDA: prepared runs, the same bits in every run, what scratch is not to be had, and graphs.
#include <sheaf/edge_sum.hpp>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/captured_graph.hpp"
#include "support/expect_error.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::cuda_edge_sum_test {
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
          const edge_sum_preparation& report = prepared.report();
          EXPECT_EQ(report.variant, variant);
          EXPECT_EQ(report.kept_bytes > 0, variant != std::string_view("kept"));
          if (variant == std::string_view("kept")) {
            EXPECT_EQ(report.run_variant, report.unprepared_variant);
          } else if (variant == std::string_view("cuda.by_node")) {
            EXPECT_EQ(report.run_variant, variant);
          }
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

/// A graph, and where its nodes are; no coordinates let the order be grown along the edges.
struct placed_graph {
  edge_graph graph;
  image coordinates;
};

/// Graphs of which tiles can be made for any number of components: at most 4096 edges of a node, at most 6144 nodes
/// that a tile reaches outside, and slices that are not mostly padding.
std::vector<placed_graph> graphs_for_tiles() {
  std::vector<placed_graph> all;
  const image none = box_coordinates(0, false);
  all.push_back({path_graph(127), none});
  all.push_back({box_graph(24, true), box_coordinates(24, true)});
  all.push_back({box_graph(24, true), none});
  // The tile of the hub reaches the 3000 nodes of its spokes, and its slice is 1500 rows high.
  all.push_back({box_graph(30, true), box_coordinates(30, true)});
  add_star(all.back().graph, 13, 3000);
  all.push_back({box_graph(20, true), box_coordinates(20, true)});
  add_loops(all.back().graph, 500);
  all.push_back({rmat_graph(11, 20'000, 35), none});
  return all;
}

TEST_F(EdgeSumOnCuda, TilesAreMadeOfGraphsThatSuitThem) {
  for (const placed_graph& in : graphs_for_tiles()) {
    const edge_graph& g = in.graph;
    for (std::uint32_t components = 1; components <= most_edge_components; ++components) {
      for (const value_type value : {value_type::f32, value_type::f64}) {
        const edge_images images(
            g, {.value = value,
                .in_pairs = components % 3 == 0,
                .has_weights = components % 2 == 0,
                .components = components,
                .function = components < 5 ? edge_function::inverse_square : edge_function::weighted_difference});
        SCOPED_TRACE(fmt::format("{}, {}", g.name, images.layout.description()));
        const placed_edges e(*ctx, images);
        const placed at(*ctx, in.coordinates);
        const prepared_edge_sum prepared =
            prepare_edge_sum(*ctx, e.edges(), g.nodes, components, 3,
                             {.coordinates = {at.view().data, in.coordinates.count, value_type::f64},
                              .value = value,
                              .variant = "cuda.tiles"});
        EXPECT_EQ(prepared.report().run_variant, "cuda.tiles");
        const image found = run_of(*ctx, prepared, e, images);
        expect_near(found, expected_of(g, images), value);
        expect_bytes(run_of(*ctx, prepared, e, images).bytes, found, "the result of another run");
        e.expect_unchanged();
        if (HasFailure()) return;
      }
    }
  }
}

// Of a node with more than 4096 edges, of tiles that reach most other nodes, and of few nodes that have most edges, so
// that slices would be mostly padding.
TEST_F(EdgeSumOnCuda, ListsTakeThePlaceOfTilesWhereTheseAreNoGood) {
  for (const edge_graph& g : {star_graph(9000), drawn_graph(30'000, 300'000), rmat_graph(11, 20'000),
                              edge_graph{"loops of one node", 1, {{0, 0}, {0, 0}, {0, 0}}}}) {
    SCOPED_TRACE(g.name);
    const edge_images images(g, {});
    const placed_edges e(*ctx, images);
    const auto prepared_by = [&](std::string_view variant) {
      return prepare_edge_sum(*ctx, e.edges(), g.nodes, 3, 1, {.variant = variant});
    };
    const prepared_edge_sum tiles = prepared_by("cuda.tiles");
    const prepared_edge_sum lists = prepared_by("cuda.by_node");
    EXPECT_EQ(tiles.report().variant, "cuda.tiles");
    EXPECT_EQ(tiles.report().run_variant, "cuda.by_node");
    EXPECT_EQ(tiles.report().run_seconds, lists.report().run_seconds) << "predicted for another executor";
    expect_bytes(run_of(*ctx, tiles, e, images).bytes, run_of(*ctx, lists, e, images), "the result");
  }
}

// Prepared for f32 and the function weighted_difference.
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

/// 100 runs, of five preparations.
void expect_same_bits(const context& ctx, const edge_images& images, const const_values& coordinates,
                      std::string_view variant) {
  SCOPED_TRACE(fmt::format("{}, {}", variant, images.layout.description()));
  const placed_edges e(ctx, images);
  image first;
  for (int preparation = 0; preparation < 5; ++preparation) {
    const prepared_edge_sum prepared =
        prepare_edge_sum(ctx, e.edges(), images.nodes, images.layout.components, 1,
                         {.coordinates = coordinates, .value = images.layout.value, .variant = variant});
    ASSERT_EQ(prepared.report().run_variant, variant);
    for (int run = 0; run < 20; ++run) {
      const image found = run_of(ctx, prepared, e, images);
      if (first.bytes.empty()) first = found;
      expect_bytes(found.bytes, first, fmt::format("preparation {}, run {}", preparation, run));
      if (testing::Test::HasFailure()) return;
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
  expect_same_bits(*ctx, images, {}, "cuda.by_node");  // a node has more edges than a piece of a list
  const image coordinates = box_coordinates(40, true);
  const placed at(*ctx, coordinates);
  for (const value_type value : {value_type::f32, value_type::f64}) {
    for (const std::uint32_t components : {3U, 5U}) {
      const edge_images of_box(box_graph(40, true), {.value = value, .components = components});
      for (const char* const variant : {"cuda.by_node", "cuda.tiles"}) {
        expect_same_bits(*ctx, of_box, {at.view().data, coordinates.count, value_type::f64}, variant);
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
    EXPECT_EQ(tiles.report().run_variant, "cuda.tiles");
    EXPECT_LT(tiles.report().kept_bytes, lists.report().kept_bytes);
    EXPECT_EQ(ranges.report().run_variant, "cuda.by_node") << "these are tiles, too";
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

/// Graphs whose lists are of every length: a thread sorts up to 32 entries, a warp up to 1024, a block as many as
/// shared memory holds; of parts that have more, kernels of their own list chunks.
std::vector<edge_graph> graphs_for_buckets() {
  std::vector<edge_graph> all;
  for (edge_graph& g : every_graph()) {
    if (g.nodes > 0 && !g.edges.empty() && 2 * g.edges.size() / g.nodes <= 64) all.push_back(std::move(g));
  }
  all.push_back(star_graph(30'000));
  all.push_back(star_graph(90'000));
  all.push_back(star_graph(400'000));
  all.push_back(box_graph(24, true));
  all.push_back(drawn_graph(5000, 100'000));
  all.push_back(drawn_graph(30'000, 300'000));
  all.push_back(rmat_graph(12, 100'000));
  all.push_back(rmat_graph(16, 1'000'000));
  edge_graph hubs = drawn_graph(300'000, 100'000);
  for (const std::uint64_t hub : {5, 6, 70, 200'000, 299'999}) add_star(hubs, hub, 50'000);
  all.push_back(hubs);
  return all;
}

TEST_F(EdgeSumOnCuda, ListsByBucketsAreSummedLikeOthersWithTheSameBitsInEveryRun) {
  for (const edge_graph& g : graphs_for_buckets()) {
    for (const edge_layout& layout :
         {edge_layout{value_type::f32, index_type::i32, false, false, 3, edge_function::weighted_difference},
          edge_layout{value_type::f64, index_type::u64, true, false, 2, edge_function::weighted_difference},
          edge_layout{value_type::f32, index_type::u32, false, true, 3, edge_function::inverse_square},
          edge_layout{value_type::f64, index_type::i64, true, true, 2, edge_function::weighted_difference}}) {
      SCOPED_TRACE(fmt::format("{}, {}", g.name, layout.description()));
      const edge_images images(g, layout);
      const placed_edges e(*ctx, images);
      const image found = sum_of(*ctx, e, images, {.variant = "cuda.bucketed"});
      expect_near(found, expected_of(g, images), layout.value);
      for (int run = 0; run < 10; ++run) {
        expect_bytes(sum_of(*ctx, e, images, {.variant = "cuda.bucketed"}).bytes, found, "another run");
      }
      e.expect_unchanged();
      if (HasFailure()) return;
    }
  }
}

// Sums of three f32 and more are padded where edges are many.
TEST_F(EdgeSumOnCuda, AtomicsAddToPaddedSums) {
  const edge_graph g = drawn_graph(40'000, 200'000);
  for (std::uint32_t components = 1; components <= most_edge_components; ++components) {
    const edge_images images(g, {.value = value_type::f32, .components = components});
    SCOPED_TRACE(images.layout.description());
    const placed_edges e(*ctx, images);
    const edge_sum_options options{.order = reduction_order::unordered, .variant = "cuda.atomic"};
    expect_near(sum_of(*ctx, e, images, options), expected_of(g, images), value_type::f32);
  }
}

// The kernel that brings padded sums to the result is the one that reports.
TEST_F(EdgeSumOnCuda, PaddedSumsNameTheFirstEndThatIsNoNode) {
  edge_images images(drawn_graph(40'000, 200'000), {.value = value_type::f32});
  images.set_end(150'000, 1, 40'000);
  images.set_end(160'000, 0, 50'000);
  const placed_edges e(*ctx, images);
  expect_error(error_code::bad_index, "edge_sum: end 1 of edge 150000 is 40000, past the 40000 nodes",
               [&] { sum_of(*ctx, e, images, {.order = reduction_order::unordered, .variant = "cuda.atomic"}); });
}

// There are more nodes than 4096 buckets of one part have, so that a bucket has two parts; the last part has no node.
TEST_F(EdgeSumOnCuda, BucketsOfSeveralPartsAreSummedLikeOthers) {
  const edge_graph g = drawn_graph(8'500'000, 300'000);
  for (const bool has_weights : {false, true}) {
    const edge_images images(g, {.value = value_type::f32, .has_weights = has_weights, .components = 1});
    const placed_edges e(*ctx, images);
    const image found = sum_of(*ctx, e, images, {.variant = "cuda.bucketed"});
    expect_near(found, expected_of(g, images), value_type::f32);
    expect_bytes(sum_of(*ctx, e, images, {.variant = "cuda.bucketed"}).bytes, found, "another run");
  }
}

TEST_F(EdgeSumOnCuda, AtomicsAreForSumsInAnyOrder) {
  const edge_images images(path_graph(10), {});
  const placed_edges e(*ctx, images);
  const std::string words =
      message_of(error_code::no_variant, [&] { sum_of(*ctx, e, images, {.variant = "cuda.atomic"}); });
  EXPECT_NE(words.find("adds in the order in which threads arrive"), std::string::npos) << words;
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
}  // namespace sheaf::tests::cuda_edge_sum_test
