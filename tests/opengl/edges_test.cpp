// Sums over edges through the graphics pipeline: over many tiles, layers and draws; the same bits in every run, called
// or prepared; what they refuse, keep and name.
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/edge_sum.hpp>

#include "opengl/edges/incidence.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::opengl_edges_test {
namespace {

constexpr const char* forms[] = {"opengl.points", "opengl.fragments"};

class OpenglEdges : public opengl_test {
 protected:
  // Small textures and buffers, so that nodes take many tiles and layers and edges many draws.
  void cut_small() { state().lower_limits({.texture_edge = 13, .points_per_draw = 100, .vertices_per_buffer = 370}); }

  prepared_edge_sum prepared(const placed_edges& e, const edge_images& images, const char* form,
                             std::uint64_t runs = 3) const {
    return prepare_edge_sum(ctx(), e.edges(), images.nodes, images.layout.components, runs,
                            {.value = value_type::f32, .variant = form});
  }

  image run_of(const prepared_edge_sum& sum, const placed_edges& e, const edge_images& images) const {
    return result_of(ctx(), images.nodes * images.layout.components, value_type::f32,
                     [&](values result) { sum.run(e.values(), e.weights(), result, images.layout.function); });
  }
};

TEST_F(OpenglEdges, SumsOverManyTilesAndDraws) {
  cut_small();
  for (const edge_graph& g : {box_graph(9, true), drawn_graph(900, 3000), star_graph(700), edge_graph{"no edges", 9}}) {
    for (const std::uint32_t components : {1, 2, 3, 4, 5, 8}) {
      for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
        const edge_images images(
            g, {value_type::f32, index_type::i64, components % 2 == 0, components != 3, components, function});
        const placed_edges e(ctx(), images);
        const expected_sums expected = expected_of(g, images);
        for (const char* const form : forms) {
          SCOPED_TRACE(fmt::format("{}, {}, {}", g.name, images.layout.description(), form));
          const image called = sum_of(ctx(), e, images, {.variant = form});
          expect_near(called, expected, value_type::f32);
          expect_bytes(run_of(prepared(e, images, form), e, images).bytes, called, "sums of a prepared run");
        }
      }
      if (HasFailure()) return;
    }
  }
}

// A loop of a fragment ends at 2^15 edges, and the rest of a node's is summed by further draws.
TEST_F(OpenglEdges, SumsNodesOfMoreEdgesThanALoop) {
  for (const std::uint64_t nodes : {32768, 32769, 32770, 70'000}) {
    const edge_graph g = star_graph(nodes);
    const edge_images images(g, {.value = value_type::f32});
    const placed_edges e(ctx(), images);
    expect_near(sum_of(ctx(), e, images, {.variant = "opengl.fragments"}), expected_of(g, images), value_type::f32);
  }
}

// The first draw of nodes neither adds to what its frame buffer had nor leaves nodes without edges as they were.
TEST_F(OpenglEdges, FragmentsWriteEveryNodeWhateverItsPixelHad) {
  cut_small();
  for (const std::uint32_t components : {1, 3, 8}) {
    primitives::edge_sum_problem p;
    p.nodes = 500;
    p.edges = 1;
    p.value_components = p.components = components;
    p.value = value_type::f32;
    std::vector<float> at(p.nodes * components);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<float>(i);
    std::vector<float> sums(at.size(), -1);
    constexpr auto none = opengl::edge_numbers::none;
    std::vector<std::byte> scratch(opengl::incidence::scratch_bytes(p, none));
    opengl::pipeline_call call(state(), "test");
    const opengl::node_values values(state(), p, at.data());
    const opengl::node_sums pixels(state(), p);
    for (const std::uint32_t second : {7U, 300U}) {
      const std::uint32_t first = 2;
      const opengl::incidence edges(state(), p, edge_view(&first, &second, 1, 1, index_type::u32), none,
                                    scratch.data());
      edges.draw(state(), p, values, nullptr, pixels);
    }
    pixels.read_back(sums.data());
    call.finish();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float difference = 298.0F * static_cast<float>(components);
      EXPECT_EQ(sums[i], i / components == 2 ? difference : i / components == 300 ? -difference : 0) << i;
    }
  }
}

TEST_F(OpenglEdges, HasTheSameBitsInAHundredRuns) {
  for (const std::uint32_t components : {1, 3, 6}) {
    const edge_images images(rmat_graph(6, 500), {.value = value_type::f32, .components = components});
    const placed_edges e(ctx(), images);
    for (const char* const form : forms) {
      SCOPED_TRACE(fmt::format("{} components, {}", components, form));
      const image first = sum_of(ctx(), e, images, {.variant = form});
      const prepared_edge_sum kept = prepared(e, images, form, 100);
      for (int run = 0; run < 100 && !HasFailure(); ++run) {
        expect_bytes(sum_of(ctx(), e, images, {.variant = form}).bytes, first, "sums");
        expect_bytes(run_of(kept, e, images).bytes, first, "sums of a prepared run");
      }
    }
  }
}

