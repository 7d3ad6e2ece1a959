// Bucketed scatters of lists so long that most of them moves in buckets: which of several writers wins, whatever the
// order of the list and however few places it names, and where a bad index is reported.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sheaf/memory.hpp>
#include <sheaf/scatter.hpp>

#include "lab/inputs/pattern.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::cuda_bucketed_scatter_test {
namespace {

/// A list in device memory, with records of `width` bytes that hold their positions.
struct scatter_trial {
  scatter_trial(const context& c, const char* pattern, std::uint64_t n, std::uint64_t places, std::uint64_t w,
                index_type t)
      : ctx(c), count(n), outputs(places), width(w), type(t), list(c, n * bytes(t)), in(c, n * w), out(c, places * w) {
    inputs::fill_index(ctx, inputs::parse_pattern(pattern), places, index());
    std::vector<std::byte> filled(n * w);
    for (std::uint64_t i = 0; i < n; ++i) std::memcpy(filled.data() + i * w, &i, std::min<std::uint64_t>(w, 8));
    copy_bytes(ctx, in.data(), filled.data(), filled.size());
  }

  index_span index() const { return {list.data(), count, type}; }
  void wipe() const {
    const std::vector<std::byte> none(outputs * width, std::byte{0xee});
    copy_bytes(ctx, out.data(), none.data(), none.size());
  }
  void run(const scatter_options& options) const {
    scatter(ctx, {in.data(), count, width}, index(), {out.data(), outputs, width}, options);
  }

  /// What the last writers leave, by a loop in order.
  std::vector<std::byte> expected() const {
    std::vector<std::byte> indices(count * bytes(type));
    copy_bytes(ctx, indices.data(), list.data(), indices.size());
    std::vector<std::byte> all(outputs * width, std::byte{0xee});
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t place = 0;
      std::memcpy(&place, indices.data() + i * bytes(type), bytes(type));
      if (place >= outputs) continue;
      std::fill_n(all.data() + place * width, width, std::byte{0});
      std::memcpy(all.data() + place * width, &i, std::min<std::uint64_t>(width, 8));
    }
    return all;
  }
  std::vector<std::byte> found() const {
    std::vector<std::byte> all(outputs * width);
    copy_bytes(ctx, all.data(), out.data(), all.size());
    return all;
  }

  const context& ctx;
  std::uint64_t count, outputs, width;
  index_type type;
  buffer list, in, out;
};

class BucketedScatter : public testing::Test {
 protected:
  void SetUp() override {
    ctx = cuda_context();
    if (!ctx) GTEST_SKIP() << "no CUDA device here";
  }
  std::optional<context> ctx;
};

constexpr std::uint64_t count = (std::uint64_t{1} << 20) + 4321;

// Fewer places than a bucket has at least: what no index names keeps its value.
TEST_F(BucketedScatter, PlacesThatNoIndexNamesKeepTheirValues) {
  for (const std::uint64_t width : {1, 2, 4, 8, 16}) {
    for (const std::uint64_t places : {1, 2, 3, 5}) {
      for (const duplicates repeats : {duplicates::any, duplicates::last}) {
        if (repeats == duplicates::last && width != 4 && width != 8) continue;
        scatter_trial t(*ctx, "same", 70000, places, width, index_type::u32);
        t.wipe();
        t.run({.pattern = access_pattern::random(),
               .duplicates = repeats,
               .variant = repeats == duplicates::last ? "cuda.bucketed_last" : "cuda.bucketed"});
        ctx->wait();
        const std::vector<std::byte> expected = t.expected();
        const std::vector<std::byte> found = t.found();
        for (std::uint64_t i = 0; i < found.size(); ++i) {
          if (expected[i] != std::byte{0xee}) continue;
          EXPECT_EQ(found[i], expected[i]) << width << " bytes to " << places << " places, at byte " << i;
        }
      }
    }
  }
}

TEST_F(BucketedScatter, TheLastWriterWins) {
  for (const char* pattern : {"permutation", "identity", "uniform", "zipf", "same", "strided:16", "clustered:4096"}) {
    for (const std::uint64_t width : {4, 8}) {
      for (const index_type type : {index_type::u32, index_type::i64}) {
        const bool repeats = std::string(pattern) == "uniform" || std::string(pattern) == "zipf";
        for (const std::uint64_t outputs : {count, repeats ? count / 100 : count}) {
          const scatter_trial t(*ctx, pattern, count, outputs, width, type);
          const std::vector<std::byte> expected = t.expected();
          for (const access_pattern hint : {access_pattern::unknown(), access_pattern::random()}) {
            t.wipe();
            t.run({.pattern = hint, .duplicates = duplicates::last, .variant = "cuda.bucketed_last"});
            ctx->wait();
            EXPECT_TRUE(t.found() == expected) << pattern << ", " << width << " bytes to " << outputs << " places";
          }
        }
      }
    }
  }
}

TEST_F(BucketedScatter, TheLastWriterWinsInAGraphWhoseListChanges) {
  const scatter_trial t(*ctx, "uniform", count, count, 4, index_type::u32);
  ctx->wait();
  const captured_graph graph(*ctx, [&] { t.run({.duplicates = duplicates::last, .variant = "cuda.bucketed_last"}); });
  for (const char* pattern : {"uniform", "identity", "zipf", "reverse", "uniform"}) {
    inputs::fill_index(*ctx, inputs::parse_pattern(pattern), count, t.index());
    t.wipe();
    graph.launch();
    ctx->wait();
    EXPECT_TRUE(t.found() == t.expected()) << pattern;
  }
}

// A bad index is reported by its position in the caller's list, on either side of what moves before the order is known.
TEST_F(BucketedScatter, ABadIndexIsReportedWhereItStands) {
  constexpr std::uint64_t long_count = std::uint64_t{1} << 23;
  const scatter_trial t(*ctx, "permutation", long_count, long_count, 4, index_type::u32);
  for (const duplicates which : {duplicates::any, duplicates::last}) {
    for (const std::uint64_t place : {std::uint64_t{5}, long_count / 2, long_count - 1}) {
      const std::uint32_t bad = 0xfffffff0;
      std::uint32_t good = 0;
      copy_bytes(*ctx, &good, t.list.data() + place * 4, sizeof good);
      copy_bytes(*ctx, t.list.data() + place * 4, &bad, sizeof bad);
      const char* const variant = which == duplicates::any ? "cuda.bucketed" : "cuda.bucketed_last";
      t.run({.duplicates = which, .variant = variant});
      try {
        ctx->wait();
        ADD_FAILURE() << variant << ": index[" << place << "] was not reported";
      } catch (const error& e) {
        EXPECT_EQ(e.code(), error_code::bad_index);
        EXPECT_NE(std::string(e.what()).find("index[" + std::to_string(place) + "]"), std::string::npos) << e.what();
      }
      copy_bytes(*ctx, t.list.data() + place * 4, &good, sizeof good);
    }
  }
}

}  // namespace
}  // namespace sheaf::tests::cuda_bucketed_scatter_test
