// Every variant of sums over edges is as near to the exact sums as rounding leaves it, and on the CPU it has the bits
// of the reference for every number of threads.
#include <sheaf/edge_sum.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/trials/edge.hpp"

namespace sheaf::tests::primitives_edges_edge_sum_test {
namespace {

std::vector<std::string> variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::edge_sum_variants()) names.emplace_back(v.name);
  return names;
}

/// Sums without some edges.
template <class IsLeftOut>
expected_sums sums_without(const edge_graph& g, edge_images images, IsLeftOut is_left_out) {
  edge_graph rest = g;
  for (std::uint64_t e = 0; e < g.edges.size(); ++e) {
    if (!is_left_out(e)) continue;
    rest.edges[e] = {0, 0};
    if (images.layout.has_weights) set_float(images.weights, e, images.layout.value, 0);
  }
  return expected_of(rest, images);
}

class EveryEdgeSumVariant : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run_here(GetParam())) GTEST_SKIP() << "no device of this backend here";
  }

  bool is_opengl() const { return GetParam().starts_with("opengl."); }
  /// The type of values where a test is of any: frame buffers have 32 bits a channel.
  value_type any_type() const { return is_opengl() ? value_type::f32 : value_type::f64; }

  /// Contexts that this variant works on.
  std::vector<named_context> contexts() const {
    if (is_opengl()) return contexts_to_try(GetParam());
    std::vector<named_context> all = edge_contexts();
    std::erase_if(all, [](const named_context& where) {
      for (const auto& v : primitives::edge_sum_variants()) {
        if (v.name == GetParam()) return !v.works_on(where.ctx.backend());
      }
      return false;
    });
    return all;
  }

  /// Whether the variant has to take a graph.
  bool takes(const edge_graph& g) const {
    if (GetParam() == "cuda.bucketed") return g.nodes > 0 && !g.edges.empty() && 2 * g.edges.size() / g.nodes <= 64;
    return GetParam() != "cpu.binned" || !g.edges.empty();
  }

  edge_sum_options options() const {
    const bool is_unordered = GetParam() == "cuda.atomic";
    return {.order = is_unordered ? reduction_order::unordered : reduction_order::deterministic, .variant = GetParam()};
  }

  void expect_sums(const edge_graph& g, const edge_layout& layout) {
    if (!takes(g) || (is_opengl() && layout.value == value_type::f64)) return;
    SCOPED_TRACE(fmt::format("{}, {}", g.name, layout.description()));
    const edge_images images(g, layout);
    const expected_sums expected = expected_of(g, images);
    std::optional<image> of_reference;
    for (const named_context& where : contexts()) {
      SCOPED_TRACE(where.name);
      const placed_edges e(where.ctx, images);
      const image found = sum_of(where.ctx, e, images, options());
      expect_near(found, expected, layout.value);
      e.expect_unchanged();
      if (where.ctx.backend() != backend_kind::cpu) continue;
      if (!of_reference) of_reference = sum_of(where.ctx, e, images, {.variant = "reference.serial"});
      expect_bytes(found.bytes, *of_reference, "the result");
    }
  }
};