// The pipeline blends points in their order.
TEST_F(OpenglEdges, HasTheSameBitsInEveryRun) {
  const edge_images images(rmat_graph(10, 9000), {.value = value_type::f32, .components = 5});
  const placed_edges e(ctx(), images);
  for (const char* const form : forms) {
    const image first = sum_of(ctx(), e, images, {.variant = form});
    const prepared_edge_sum kept = prepared(e, images, form);
    for (int run = 0; run < 5; ++run) {
      expect_bytes(sum_of(ctx(), e, images, {.variant = form}).bytes, first, form);
      expect_bytes(run_of(kept, e, images).bytes, first, form);
    }
  }
}

TEST_F(OpenglEdges, SaysWhatFrameBuffersCannotHold) {
  const auto reasons = [&](std::uint64_t edges, std::uint64_t nodes, value_type type) {
    std::vector<std::uint32_t> none;
    const edge_view view(none.data(), none.data(), edges, 1, index_type::u32);
    std::vector<std::string> found;
    for (const variant_estimate& v :
         explain_edge_sum(ctx(), view, const_values(nullptr, nodes, type), const_values(nullptr, 0, type),
                          values(nullptr, nodes, type), 1, edge_function::weighted_difference)
             .variants) {
      found.emplace_back(v.applicable ? "" : v.reason);
    }
    return found;
  };
  EXPECT_THAT(reasons(100, 50, value_type::f32), testing::ElementsAre("", ""));
  EXPECT_THAT(reasons(100, 50, value_type::f64),
              testing::Each("frame buffers have 32 bits a channel, but the values are f64"));
  EXPECT_THAT(reasons(std::uint64_t{1} << 31, 50, value_type::f32), testing::Each("shaders count ends in 32 bits"));
  EXPECT_THAT(reasons(100, std::uint64_t{1} << 29, value_type::f32),
              testing::Each("shaders count components of nodes in 32 bits"));
}

// Plans say what the textures of the context cannot hold, so that no call gets as far as a texture. A layer has 8 x 8
// texels, because its sides are powers of two.
TEST_F(OpenglEdges, SaysWhatTheTexturesOfADeviceAreTooSmallFor) {
  state().lower_limits({.texture_edge = 13, .texture_layers = 20, .points_per_draw = 100, .vertices_per_buffer = 370});
  constexpr std::uint64_t capacity = 1280;
  const std::string nodes = "the nodes' values take more layers than a texture has here";
  const std::string edges = "the edges of the nodes take more layers than a texture has here";
  const struct {
    std::uint64_t nodes;
    std::uint64_t edges;
    std::uint32_t components;
    std::vector<std::string> reasons;
  } trials[] = {{capacity, capacity / 2, 4, {"", ""}},
                {capacity + 1, 100, 1, {nodes, nodes}},
                {capacity / 5, 100, 5, {"", ""}},
                {capacity / 5 + 1, 100, 5, {nodes, nodes}},
                {100, capacity / 2 + 1, 3, {"", edges}}};
  for (const auto& t : trials) {
    SCOPED_TRACE(fmt::format("{} nodes, {} edges, {} components", t.nodes, t.edges, t.components));
    const edge_graph g = drawn_graph(t.nodes, t.edges);
    const edge_images images(g, {.value = value_type::f32, .components = t.components});
    const placed_edges e(ctx(), images);
    for (std::size_t i = 0; i < std::size(forms); ++i) {
      if (t.reasons[i].empty()) {
        const image called = sum_of(ctx(), e, images, {.variant = forms[i]});
        expect_near(called, expected_of(g, images), value_type::f32);
        expect_bytes(run_of(prepared(e, images, forms[i]), e, images).bytes, called, forms[i]);
        continue;
      }
      for (const std::string& message :
           {message_of(error_code::no_variant, [&] { sum_of(ctx(), e, images, {.variant = forms[i]}); }),
            message_of(error_code::no_variant, [&] { prepared(e, images, forms[i]); })}) {
        EXPECT_THAT(message, testing::HasSubstr(fmt::format("{} ({})", forms[i], t.reasons[i])));
      }
    }
  }
}

TEST_F(OpenglEdges, PreparedRunsTakeOtherComponentsAndNoOtherTypes) {
  const edge_graph g = box_graph(6, true);
  const edge_images images(g, {.value = value_type::f32, .components = 3});
  const edge_images wide(g, {.value = value_type::f64, .components = 3});
  const placed_edges e(ctx(), images);
  const placed_edges of_wide(ctx(), wide);
  for (const char* const form : forms) {
    const prepared_edge_sum kept = prepared(e, images, form);
    EXPECT_EQ(
        message_of(error_code::no_variant,
                   [&] {
                     result_of(ctx(), wide.nodes * 3, value_type::f64, [&](values result) {
                       kept.run(of_wide.values(), of_wide.weights(), result, wide.layout.function);
                     });
                   }),
        fmt::format("prepared_edge_sum: {} cannot run: frame buffers have 32 bits a channel, but the values are f64",
                    form));
    expect_near(run_of(kept, e, images), expected_of(g, images), value_type::f32);
  }
}

