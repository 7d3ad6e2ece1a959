// Hash search on CUDA: an index can be searched on another stream as soon as its build returns, and calls that wait for
// nothing do their work in captured graphs, with the probes that are there when a graph runs.
#include <sheaf/hash_search.hpp>

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/captured_graph.hpp"
#include "support/expect_error.hpp"
#include "support/hash_trial.hpp"

namespace sheaf::tests {
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

}  // namespace
}  // namespace sheaf::tests
