// cuda.adaptive on lists so long that most blocks read the order verdict, and with more than one pass whatever the plan
// says: in one pass, in several passes, and in a captured graph.
#include <gtest/gtest.h>

#include <sheaf/machine.hpp>
#include <sheaf/memory.hpp>

#include "lab/inputs/pattern.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/multipass.hpp"
#include "primitives/movement/scatter.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::cuda_adaptive_test {
namespace {

constexpr std::uint64_t count = (std::uint64_t{1} << 21) + 12345;
constexpr std::uint64_t seed = 7;

// The profile says that the cache is small, so a random list over a few megabytes counts as scattered.
std::optional<context> small_cache_context() {
  auto ctx = cuda_context();
  if (ctx) {
    machine small = ctx->profile();
    small.cache_bytes = 1 << 20;
    ctx->use(small);
  }
  return ctx;
}

template <class Variant>
const Variant& adaptive_of(std::span<const Variant> variants) {
  for (const Variant& v : variants) {
    if (v.name == "cuda.adaptive") return v;
  }
  throw std::logic_error("cuda.adaptive is not in the list");
}

primitives::movement movement_of(std::uint64_t width, index_type type) {
  primitives::movement m;
  m.backend = backend_kind::cuda;
  m.count = m.indexed_count = count;
  m.record_bytes = m.sequential_stride_bytes = m.indexed_stride_bytes = width;
  m.word_bytes = static_cast<std::uint32_t>(width);
  m.index = type;
  return m;
}

void run_gather(const context& ctx, std::uint64_t width, index_span index, const buffer& table, const buffer& out) {
  const auto& variant = adaptive_of(primitives::gather_variants());
  const primitives::gather_problem problem{movement_of(width, index.type)};
  plan::planned plan = variant.plan(problem, ctx.profile());
  ASSERT_TRUE(plan.applicable()) << plan.rejection;
  plan.decided.set(primitives::multipass_decision{.passes = 3});
  variant.run(ctx, problem, plan, {{table.data(), count, width}, index, {out.data(), count, width}}, nullptr);
}

void run_scatter(const context& ctx, std::uint64_t width, index_span index, const buffer& in, const buffer& out) {
  const auto& variant = adaptive_of(primitives::scatter_variants());
  const primitives::scatter_problem problem{movement_of(width, index.type), duplicates::any};
  plan::planned plan = variant.plan(problem, ctx.profile());
  ASSERT_TRUE(plan.applicable()) << plan.rejection;
  plan.decided.set(primitives::multipass_decision{.passes = 3});
  variant.run(ctx, problem, plan, {{in.data(), count, width}, index, {out.data(), count, width}}, nullptr);
}

TEST(CudaAdaptive, MovesListsOfEveryOrder) {
  const auto ctx = small_cache_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const buffer list(*ctx, count * 8);
  const buffer from(*ctx, count * 8);
  const buffer to(*ctx, count * 8);
  for (const char* text :
       {"permutation", "identity", "reverse", "partitioned:8", "partitioned:4096", "clustered:4096"}) {
    const inputs::pattern pattern = inputs::parse_pattern(text);
    for (const index_type type : {index_type::u32, index_type::i64}) {
      const index_span index(list.data(), count, type);
      inputs::fill_index(*ctx, pattern, count, index);
      for (const std::uint64_t width : {1, 2, 4, 8}) {
        SCOPED_TRACE(std::string(text) + " of " + std::to_string(width) + " bytes");
        inputs::fill_records(*ctx, {from.data(), count, width}, seed);
        run_scatter(*ctx, width, index, from, to);
        ctx->wait();
        EXPECT_EQ(inputs::count_scatter_mismatches(*ctx, {to.data(), count, width}, pattern, count, seed), 0U);
        if (width == 8) continue;
        run_gather(*ctx, width, index, from, to);
        ctx->wait();
        EXPECT_EQ(inputs::count_gather_mismatches(*ctx, {to.data(), count, width}, pattern, count, seed), 0U);
      }
    }
  }
}

TEST(CudaAdaptive, ReportsTheFirstBadIndexOnBothWays) {
  const auto ctx = small_cache_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const buffer list(*ctx, count * 4);
  const buffer from(*ctx, count * 4);
  const buffer to(*ctx, count * 4);
  inputs::fill_records(*ctx, {from.data(), count, 4}, seed);
  for (const char* text : {"permutation", "identity"}) {
    const index_span index(list.data(), count, index_type::u32);
    for (const std::uint64_t place : {std::uint64_t{5}, count / 2, count - 1}) {
      inputs::fill_index(*ctx, inputs::parse_pattern(text), count, index);
      const std::uint32_t bad = 0xfffffff0;
      copy_bytes(*ctx, list.data() + place * 4, &bad, sizeof bad);
      run_scatter(*ctx, 4, index, from, to);
      try {
        ctx->wait();
        ADD_FAILURE() << text << ": index[" << place << "] was not reported";
      } catch (const error& e) {
        EXPECT_EQ(e.code(), error_code::bad_index);
        EXPECT_NE(std::string(e.what()).find("index[" + std::to_string(place) + "]"), std::string::npos) << e.what();
      }
    }
  }
}

// The first run of a graph judges its list; what the list becomes later is moved right, if not in the best way.
TEST(CudaAdaptive, WorksInAGraphWhoseListChanges) {
  const auto ctx = small_cache_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device here";
  const buffer list(*ctx, count * 4);
  const buffer from(*ctx, count * 4);
  const buffer to(*ctx, count * 4);
  const index_span index(list.data(), count, index_type::u32);
  inputs::fill_records(*ctx, {from.data(), count, 4}, seed);
  ctx->wait();
  const captured_graph graph(*ctx, [&] { run_scatter(*ctx, 4, index, from, to); });
  for (const char* text : {"permutation", "identity", "partitioned:8", "permutation"}) {
    const inputs::pattern pattern = inputs::parse_pattern(text);
    inputs::fill_index(*ctx, pattern, count, index);
    ctx->wait();
    graph.launch();
    ctx->wait();
    EXPECT_EQ(inputs::count_scatter_mismatches(*ctx, {to.data(), count, 4}, pattern, count, seed), 0U) << text;
    // Between its runs the stream's own calls are judged apart.
    run_scatter(*ctx, 4, index, from, to);
    ctx->wait();
    EXPECT_EQ(inputs::count_scatter_mismatches(*ctx, {to.data(), count, 4}, pattern, count, seed), 0U) << text;
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_adaptive_test