// Loading time, the time of a run, and the runs that make up for it (Ujaldon and Saltz 2005, table 6).
TEST_F(OpenglEdges, ReportsWhatAPreparationCostAndKeeps) {
  const edge_images images(box_graph(10, false), {.value = value_type::f32});
  const placed_edges e(ctx(), images);
  for (const char* const form : forms) {
    const edge_sum_preparation report = prepared(e, images, form).report();
    EXPECT_EQ(report.variant, form);
    EXPECT_GT(report.preparation_seconds, 0);
    EXPECT_GT(report.run_seconds, 0);
    const std::uint64_t incident = 8 * (images.nodes + 2 * images.edges);
    EXPECT_EQ(report.kept_bytes, report.variant == "opengl.points" ? 8 * images.edges : incident);
    for (const variant_estimate& v :
         explain_edge_sum(ctx(), e.edges(), e.values(), const_values(nullptr, 0, value_type::f32),
                          values(nullptr, images.values.count, value_type::f32), 3, edge_function::weighted_difference)
             .variants) {
      if (v.variant != form) continue;
      EXPECT_LT(report.run_seconds, v.seconds) << form << " uploads the edges at each call";
    }
  }
}

// The driver's linker takes longer than many a sum.
TEST_F(OpenglEdges, PreparationsLinkTheProgramsOfRuns) {
  for (const std::uint32_t components : {3U, 6U}) {
    for (const char* const form : forms) {
      SCOPED_TRACE(fmt::format("{}, {} components", form, components));
      const context fresh = context::opengl();
      std::size_t linked = 0;
      for (const bool has_weights : {false, true}) {
        const edge_images images(box_graph(5, false),
                                 {.value = value_type::f32, .has_weights = has_weights, .components = components});
        const placed_edges e(fresh, images);
        const prepared_edge_sum made = prepare_edge_sum(fresh, e.edges(), images.nodes, components, 1,
                                                        {.value = value_type::f32, .variant = form});
        if (!has_weights) linked = opengl::state_of(fresh).linked_programs();
        EXPECT_GT(linked, 0U);
        run_of(made, e, images);
        EXPECT_EQ(opengl::state_of(fresh).linked_programs(), linked);
      }
    }
  }
}

TEST_F(OpenglEdges, PreparationsNameTheFirstEndThatIsNoNode) {
  cut_small();
  edge_images images(drawn_graph(100, 5000), {.value = value_type::f32, .index = index_type::i32});
  images.set_end(4000, 1, 100);
  images.set_end(4500, 0, ~std::uint64_t{0});
  const placed_edges e(ctx(), images);
  for (const char* const form : forms) {
    expect_error(error_code::bad_index, "prepare_edge_sum: end 1 of edge 4000 is 100, past the 100 nodes",
                 [&] { prepared(e, images, form); });
    expect_error(error_code::bad_index, "edge_sum: end 1 of edge 4000 is 100, past the 100 nodes",
                 [&] { sum_of(ctx(), e, images, {.variant = form}); });
  }
}

TEST_F(OpenglEdges, PreparedSumsOutliveTheirContextAndChangeThreads) {
  const edge_images images(box_graph(6, false), {.value = value_type::f32, .has_weights = false});
  const placed_edges e(ctx(), images);
  for (const char* const form : forms) {
    std::vector<float> result(images.values.count);
    std::optional<prepared_edge_sum> kept;
    {
      const context ends_first = context::opengl();
      kept.emplace(
          prepare_edge_sum(ends_first, e.edges(), images.nodes, 3, 3, {.value = value_type::f32, .variant = form}));
    }
    const auto run = [&] { kept->run(e.values(), e.weights(), values(result), edge_function::weighted_difference); };
    std::thread(run).join();
    const std::vector<float> first = result;
    run();
    EXPECT_EQ(result, first) << form;
    std::thread([&] { kept.reset(); }).join();
  }
}

TEST_F(OpenglEdges, KeepsToALimitOfScratch) {
  const edge_images images(box_graph(6, false), {.value = value_type::f32});
  context limited = context::opengl();
  limited.limit_scratch(100);
  const placed_edges e(limited, images);
  EXPECT_THAT(
      message_of(error_code::out_of_memory, [&] { sum_of(limited, e, images, {.variant = "opengl.fragments"}); }),
      testing::HasSubstr("the context's limit is 100"));
  EXPECT_EQ(sum_of(limited, e, images, {.variant = "opengl.points"}).count, images.values.count);
}

}  // namespace
}  // namespace sheaf::tests::opengl_edges_test