TEST_P(EveryEdgeSumVariant, SumsOverGraphsOfEveryShapeAndType) {
  std::uint32_t turn = 0;
  for (const edge_graph& g : every_graph()) {
    for (const index_type index : {index_type::u32, index_type::u64, index_type::i32, index_type::i64}) {
      for (const bool in_pairs : {false, true}) {
        ++turn;
        expect_sums(g, {turn % 3 == 0 ? value_type::f64 : value_type::f32, index, in_pairs, turn % 5 != 0, 3,
                        turn % 2 == 0 ? edge_function::inverse_square : edge_function::weighted_difference});
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(EveryEdgeSumVariant, HasOneToEightComponents) {
  for (const edge_graph& g : {box_graph(11, true), drawn_graph(500, 6000)}) {
    for (std::uint32_t components = 1; components <= 8; ++components) {
      for (const value_type value : {value_type::f32, value_type::f64}) {
        for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
          expect_sums(g, {value, index_type::u32, false, components % 2 == 0, components, function});
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(EveryEdgeSumVariant, LeavesNothingOverInTheSumOfAllNodes) {
  const edge_graph g = box_graph(14, true);
  for (const value_type type : {value_type::f32, value_type::f64}) {
    if (is_opengl() && type == value_type::f64) continue;
    const edge_images images(g, {.value = type, .function = edge_function::inverse_square});
    const expected_sums expected = expected_of(g, images);
    for (const named_context& where : contexts()) {
      SCOPED_TRACE(fmt::format("{}, {}", where.name, images.layout.description()));
      const placed_edges e(where.ctx, images);
      expect_nothing_left_over(sum_of(where.ctx, e, images, options()), expected, 3, type);
    }
  }
}

// The result of weighted_difference is minus the Laplacian times u: of whole numbers it is exact.
TEST_P(EveryEdgeSumVariant, IsTheLaplacianOfAPath) {
  const value_type type = any_type();
  edge_images images(path_graph(700), {.value = type, .has_weights = false, .components = 1});
  for (std::uint64_t n = 0; n < 701; ++n) set_float(images.values, n, type, static_cast<double>(n * n));
  for (const named_context& where : contexts()) {
    const placed_edges e(where.ctx, images);
    const image found = sum_of(where.ctx, e, images, options());
    EXPECT_EQ(float_at(found, 0, type), 1);
    for (std::uint64_t n = 1; n < 700; ++n) ASSERT_EQ(float_at(found, n, type), 2) << n;
    EXPECT_EQ(float_at(found, 700, type), -(700.0 * 700 - 699 * 699));
  }
}

TEST_P(EveryEdgeSumVariant, ContributesNothingBetweenNodesAtOnePlace) {
  for (const value_type type : {value_type::f32, value_type::f64}) {
    if (is_opengl() && type == value_type::f64) continue;
    edge_images images(box_graph(9, false), {.value = type, .function = edge_function::inverse_square});
    for (std::uint64_t i = 0; i < images.values.count; ++i) set_float(images.values, i, type, 0.25);
    for (const named_context& where : contexts()) {
      const placed_edges e(where.ctx, images);
      const image found = sum_of(where.ctx, e, images, options());
      for (std::uint64_t i = 0; i < found.count; ++i) ASSERT_EQ(float_at(found, i, type), 0) << where.name;
    }
  }
}

TEST_P(EveryEdgeSumVariant, SpreadsNanAndInfinityToNeighboursAlone) {
  const value_type type = any_type();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const edge_function function : {edge_function::weighted_difference, edge_function::inverse_square}) {
    for (const double odd : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
      edge_images images(path_graph(600), {.value = type, .has_weights = false, .components = 2, .function = function});
      set_float(images.values, 2 * 300, type, odd);
      for (const named_context& where : contexts()) {
        const placed_edges e(where.ctx, images);
        const image found = sum_of(where.ctx, e, images, options());
        for (std::uint64_t n = 0; n < 601; ++n) {
          const bool is_finite = std::isfinite(float_at(found, 2 * n, type));
          ASSERT_EQ(is_finite, n < 299 || n > 301) << "node " << n << ", " << odd << ", " << where.name;
        }
      }
    }
  }
}

TEST_P(EveryEdgeSumVariant, HasTheSameBitsInEveryRunAndForEveryNumberOfThreads) {
  const edge_graph g = rmat_graph(10, 9000);
  const edge_images images(g, {.value = value_type::f32, .components = 5});
  image first;
  for (const int threads : {1, 2, 3, 7}) {
    const context ctx = context::cpu(threads);
    if (GetParam().starts_with("cuda.") || is_opengl()) GTEST_SKIP() << "threads are the CPU's";
    const placed_edges e(ctx, images);
    for (int run = 0; run < 100; ++run) {
      const image found = sum_of(ctx, e, images, options());
      if (first.bytes.empty()) first = found;
      expect_bytes(found.bytes, first, fmt::format("{} threads, run {}", threads, run));
      if (HasFailure()) return;
    }
  }
}

TEST_P(EveryEdgeSumVariant, NamesTheFirstEndThatIsNoNodeAndGoesOnWithoutItsEdge) {
  const value_type type = any_type();
  struct bad_end {
    index_type index;
    std::uint64_t edge;
    std::uint32_t end;
    std::uint64_t bits;
    const char* words;
  };
  const bad_end ends[] = {
      {index_type::u32, 123, 1, 999, "end 1 of edge 123 is 999, past the 100 nodes"},
      {index_type::i32, 0, 0, ~std::uint64_t{0}, "end 0 of edge 0 is -1, outside the 100 nodes"},
      {index_type::i64, 699, 0, ~std::uint64_t{0} - 4, "end 0 of edge 699 is -5, outside the 100 nodes"},
      {index_type::u64, 511, 1, std::uint64_t{1} << 40, "end 1 of edge 511 is 1099511627776, past the 100 nodes"},
      {index_type::u32, 256, 0, 100, "end 0 of edge 256 is 100, past the 100 nodes"}};
  edge_graph g = drawn_graph(100, 700);
  for (const bad_end& bad : ends) {
    for (const bool in_pairs : {false, true}) {
      SCOPED_TRACE(bad.words);
      const edge_layout layout{.value = type, .index = bad.index, .in_pairs = in_pairs};
      edge_images images(g, layout);
      images.set_end(bad.edge, bad.end, bad.bits);
      // Worse comes later, and at the same edge behind.
      if (bad.end == 0) images.set_end(bad.edge, 1, 3000);
      for (std::uint64_t e = bad.edge + 1; e < 700; e += 90) images.set_end(e, 0, 2000 + e);
      const expected_sums expected = sums_without(
          g, images, [&](std::uint64_t e) { return e == bad.edge || (e > bad.edge && (e - bad.edge - 1) % 90 == 0); });
      for (const named_context& where : contexts()) {
        SCOPED_TRACE(where.name);
        const placed_edges e(where.ctx, images);
        image found;
        expect_error(error_code::bad_index, std::string("edge_sum: ") + bad.words, [&] {
          found = poisoned(300, bytes(type), bytes(type));
          const placed there(where.ctx, found);
          edge_sum(where.ctx, e.edges(), e.values(), e.weights(), {there.view().data, 300, type}, 3,
                   edge_function::weighted_difference, options());
          found.bytes = there.download();
          where.ctx.wait();
        });
        where.ctx.wait();  // it goes on working
        expect_near(found, expected, type);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(EveryEdgeSumVariant, NamesAnEndWhereThereAreNoNodes) {
  const edge_graph g{"an edge of no nodes", 0, {{3, 4}}};
  if (GetParam() == "cpu.binned" || !takes(g)) return;
  for (const named_context& where : contexts()) {
    const edge_images images(g, {.value = any_type()});
    const placed_edges e(where.ctx, images);
    expect_error(error_code::bad_index, "edge_sum: end 0 of edge 0 is 3, past the 0 nodes",
                 [&] { sum_of(where.ctx, e, images, options()); });
  }
}

INSTANTIATE_TEST_SUITE_P(EdgeSum, EveryEdgeSumVariant, testing::ValuesIn(variant_names()), test_name_of);

}  // namespace
}  // namespace sheaf::tests::primitives_edges_edge_sum_test
