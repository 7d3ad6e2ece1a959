// Prepared sums over edges are edge_sum's, in every run; they say what they cost, name bad ends, and survive every
// allocation that fails.
#include <sheaf/edge_sum.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "primitives/edges/prepare.hpp"
#include "support/expect_error.hpp"
#include "support/failing_memory.hpp"
#include "support/scoped_environment.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::primitives_edges_prepare_test {
namespace {

constexpr std::uint64_t never = failing_memory::never;

/// A run on memory of its own.
image run_of(const context& ctx, const prepared_edge_sum& prepared, const placed_edges& e, const edge_images& images) {
  return result_of(ctx, images.nodes * images.layout.components, images.layout.value,
                   [&](values result) { prepared.run(e.values(), e.weights(), result, images.layout.function); });
}

/// Coordinates of nodes, some of which nobody would call so.
struct places {
  std::string name;
  std::uint32_t dimensions = 0;
  value_type type = value_type::f64;
  std::function<double(std::uint64_t, std::uint32_t)> at = {};
};

std::vector<places> every_place() {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {{"none"},
          {"drawn, 3", 3, value_type::f64, [](std::uint64_t n, std::uint32_t d) { return drawn_float(n * 3 + d); }},
          {"drawn, 2 of f32", 2, value_type::f32, [](std::uint64_t n, std::uint32_t d) { return drawn_float(n + d); }},
          {"all equal", 3, value_type::f64, [](std::uint64_t, std::uint32_t) { return 4.5; }},
          {"no numbers", 3, value_type::f32, [nan](std::uint64_t, std::uint32_t) { return nan; }},
          {"some no numbers", 3, value_type::f64,
           [=](std::uint64_t n, std::uint32_t d) {
             return n % 3 == 0 ? nan : n % 7 == 0 ? -infinity : static_cast<double>(n * d);
           }},
          {"the largest", 2, value_type::f64, [](std::uint64_t n, std::uint32_t) {
             return n % 2 == 0 ? std::numeric_limits<double>::max() : std::numeric_limits<double>::lowest();
           }}};
}

// Data are null.
TEST(PrepareEdgeSum, IsExplainedBeforeItIsMade) {
  const context ctx = context::cpu(2);
  const edge_graph g = box_graph(24, true);
  const edge_layout layout{value_type::f64, index_type::u32, false, true, 3, edge_function::inverse_square};
  const edge_images images(g, layout);
  const placed_edges e(ctx, images);
  const prepare_edge_sum_options options{.value = layout.value, .function = layout.function};
  edge_view shape = e.edges();
  shape.first = shape.second = nullptr;
  for (const std::uint64_t runs : {1U, 15U}) {  // fewer than are timed
    const explanation why = explain_prepare_edge_sum(ctx, shape, g.nodes, layout.components, runs, options);
    EXPECT_EQ(why.primitive, "prepare_edge_sum");
    const edge_sum_preparation report =
        prepare_edge_sum(ctx, e.edges(), g.nodes, layout.components, runs, options).report();
    EXPECT_EQ(why.choice()->variant, report.variant) << runs;
    ASSERT_EQ(why.choice()->decided.size(), 1U);
    EXPECT_EQ(std::get<double>(why.choice()->decided[0].value), report.run_seconds) << runs;
  }
  expect_error(error_code::bad_argument, "prepare_edge_sum: 7 coordinates for 2 nodes, not 2 or 3 for each", [&] {
    static_cast<void>(explain_prepare_edge_sum(ctx, shape, 2, 3, 1, {.coordinates = {nullptr, 7, value_type::f64}}));
  });
}

TEST(PrepareEdgeSum, RunsHaveTheBitsOfTheReference) {
  const context host = context::cpu(1);
  std::vector<edge_graph> graphs = every_graph();
  graphs.push_back(star_graph(90'000));  // a tile reaches more nodes than 16 bits number
  graphs.push_back(box_graph(24, true));
  for (const edge_graph& g : graphs) {
    for (const edge_layout& layout :
         {edge_layout{value_type::f32, index_type::i32, false, true, 3, edge_function::inverse_square},
          edge_layout{value_type::f64, index_type::u64, true, false, 5, edge_function::weighted_difference}}) {
      const edge_images images(g, layout);
      const placed_edges e(host, images);
      const image expected = sum_of(host, e, images, {.variant = "reference.serial"});
      for (const places& where : every_place()) {
        image xyz = poisoned(g.nodes * where.dimensions, bytes(where.type), bytes(where.type), 0, false);
        for (std::uint64_t i = 0; i < xyz.count; ++i) {
          set_float(xyz, i, where.type,
                    where.at(i / where.dimensions, static_cast<std::uint32_t>(i % where.dimensions)));
        }
        for (const int threads : {1, 2, 7}) {
          const context ctx = context::cpu(threads);
          for (const char* variant : {"kept", "cpu.tiles"}) {
            if (g.edges.empty() && variant != std::string_view("kept")) continue;
            SCOPED_TRACE(fmt::format("{}, {}, coordinates: {}, {} threads, {}", g.name, layout.description(),
                                     where.name, threads, variant));
            const prepared_edge_sum prepared =
                prepare_edge_sum(ctx, e.edges(), g.nodes, layout.components, 3,
                                 {.coordinates = {xyz.record(0), xyz.count, where.type}, .variant = variant});
            const edge_sum_preparation& report = prepared.report();
            EXPECT_EQ(report.variant, variant);
            EXPECT_EQ(report.run_variant,
                      variant == std::string_view("kept") ? report.unprepared_variant : std::string(variant));
            EXPECT_EQ(prepared.report().kept_bytes > 0, variant != std::string_view("kept"));
            for (int run = 0; run < 2; ++run) {
              expect_bytes(run_of(ctx, prepared, e, images).bytes, expected, "the result");
            }
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

/// Gives to `check` the sums that every preparation of every backend makes, of every number of components.
template <class Check>
void for_each_prepared_sum(const edge_graph& g, edge_function function, Check check) {
  std::vector<named_context> contexts = edge_contexts();
  if (const auto opengl = opengl_context()) contexts.push_back({"opengl", *opengl});
  for (std::uint32_t components = 1; components <= most_edge_components; ++components) {
    for (const value_type value : {value_type::f32, value_type::f64}) {
      const edge_images images(g, {.value = value, .components = components, .function = function});
      const expected_sums expected = expected_of(g, images);
      for (const named_context& where : contexts) {
        if (where.ctx.backend() == backend_kind::opengl && value == value_type::f64) continue;
        const placed_edges e(where.ctx, images);
        for (const primitives::prepare_edge_sum_variant& v : primitives::prepare_edge_sum_variants()) {
          if (!v.works_on(where.ctx.backend())) continue;
          SCOPED_TRACE(fmt::format("{}, {}, {}", where.name, v.name, images.layout.description()));
          const prepared_edge_sum prepared = prepare_edge_sum(
              where.ctx, e.edges(), g.nodes, components, 3, {.value = value, .function = function, .variant = v.name});
          const edge_sum_preparation& report = prepared.report();
          EXPECT_EQ(report.variant, v.name);
          EXPECT_EQ(report.run_variant, v.name == "kept" ? report.unprepared_variant : std::string(v.name));
          check(where.ctx, e, images, expected, run_of(where.ctx, prepared, e, images));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

TEST(PrepareEdgeSum, HasOneToEightComponents) {
  for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
    for_each_prepared_sum(box_graph(11, true), function,
                          [](const context& ctx, const placed_edges& e, const edge_images& images,
                             const expected_sums& expected, const image& found) {
                            expect_near(found, expected, images.layout.value);
                            if (ctx.backend() != backend_kind::cpu) return;
                            const image reference = sum_of(ctx, e, images, {.variant = "reference.serial"});
                            expect_bytes(found.bytes, reference, "the result");
                          });
  }
}

TEST(PrepareEdgeSum, LeavesNothingOverInTheSumOfAllNodes) {
  for_each_prepared_sum(box_graph(14, true), edge_function::inverse_square,
                        [](const context&, const placed_edges&, const edge_images& images,
                           const expected_sums& expected, const image& found) {
                          expect_nothing_left_over(found, expected, images.layout.components, images.layout.value);
                        });
}

TEST(PrepareEdgeSum, HasTheSameBitsInEveryRun) {
  const context ctx = context::cpu(3);
  for (const value_type value : {value_type::f32, value_type::f64}) {
    for (const std::uint32_t components : {3U, 5U}) {
      const edge_images images(box_graph(16, true), {.value = value, .components = components});
      const placed_edges e(ctx, images);
      const prepared_edge_sum prepared =
          prepare_edge_sum(ctx, e.edges(), images.nodes, components, 1, {.value = value, .variant = "cpu.tiles"});
      const image first = run_of(ctx, prepared, e, images);
      for (int run = 0; run < 100; ++run) expect_bytes(run_of(ctx, prepared, e, images).bytes, first, "the result");
    }
  }
}

/// The memory of a context that takes its time for blocks of one size.
struct slow_memory {
  static constexpr std::chrono::milliseconds pause{50};

  memory_resource under;
  std::uint64_t slow_bytes = never;
  std::uint64_t last_bytes = 0;

  explicit slow_memory(const context& ctx) : under(ctx.state().memory) {}
  memory_resource resource() {
    return {[](void* state, std::uint64_t wanted, CUstream_st* stream) -> void* {
              auto& self = *static_cast<slow_memory*>(state);
              self.last_bytes = wanted;
              if (wanted == self.slow_bytes) std::this_thread::sleep_for(pause);
              return self.under.allocate(self.under.state, wanted, stream);
            },
            [](void* state, void* block, std::uint64_t given, CUstream_st* stream) {
              const auto& self = *static_cast<slow_memory*>(state);
              self.under.deallocate(self.under.state, block, given, stream);
            },
            this};
  }
};

// Runs of tiles and those of cpu.binned take scratch of different sizes, and waiting for it makes one of them slow.
TEST(PrepareEdgeSum, TakesTheFasterOfWhatItTimed) {
  const edge_images images(box_graph(20, true), {});
  const scoped_environment forced("SHEAF_VARIANT", "edge_sum:cpu.binned");
  context ctx = context::cpu(1);  // several threads may wait for each other longer than that
  machine profile = ctx.profile();
  for (access_rate& rate : profile.random_read) rate.records_per_second /= 100;  // so that tiles are planned
  ctx.use(profile);
  const placed_edges e(ctx, images);
  const image expected = sum_of(ctx, e, images);
  std::vector<double> result(3 * images.nodes);
  slow_memory memory(ctx);
  ctx.use(memory.resource());
  constexpr edge_function function = edge_function::weighted_difference;
  edge_sum(ctx, e.edges(), e.values(), e.weights(), result, 3, function);
  const std::uint64_t bytes_of_binned = memory.last_bytes;
  prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1, {.variant = "cpu.tiles"})
      .run(e.values(), e.weights(), result, function);
  const std::uint64_t bytes_of_tiles = memory.last_bytes;
  ASSERT_NE(bytes_of_binned, bytes_of_tiles);
  constexpr double pause_seconds = std::chrono::duration<double>(slow_memory::pause).count();
  for (const bool are_tiles_slow : {true, false}) {
    SCOPED_TRACE(are_tiles_slow);
    memory.slow_bytes = are_tiles_slow ? bytes_of_tiles : bytes_of_binned;
    const prepared_edge_sum prepared = prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1'000'000'000);
    const edge_sum_preparation& report = prepared.report();
    EXPECT_EQ(report.unprepared_variant, "cpu.binned");
    EXPECT_EQ(report.variant, are_tiles_slow ? "kept" : "cpu.tiles");
    EXPECT_EQ(report.run_variant, are_tiles_slow ? "cpu.binned" : "cpu.tiles");
    EXPECT_EQ(report.kept_bytes == 0, are_tiles_slow);
    EXPECT_GT(report.trial_seconds, 3 * pause_seconds) << "it ran the slow one thrice";
    if (are_tiles_slow) {
      EXPECT_LT(report.unprepared_seconds, pause_seconds);
      EXPECT_EQ(report.run_seconds, report.unprepared_seconds);
      EXPECT_EQ(report.pays_after_runs, 0U);
    } else {
      EXPECT_GE(report.unprepared_seconds, pause_seconds);
      EXPECT_LT(report.run_seconds, pause_seconds);
      EXPECT_GT(report.pays_after_runs, 0U);
    }
    expect_bytes(run_of(ctx, prepared, e, images).bytes, expected, "the result");
  }
  ctx.use(memory.under);
}

TEST(PrepareEdgeSum, SaysWhatPreparingCosts) {
  const edge_images images(box_graph(30, true), {.value = value_type::f32});
  const context ctx = context::cpu(2);
  const placed_edges e(ctx, images);
  const prepared_edge_sum tiles =
      prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1, {.value = value_type::f32, .variant = "cpu.tiles"});
  EXPECT_FALSE(tiles.report().unprepared_variant.empty());
  EXPECT_GT(tiles.report().preparation_seconds, 0);
  EXPECT_GT(tiles.report().kept_bytes, 0U);
  const prepared_edge_sum kept = prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1, {.variant = "kept"});
  EXPECT_EQ(kept.report().pays_after_runs, 0U);
  EXPECT_EQ(kept.report().kept_bytes, 0U);
}

TEST(PrepareEdgeSum, PredictsRunsOfTheFunctionAndTheWeightsThatAreNamed) {
  const edge_graph g = box_graph(30, false);
  const context ctx = context::cpu(2);
  std::vector<double> predictions;
  for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
    for (const bool has_weights : {false, true}) {
      const edge_images images(g, {.value = value_type::f32, .has_weights = has_weights, .function = function});
      const placed_edges e(ctx, images);
      std::vector<float> result(images.values.count);
      const prepared_edge_sum prepared =
          prepare_edge_sum(ctx, e.edges(), g.nodes, 3, 1,
                           {.value = value_type::f32, .function = function, .edge_weights = has_weights ? 1U : 0U});
      const explanation why = explain_edge_sum(ctx, e.edges(), e.values(), e.weights(), result, 3, function);
      ASSERT_NE(why.choice(), nullptr);
      EXPECT_EQ(prepared.report().unprepared_variant, why.choice()->variant);
      EXPECT_DOUBLE_EQ(prepared.report().unprepared_seconds, why.choice()->seconds);
      predictions.push_back(prepared.report().unprepared_seconds);
    }
  }
  std::sort(predictions.begin(), predictions.end());
  EXPECT_EQ(std::unique(predictions.begin(), predictions.end()), predictions.end()) << "two of these cost the same";
}

// Nodes in order gain little by tiles, and weights and roots take what is left of it.
TEST(PrepareEdgeSum, TimesRunsAsTheyAreToBe) {
  const edge_graph g = box_graph(24, false);
  const edge_images images(g, {.value = value_type::f32, .function = edge_function::inverse_square});
  context ctx = context::cpu(2);
  machine profile = ctx.profile();
  for (access_rate& rate : profile.random_read) rate.records_per_second /= 100;  // so that tiles are planned
  ctx.use(profile);
  const placed_edges e(ctx, images);
  const image expected = sum_of(ctx, e, images, {.variant = "reference.serial"});
  const double predicted_seconds =
      prepare_edge_sum(ctx, e.edges(), g.nodes, 3, 1,
                       {.value = value_type::f32, .function = edge_function::inverse_square, .edge_weights = 1})
          .report()
          .unprepared_seconds;
  failing_memory memory(ctx);
  ctx.use(memory.resource());
  for (const bool refuses_weights : {false, true}) {
    memory.refused_bytes = refuses_weights ? g.edges.size() * sizeof(float) : never;
    memory.refused = 0;
    const prepared_edge_sum prepared =
        prepare_edge_sum(ctx, e.edges(), g.nodes, 3, 1'000'000'000,
                         {.value = value_type::f32, .function = edge_function::inverse_square, .edge_weights = 1});
    EXPECT_EQ(memory.refused, refuses_weights ? 1U : 0U) << "no run with weights was to be timed";
    if (refuses_weights) {  // predictions stay
      EXPECT_EQ(prepared.report().variant, "cpu.tiles") << "another preparation was planned";
      EXPECT_EQ(prepared.report().unprepared_seconds, predicted_seconds);
    } else {
      EXPECT_NE(prepared.report().unprepared_seconds, predicted_seconds) << "it was timed";
    }
    expect_bytes(run_of(ctx, prepared, e, images).bytes, expected, "the result");
  }
  ctx.use(memory.under);
}

TEST(PrepareEdgeSum, NamesTheFirstEndThatIsNoNode) {
  edge_images images(drawn_graph(100, 5000), {.index = index_type::i32});
  images.set_end(4000, 1, 100);
  images.set_end(4500, 0, ~std::uint64_t{0});
  for (const int threads : {1, 2, 5}) {
    const context ctx = context::cpu(threads);
    const placed_edges e(ctx, images);
    const std::string words = "end 1 of edge 4000 is 100, past the 100 nodes";
    expect_error(error_code::bad_index, "prepare_edge_sum: " + words,
                 [&] { prepare_edge_sum(ctx, e.edges(), 100, 3, 5, {.variant = "cpu.tiles"}); });
    const prepared_edge_sum kept = prepare_edge_sum(ctx, e.edges(), 100, 3, 5, {.variant = "kept"});
    expect_error(error_code::bad_index, "edge_sum: " + words, [&] { run_of(ctx, kept, e, images); });
  }
}

TEST(EdgeSumMemory, CallsKeepToTheScratchLimit) {
  const edge_images images(box_graph(20, true), {});
  context ctx = context::cpu(2);
  const placed_edges e(ctx, images);
  const image whole = sum_of(ctx, e, images);
  const prepared_edge_sum prepared = prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1, {.variant = "cpu.tiles"});
  ctx.limit_scratch(0);
  expect_bytes(sum_of(ctx, e, images).bytes, whole, "the result without scratch");
  ctx.limit_scratch(1000);
  EXPECT_TRUE(message_of(error_code::out_of_memory, [&] {
                sum_of(ctx, e, images, {.variant = "cpu.binned"});
              }).starts_with("edge_sum: "));
  EXPECT_TRUE(message_of(error_code::out_of_memory, [&] {
                run_of(ctx, prepared, e, images);
              }).starts_with("prepared_edge_sum: "));
  ctx.limit_scratch(never);
  expect_bytes(run_of(ctx, prepared, e, images).bytes, whole, "the result of a prepared run");
}

// The preparation and its vectors have memory, its runs have none.
TEST(EdgeSumMemory, APreparationWhoseRunsHaveNoMemoryIsNotTaken) {
  const edge_images images(box_graph(20, true), {});
  context ctx = context::cpu(2);
  machine profile = ctx.profile();
  for (access_rate& rate : profile.random_read) rate.records_per_second /= 100;  // so that tiles are planned
  ctx.use(profile);
  const placed_edges e(ctx, images);
  const image expected = sum_of(ctx, e, images);
  std::vector<double> result(3 * images.nodes);
  failing_memory memory(ctx);
  ctx.use(memory.resource());
  {
    const prepared_edge_sum tiles = prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1, {.variant = "cpu.tiles"});
    tiles.run(e.values(), e.weights(), result, edge_function::weighted_difference);
    memory.refused_bytes = memory.last_bytes;
  }
  {
    const prepared_edge_sum prepared = prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 1'000'000'000);
    EXPECT_GT(memory.refused, 0U) << "another preparation was planned";
    EXPECT_EQ(prepared.report().variant, "kept");
    EXPECT_EQ(prepared.report().kept_bytes, 0U);
    EXPECT_EQ(prepared.report().run_seconds, prepared.report().unprepared_seconds);
    expect_bytes(run_of(ctx, prepared, e, images).bytes, expected, "the result");
  }
  EXPECT_EQ(memory.bytes, 0U) << "memory was not given back";
  ctx.use(memory.under);
}

TEST(EdgeSumMemory, AnyAllocationMayFail) {
  const edge_images images(box_graph(12, true), {});
  const image xyz = [&] {
    image made = poisoned(3 * images.nodes, 8, 8, 0, false);
    for (std::uint64_t i = 0; i < made.count; ++i) set_float(made, i, value_type::f64, drawn_float(i));
    return made;
  }();
  context ctx = context::cpu(2);
  const placed_edges e(ctx, images);
  std::vector<double> result(3 * images.nodes);
  failing_memory memory(ctx);
  ctx.use(memory.resource());
  bool has_failed = true;
  for (std::uint64_t failing = 0; has_failed; ++failing) {
    SCOPED_TRACE(failing);
    ASSERT_LT(failing, 100U);
    memory.fails_at = failing;
    has_failed = false;
    const auto try_call = [&](std::string_view call, auto work) {
      memory.calls = 0;
      try {
        work();
      } catch (const error& failure) {
        EXPECT_EQ(failure.code(), error_code::out_of_memory) << failure.what();
        EXPECT_TRUE(std::string_view(failure.what()).starts_with(call)) << failure.what();
      }
      ctx.wait();
      EXPECT_EQ(memory.bytes, 0U) << "memory was not given back";
      has_failed |= memory.calls > failing;
    };
    const edge_function function = edge_function::weighted_difference;
    for (const char* variant : {"cpu.owner", "cpu.binned"}) {
      try_call("edge_sum: ",
               [&] { edge_sum(ctx, e.edges(), e.values(), e.weights(), result, 3, function, {.variant = variant}); });
    }
    for (const const_values coordinates : {const_values(), const_values(xyz.record(0), xyz.count, value_type::f64)}) {
      try_call("prepare", [&] {
        prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 5, {.coordinates = coordinates, .variant = "cpu.tiles"})
            .run(e.values(), e.weights(), result, function);
      });
      try_call("prepare",
               [&] { prepare_edge_sum(ctx, e.edges(), images.nodes, 3, 500, {.coordinates = coordinates}); });
    }
  }
  ctx.use(memory.under);
}

}  // namespace
}  // namespace sheaf::tests::primitives_edges_prepare_test
