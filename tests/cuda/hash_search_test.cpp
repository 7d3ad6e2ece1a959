// Hash search on CUDA: an index can be searched on another stream as soon as its build returns, and calls that wait for
// nothing do their work in captured graphs, with the probes that are there when a graph runs.
#include <sheaf/hash_search.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cuda/hash/slot_index.hpp"
#include "plan/choose.hpp"
#include "primitives/hash/search.hpp"
#include "support/captured_graph.hpp"
#include "support/expect_error.hpp"
#include "support/trials/hash.hpp"

namespace sheaf::cuda {
extern const primitives::hash_build_variant hash_build_sorted;
extern const primitives::hash_search_variant hash_search_direct, hash_search_partitioned, hash_search_multipass;
}  // namespace sheaf::cuda

namespace sheaf::tests::cuda_hash_search_test {
namespace {

class HashSearchOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  std::optional<context> ctx;
};

std::vector<std::uint64_t> numbers_of_matches(const hash_trial& t) {
  return t.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end - begin; });
}

TEST_F(HashSearchOnCuda, AnIndexIsSearchedOnAnotherStreamAtOnce) {
  const context other = *cuda_context();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const hash_trial t({.count = 300'000, .probes = 1000, .kind = key_kind::halves, .hits = 10, .seed = seed + 1});
    const placed keys(*ctx, t.keys);
    const placed probes(other, t.probes);
    expect_written(other, numbers_of_matches(t), t.c.probes, 4, "counts", [&](records counts) {
      const hash_index index = build_hash_index(*ctx, keys.view());
      hash_count(other, index, probes.view(), {counts.data, counts.count, index_type::u32});
      other.wait();
    });
  }
}

TEST_F(HashSearchOnCuda, GraphsSearchForTheProbesOfWhenTheyRun) {
  const hash_trial first({.count = 50'000, .probes = 20'000, .hits = 50});
  hash_case changed = first.c;
  changed.hits = 90;
  const hash_trial second(changed);
  const placed keys(*ctx, first.keys);
  const hash_index index = build_hash_index(*ctx, keys.view());
  for (const std::string variant : {"", "cuda.direct", "cuda.partitioned"}) {
    SCOPED_TRACE(variant);
    const placed probes(*ctx, first.probes);
    std::optional<captured_graph> graph;
    const image before = poisoned(first.c.probes, 4, 4);
    const placed counts(*ctx, before);
    graph.emplace(*ctx, [&] {
      const records to = counts.view();
      hash_count(*ctx, index, probes.view(), {to.data, to.count, index_type::u32}, {.variant = variant});
    });
    for (const hash_trial* t : {&first, &second, &first}) {
      copy_bytes(*ctx, probes.view().data - t->probes.first, t->probes.bytes.data(), t->probes.bytes.size());
      graph->launch();
      ctx->wait();
      expect_bytes(counts.download(), hash_trial::written(numbers_of_matches(*t), t->c.probes, 4), "counts");
    }
  }
}

TEST_F(HashSearchOnCuda, CallsThatWaitAreNotCaptured) {
  const hash_trial t({.count = 1000, .probes = 100});
  const placed keys(*ctx, t.keys);
  const placed probes(*ctx, t.probes);
  const hash_index index = build_hash_index(*ctx, keys.view());
  EXPECT_NE(message_of(error_code::bad_argument,
                       [&] { const captured_graph graph(*ctx, [&] { hash_search(*ctx, index, probes.view()); }); })
                .find("captured"),
            std::string::npos);
  EXPECT_NE(message_of(error_code::bad_argument,
                       [&] { const captured_graph graph(*ctx, [&] { build_hash_index(*ctx, keys.view()); }); })
                .find("captured"),
            std::string::npos);
  EXPECT_TRUE(expect_answers(*ctx, index, t, ""));
}

/// What a search by an index with rows of 8 bytes answers, written as numbers of `id`.
class wide_rows_trial {
 public:
  wide_rows_trial(const context& ctx, const hash_trial& t) : ctx_(ctx), t_(t), probes_(ctx, t.probes) {
    primitives::hash_build_problem build;
    build.backend = backend_kind::cuda;
    build.count = t.c.count;
    build.key_bytes = t.c.key_bytes;
    build.key_stride_bytes = t.c.stride_bytes;
    build.load = t.c.load;
    build.id = index_type::u64;
    const plan::planned plan = cuda::hash_build_sorted.plan(build, plan::scope_of(ctx));
    const buffer scratch(ctx, plan.scratch_bytes);
    const placed keys(ctx, t.keys);
    cuda::hash_build_sorted.run(ctx, build, plan, {keys.view(), &made_}, scratch.data());
    facts_ = made_->facts;
    facts_.backend = backend_kind::cuda;
    facts_.device = ctx.device();
    facts_.built_by = "cuda.sorted";
    facts_.records = t.c.count;
    facts_.key_bytes = t.c.key_bytes;
    facts_.load = t.c.load;
    EXPECT_EQ(facts_.distinct, t.records.size());
    EXPECT_EQ(facts_.longest_chain, t.longest_chain());
    EXPECT_EQ(static_cast<const cuda::slot_index&>(*made_).form, cuda::slot_form::wide_rows);
  }

  void expect_answers(const primitives::hash_search_variant& search, index_type id) {
    SCOPED_TRACE(fmt::format("{}, record numbers of {} bytes", search.name, bytes(id)));
    primitives::hash_search_problem p;
    p.probes = t_.c.probes;
    p.probe_stride_bytes = t_.c.stride_bytes;
    p.index = facts_;
    p.index.id = id;
    if (id == index_type::u32) {
      // As many records as have rows of 8 bytes with numbers of 4.
      constexpr std::uint64_t many = (std::uint64_t{1} << 31) + 1;
      p.index.records += many;
      p.index.distinct += many;
    }
    const auto found = [&](primitives::hash_output output, std::uint64_t width,
                           const std::vector<std::uint64_t>& expected, std::string_view what,
                           const std::function<primitives::hash_match_room(std::uint64_t)>* make_room = nullptr) {
      p.output = output;
      p.out_bytes = width;
      const plan::planned plan = search.plan(p, plan::scope_of(ctx_));
      ASSERT_TRUE(plan.applicable()) << plan.rejection;
      const buffer scratch(ctx_, plan.scratch_bytes);
      expect_written(ctx_, expected, expected.size(), width, what, [&](records out) {
        search.run(ctx_, p, plan, {made_.get(), probes_.view(), out.data, make_room}, scratch.data());
      });
    };
    const std::uint64_t width = bytes(id);
    expect_written(ctx_, t_.ids, t_.total(), width, "ids", [&](records ids) {
      const std::function<primitives::hash_match_room(std::uint64_t)> make_room = [&](std::uint64_t total) {
        EXPECT_EQ(total, t_.total());
        return primitives::hash_match_room{ids.data, t_.total()};
      };
      found(primitives::hash_output::matches, 8, t_.offsets, "offsets", &make_room);
    });
    found(primitives::hash_output::first, width, t_.for_each_probe([&](std::uint64_t begin, std::uint64_t end) {
      return end > begin ? t_.ids[begin] : ~std::uint64_t{0} >> (64 - 8 * width);
    }),
          "first ids");
    for (const std::uint64_t of_counts : {4, 8}) {
      found(primitives::hash_output::counts, of_counts, numbers_of_matches(t_), "counts");
    }
    found(primitives::hash_output::contains, 1,
          t_.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end > begin ? 1U : 0U; }), "found");
  }

 private:
  const context& ctx_;
  const hash_trial& t_;
  placed probes_;
  std::unique_ptr<primitives::hash_table> made_;
  primitives::hash_facts facts_;
};

// Rows of 8 bytes are those of more than 2^30 records; here few records have them, by the variants themselves.
TEST_F(HashSearchOnCuda, IndicesWithRowsOfEightBytesAnswerLikeOthers) {
  for (const std::uint64_t key_bytes : {4, 8}) {
    for (const key_kind kind : {key_kind::at_random, key_kind::few, key_kind::halves, key_kind::extreme}) {
      for (const std::uint64_t count : {1, 20'000}) {
        const hash_trial t({.count = count,
                            .probes = kind == key_kind::at_random ? 30'000U : 100U,
                            .key_bytes = key_bytes,
                            .kind = kind,
                            .hits = 60,
                            .stride_bytes = 9,
                            .misalignment = 3});
        SCOPED_TRACE(t.c.description());
        wide_rows_trial trial(*ctx, t);
        for (const primitives::hash_search_variant* search :
             {&cuda::hash_search_direct, &cuda::hash_search_partitioned, &cuda::hash_search_multipass}) {
          for (const index_type id : {index_type::u64, index_type::u32}) trial.expect_answers(*search, id);
          if (HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_hash_search_test
