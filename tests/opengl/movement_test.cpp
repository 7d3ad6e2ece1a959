#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/gather.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter.hpp>
#include <sheaf/scatter_reduce.hpp>

#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"
#include "support/cases/movement.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/placed.hpp"
#include "support/trials/scatter_reduce.hpp"

namespace sheaf::tests::opengl_movement_test {
namespace {

// Small textures and buffers, so that each array takes many tiles and each list many draws.
class OpenglMovement : public opengl_test {
 protected:
  void cut_small() { state().lower_limits({.texture_edge = 13, .points_per_draw = 100, .vertices_per_buffer = 70}); }
};

constexpr std::uint64_t widths[] = {4, 8, 12, 16};
constexpr const char* gather_names[] = {"opengl.texture", "opengl.vertex"};

TEST_F(OpenglMovement, LimitsAreLoweredAndNeverRaised) {
  const opengl::size_limits before = state().limits();
  EXPECT_GE(before.texture_layers, 256U);  // as OpenGL 3.3 promises
  EXPECT_GE(before.buffer_texels, 65536U);
  state().lower_limits({.texture_edge = ~0U, .points_per_draw = ~0ULL, .vertices_per_buffer = ~0ULL});
  EXPECT_EQ(state().limits().texture_edge, before.texture_edge);
  EXPECT_EQ(state().limits().texture_layers, before.texture_layers);
  EXPECT_EQ(state().limits().buffer_texels, before.buffer_texels);
  EXPECT_EQ(state().limits().points_per_draw, before.points_per_draw);
  state().lower_limits(
      {.texture_edge = 0, .texture_layers = 0, .buffer_texels = 0, .points_per_draw = 0, .vertices_per_buffer = 0});
  EXPECT_EQ(state().limits().texture_edge, 1U);
  EXPECT_EQ(state().limits().texture_layers, 1U);
  EXPECT_EQ(state().limits().buffer_texels, 1U);
  EXPECT_EQ(state().limits().points_per_draw, 1U);
  EXPECT_EQ(state().limits().vertices_per_buffer, 1U);
}

TEST_F(OpenglMovement, GathersOverManyTilesAsTheReferenceDoes) {
  cut_small();
  for (const char* const variant : gather_names) {
    for (const std::uint64_t width : widths) {
      for (const std::uint64_t count : {0, 1, 2, 103, 104, 105, 999}) {
        SCOPED_TRACE(fmt::format("{} r{} n={}", variant, width, count));
        const image table = filled(1301, width, width + 4, 0, 7);
        const image index = index_list(inputs::parse_pattern("uniform"), table.count, count, index_type::i64);
        image out = poisoned(count, width, width + 1);
        image expected = out;
        const index_span list = index_view(index, index_type::i64);
        gather(context::cpu(1), table.view(), list, expected.view(), {.variant = "reference.serial"});
        gather(ctx(), table.view(), list, out.view(), {.variant = variant});
        ctx().wait();
        expect_bytes(out.bytes, expected, "out");
      }
    }
  }
}

TEST_F(OpenglMovement, ScattersOverManyTilesAsTheReferenceDoes) {
  cut_small();
  for (const duplicates repeats : {duplicates::any, duplicates::last}) {
    for (const std::uint64_t width : widths) {
      for (const std::uint64_t count : {0, 1, 2, 99, 100, 101, 999}) {
        SCOPED_TRACE(fmt::format("r{} n={}", width, count));
        const char* const pattern = repeats == duplicates::last ? "zipf" : "permutation";
        const image in = filled(count, width, width + 4, 0, 7);
        const image index = index_list(inputs::parse_pattern(pattern), 1301, count, index_type::u64);
        image out = poisoned(1301, width, width + 1);
        image expected = out;
        const index_span list = index_view(index, index_type::u64);
        scatter(context::cpu(1), in.view(), list, expected.view(), {.variant = "reference.serial"});
        scatter(ctx(), in.view(), list, out.view(), {.duplicates = repeats});
        ctx().wait();
        expect_bytes(out.bytes, expected, "out");
      }
    }
  }
}

TEST_F(OpenglMovement, ReducesOverManyTiles) {
  cut_small();
  for (const reduction op : reductions) {
    for (const char* const pattern : {"uniform", "zipf", "same"}) {
      const reduce_trial trial({pattern, 1500, 700, value_type::f32, op, index_type::u32, true});
      SCOPED_TRACE(trial.c.description());
      std::vector<std::byte> got;
      EXPECT_TRUE(run_variant(ctx(), trial, {}, got));
      ctx().wait();
      expect_slots(got, trial);
    }
  }
}

// The pipeline blends the points of a pixel in their order.
TEST_F(OpenglMovement, SumsFloatsInTheOrderOfTheList) {
  for (const auto& [small, op] : {std::pair{false, reduction::add}, std::pair{false, reduction::subtract},
                                  std::pair{true, reduction::add}, std::pair{true, reduction::subtract}}) {
    if (small) cut_small();
    const reduce_trial trial({"zipf", 5000, 40, value_type::f32, op, index_type::u32, false});
    SCOPED_TRACE(name(op));
    const index_span list = index_view(trial.index, index_type::u32);
    const const_values in(trial.in.record(0), trial.c.count, value_type::f32);
    image serial = trial.before;
    image blended = trial.before;
    scatter_reduce(context::cpu(1), in, list, values(serial.record(0), trial.c.slots, value_type::f32), op,
                   {.variant = "reference.serial"});
    scatter_reduce(ctx(), in, list, values(blended.record(0), trial.c.slots, value_type::f32), op);
    ctx().wait();
    expect_bytes(blended.bytes, serial, "sums");
  }
}

// Values that no point combines are not touched: of a NaN every bit stays, and small values stay what they are.
TEST_F(OpenglMovement, ReductionsKeepEveryBitOfOtherSlots) {
  const std::vector<std::uint32_t> before{0x7fa00001, 0xffc12345, 0x80000000, 0x00000001, 0x807fffff, 0x3f800000};
  for (const reduction op : reductions) {
    std::vector<std::uint32_t> out = before;
    const std::vector<float> in{2.5F};
    const std::vector<std::uint32_t> index{5};
    scatter_reduce(ctx(), std::span(in), std::span(index), values(out.data(), out.size(), value_type::f32), op);
    ctx().wait();
    out.back() = before.back();
    EXPECT_EQ(out, before) << name(op);
  }
}

TEST_F(OpenglMovement, SurvivesIndicesThatTheCallerVouchedForInError) {
  const std::vector<std::uint64_t> index{0, ~std::uint64_t{0}, 1, std::uint64_t{1} << 32, 2, 100, 0xffffffff};
  std::vector<std::uint32_t> table{7, 8, 9};
  for (const char* const variant : gather_names) {
    std::vector<std::uint32_t> out(index.size(), 1);
    gather(ctx(), std::span(table), std::span(index), std::span(out), {.bounds = bounds::trust, .variant = variant});
    ctx().wait();
    EXPECT_EQ(out, (std::vector<std::uint32_t>{7, 0, 8, 0, 9, 0, 0})) << variant;
  }
  const std::vector<std::uint32_t> in{1, 2, 3, 4, 5, 6, 7};
  scatter(ctx(), std::span(in), std::span(index), std::span(table), {.bounds = bounds::trust});
  ctx().wait();
  EXPECT_EQ(table, (std::vector<std::uint32_t>{1, 3, 5}));
}

TEST_F(OpenglMovement, RefusesWhatTexelsCannotHold) {
  const index_span index(nullptr, 10, index_type::u32);
  for (const std::uint64_t width : {1, 2, 5, 20, 64}) {
    const explanation why = explain_gather(ctx(), const_records(nullptr, 5, width), index, records(nullptr, 10, width));
    ASSERT_EQ(why.variants.size(), 2U);
    for (const variant_estimate& v : why.variants) {
      EXPECT_FALSE(v.applicable);
      EXPECT_EQ(v.reason, "texels hold records of 4, 8, 12 or 16 bytes");
    }
  }
  const explanation large =
      explain_scatter(ctx(), const_records(nullptr, 10, 4), index, records(nullptr, std::uint64_t{1} << 32, 4));
  EXPECT_EQ(large.variants.front().reason, "indices of 32 bits name fewer records");
  const explanation integers = explain_scatter_reduce(ctx(), const_values(nullptr, 10, value_type::i32), index,
                                                      values(nullptr, 9, value_type::i32), reduction::add);
  EXPECT_EQ(integers.variants.front().reason, "frame buffers blend only values that are 32-bit floats");
}

TEST_F(OpenglMovement, PricesWhatGoesThereAndComesBack) {
  const index_span index(nullptr, 1 << 20, index_type::u32);
  const explanation why = explain_gather(ctx(), const_records(nullptr, 1000, 8), index, records(nullptr, 1 << 20, 8));
  const variant_estimate* const choice = why.choice();
  ASSERT_NE(choice, nullptr);
  EXPECT_EQ(choice->variant, "opengl.texture");
  std::vector<std::string> terms;
  for (const cost_term& t : choice->terms) {
    terms.emplace_back(t.what);
    EXPECT_GT(t.seconds, 0) << t.what;
  }
  EXPECT_THAT(terms, testing::ElementsAre("upload", "passes", "texture lookups", "readback"));
}

TEST_F(OpenglMovement, KeepsToALimitOfScratch) {
  context limited = context::opengl();
  limited.limit_scratch(100);
  std::vector<std::uint32_t> table{7, 8, 9};
  const std::vector<std::uint32_t> index(1000, 1);
  std::vector<std::uint32_t> out(1000);
  EXPECT_THAT(message_of(error_code::out_of_memory,
                         [&] { gather(limited, std::span(table), std::span(index), std::span(out)); }),
              testing::HasSubstr("the context's limit is 100"));
}

TEST_F(OpenglMovement, HasTheSameBitsInAHundredRuns) {
  const reduce_trial trial({"zipf", 900, 40, value_type::f32, reduction::add, index_type::u32, false});
  std::vector<std::byte> first;
  EXPECT_TRUE(run_variant(ctx(), trial, {}, first));
  ctx().wait();
  for (int run = 0; run < 100; ++run) {
    std::vector<std::byte> again;
    EXPECT_TRUE(run_variant(ctx(), trial, {}, again));
    ctx().wait();
    ASSERT_EQ(again, first) << run;
  }
}

// Lists of many tiles and draws stay on the device, for any number of runs with other records.
TEST_F(OpenglMovement, PreparedListsStayOnTheDevice) {
  cut_small();
  for (const std::uint64_t width : widths) {
    for (const std::uint64_t count : {1, 69, 70, 71, 104, 999}) {
      for (const duplicates repeats : {duplicates::any, duplicates::last}) {
        SCOPED_TRACE(fmt::format("r{} n={}", width, count));
        const char* const pattern = repeats == duplicates::last ? "zipf" : "permutation";
        const image index = index_list(inputs::parse_pattern(pattern), 1301, count, index_type::i64);
        const prepare_options options{.duplicates = repeats, .variant = "opengl.resident"};
        std::optional<prepared_gather> to_gather;
        std::optional<prepared_scatter> to_scatter;
        {
          image ended = index;  // the list is not needed afterwards
          const index_span list = index_view(ended, index_type::i64);
          to_gather.emplace(prepare_gather(ctx(), list, 1301, width, 3, options));
          to_scatter.emplace(prepare_scatter(ctx(), list, 1301, width, 3, options));
          std::fill(ended.bytes.begin(), ended.bytes.end(), std::byte{0xff});
        }
        EXPECT_EQ(to_gather->report().kept_bytes, 4 * count);
        EXPECT_EQ(to_scatter->report().kept_bytes, 4 * count);
        const index_span list = index_view(index, index_type::i64);
        for (const std::uint64_t seed : {1, 2, 3}) {
          const image table = filled(1301, width, 2 * width, 0, seed);
          const image in = filled(count, width, width, 0, seed);
          image gathered = poisoned(count, width, 2 * width);
          image scattered = poisoned(1301, width, width);
          image expected_gather = gathered;
          image expected_scatter = scattered;
          const context serial = context::cpu(1);
          gather(serial, table.view(), list, expected_gather.view(), {.variant = "reference.serial"});
          scatter(serial, in.view(), list, expected_scatter.view(),
                  {.duplicates = repeats, .variant = "reference.serial"});
          to_gather->run(table.view(), gathered.view());
          to_scatter->run(in.view(), scattered.view());
          ctx().wait();
          expect_bytes(gathered.bytes, expected_gather, "gathered");
          expect_bytes(scattered.bytes, expected_scatter, "scattered");
        }
      }
    }
  }
}

TEST_F(OpenglMovement, PreparedListsNameTheFirstBadIndexOrLeaveItOut) {
  const std::vector<std::uint64_t> index{0, 7, 1, ~std::uint64_t{0}};
  const std::vector<std::uint32_t> table{7, 8, 9};
  const std::vector<std::uint32_t> in{1, 2, 3, 4};
  prepare_options options{.variant = "opengl.resident"};
  expect_error(error_code::bad_index, "gather: index[1] is 7, past the table's 3 records",
               [&] { prepare_gather(ctx(), std::span(index), 3, 4, 10, options); });
  expect_error(error_code::bad_index, "scatter: index[1] is 7, past the output's 3 records",
               [&] { prepare_scatter(ctx(), std::span(index), 3, 4, 10, options); });
  EXPECT_NO_THROW(ctx().wait());
  options.bounds = bounds::trust;
  std::vector<std::uint32_t> out(4, 1);
  prepare_gather(ctx(), std::span(index), 3, 4, 10, options).run(std::span(table), std::span(out));
  EXPECT_EQ(out, (std::vector<std::uint32_t>{7, 0, 8, 0}));
  std::vector<std::uint32_t> to{5, 5, 5};
  prepare_scatter(ctx(), std::span(index), 3, 4, 10, options).run(std::span(in), std::span(to));
  EXPECT_EQ(to, (std::vector<std::uint32_t>{1, 3, 5}));
  EXPECT_NO_THROW(ctx().wait());
}

TEST_F(OpenglMovement, PreparedRunsDoWithoutTheUploadOfTheList) {
  const std::vector<std::uint32_t> index(1 << 16);
  for (const bool gathers : {true, false}) {
    const preparation report = gathers ? prepare_gather(ctx(), std::span(index), 1000, 8, 1).report()
                                       : prepare_scatter(ctx(), std::span(index), 1000, 8, 1).report();
    EXPECT_GT(report.run_seconds, 0);
    const prepare_options resident{.variant = "opengl.resident"};
    const preparation kept = gathers ? prepare_gather(ctx(), std::span(index), 1000, 8, 1000, resident).report()
                                     : prepare_scatter(ctx(), std::span(index), 1000, 8, 1000, resident).report();
    EXPECT_EQ(kept.variant, "opengl.resident");
    EXPECT_LT(kept.run_seconds, kept.unprepared_seconds);
    EXPECT_GT(kept.preparation_seconds, 0);
  }
}

// The driver's linker takes longer than many a gather.
TEST_F(OpenglMovement, PreparationsLinkTheProgramsOfRuns) {
  const std::vector<std::uint32_t> index{2, 0, 1};
  const std::vector<std::uint32_t> table{7, 8, 9};
  std::vector<std::uint32_t> out(3);
  const prepare_options options{.variant = "opengl.resident"};
  for (const bool gathers : {true, false}) {
    const context fresh = context::opengl();
    const opengl::opengl_state& made = opengl::state_of(fresh);
    if (gathers) {
      const prepared_gather prepared = prepare_gather(fresh, std::span(index), 3, 4, 1, options);
      EXPECT_EQ(made.linked_programs(), 1U);
      prepared.run(std::span(table), std::span(out));
    } else {
      const prepared_scatter prepared = prepare_scatter(fresh, std::span(index), 3, 4, 1, options);
      EXPECT_EQ(made.linked_programs(), 1U);
      prepared.run(std::span(table), std::span(out));
    }
    EXPECT_EQ(made.linked_programs(), 1U);
  }
}

TEST_F(OpenglMovement, PreparedListsOutliveTheirContextAndChangeThreads) {
  const std::vector<std::uint32_t> index{2, 0, 1};
  const std::vector<std::uint32_t> table{7, 8, 9};
  std::vector<std::uint32_t> out(3);
  const prepare_options options{.variant = "opengl.resident"};
  std::optional<prepared_gather> to_gather;
  std::optional<prepared_scatter> to_scatter;
  {
    const context ends_first = context::opengl();
    to_gather.emplace(prepare_gather(ends_first, std::span(index), 3, 4, 10, options));
    to_scatter.emplace(prepare_scatter(ends_first, std::span(index), 3, 4, 10, options));
  }
  std::thread([&] { to_gather->run(std::span(table), std::span(out)); }).join();
  EXPECT_EQ(out, (std::vector<std::uint32_t>{9, 7, 8}));
  to_scatter->run(std::span(table), std::span(out));
  EXPECT_EQ(out, (std::vector<std::uint32_t>{8, 9, 7}));
  std::thread([&] {
    to_gather.reset();
    to_scatter.reset();
  }).join();
}

TEST_F(OpenglMovement, PreparesMovementsThatItCanRun) {
  const std::vector<std::uint32_t> index{2, 0, 1};
  const std::vector<std::uint32_t> table{7, 8, 9};
  std::vector<std::uint32_t> out(3);
  prepared_gather prepared = prepare_gather(ctx(), std::span(index), 3, 4, 10);
  prepared.run(std::span(table), std::span(out));
  ctx().wait();
  EXPECT_EQ(out, (std::vector<std::uint32_t>{9, 7, 8}));
  EXPECT_THAT(message_of(error_code::no_variant, [&] { prepare_gather(ctx(), std::span(index), 3, 5, 10); }),
              testing::HasSubstr("no variant moves such records here"));
}

}  // namespace
}  // namespace sheaf::tests::opengl_movement_test
