// What cuda.cub does for CUB: scratch that is planned without a device, splits that are captured, and launches that
// errors from before do not fail.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/memory.hpp>
#include <sheaf/sort.hpp>
#include <sheaf/split.hpp>

#include "cuda/split/cub/radix_sort.hpp"
#include "lab/inputs/pattern_function.hpp"
#include "support/captured_graph.hpp"
#include "support/contexts.hpp"

namespace sheaf::tests::cuda_cub_test {
namespace {

using cuda::cub_sort_shape;

class CudaCub : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_context()) GTEST_SKIP() << "no CUDA device here";
  }
};

std::vector<std::uint64_t> counts_of(std::uint32_t value_bytes) {
  std::vector<std::uint64_t> counts{1,
                                    2304,
                                    2305,
                                    4864,
                                    4865,
                                    7296,
                                    7297,
                                    8832,
                                    8833,
                                    100'003,
                                    1ULL << 20,
                                    (1ULL << 28) - 1,
                                    (1ULL << 28) + 5,
                                    1ULL << 30,
                                    (1ULL << 32) - 1};
  if (value_bytes == 0) counts.push_back((1ULL << 33) + 7);
  return counts;
}

TEST_F(CudaCub, AsksForNoMoreScratchThanIsPlanned) {
  for (const std::uint32_t key_bytes : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t value_bytes : {0U, 4U, 8U, 16U}) {
      for (const bool encodes_keys : {false, true}) {
        if (value_bytes == 16 && (key_bytes != 8 || encodes_keys)) continue;
        if (key_bytes < 4 && !encodes_keys) continue;
        for (const std::uint32_t bits : {1U, 8U, 9U, 16U, 17U, 8 * key_bytes}) {
          if (bits > 8 * key_bytes) continue;
          for (const std::uint64_t count : counts_of(value_bytes)) {
            const cub_sort_shape s{count, key_bytes, value_bytes, 8 * key_bytes - bits, 8 * key_bytes, encodes_keys};
            ASSERT_EQ(cuda::cub_rejection(s), nullptr);
            const std::uint64_t wanted = cuda::cub_wanted_scratch_bytes(s);
            const std::uint64_t planned = cuda::cub_scratch_bytes(s);
            EXPECT_GE(planned, wanted) << fmt::format("{} keys of {} bytes, values of {}, {} bits", count, key_bytes,
                                                      value_bytes, bits);
            if (count <= 8833 || key_bytes < 4) continue;  // of these, more is planned than this device may want
            const std::uint64_t list = count * (key_bytes + value_bytes);
            EXPECT_LE(planned, wanted + list / 20 + (1 << 20));
          }
        }
      }
    }
  }
}

TEST_F(CudaCub, SplitsWhatACapturedArrayHolds) {
  constexpr std::uint64_t count = 300'007;
  constexpr std::uint32_t bits = 11;
  const context ctx = context::cuda();
  const buffer memory(ctx, 2 * count * sizeof(std::uint32_t) + ((1 << bits) + 1) * sizeof(std::uint64_t));
  const std::span<std::uint64_t> offsets(memory.as<std::uint64_t>(), (1 << bits) + 1);
  const std::span<std::uint32_t> in(reinterpret_cast<std::uint32_t*>(offsets.data() + offsets.size()), count);
  const std::span<std::uint32_t> out(in.data() + count, count);
  const bit_field field{3, bits};
  const captured_graph graph(ctx, [&] { split(ctx, in, split_key::of_record(field), out, offsets, {"cuda.cub"}); });
  for (const std::uint64_t seed : {1, 2}) {
    std::vector<std::uint32_t> given(count), got(count);
    for (std::uint64_t i = 0; i < count; ++i) given[i] = static_cast<std::uint32_t>(inputs::mix(i + seed * count));
    copy_bytes(ctx, in.data(), given.data(), in.size_bytes());
    graph.launch();
    ctx.wait();
    copy_bytes(ctx, got.data(), out.data(), out.size_bytes());
    const auto category = [](std::uint32_t record) { return record >> 3 & ((1U << bits) - 1); };
    std::stable_sort(given.begin(), given.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return category(a) < category(b); });
    EXPECT_TRUE(got == given);
    std::vector<std::uint64_t> begins(offsets.size());
    copy_bytes(ctx, begins.data(), offsets.data(), offsets.size_bytes());
    for (std::uint32_t c = 0; c < begins.size(); ++c) {
      const auto first =
          std::partition_point(given.begin(), given.end(), [&](std::uint32_t record) { return category(record) < c; });
      ASSERT_EQ(begins[c], static_cast<std::uint64_t>(first - given.begin())) << c;
    }
  }
}

TEST_F(CudaCub, IsNotFailedByAnErrorFromBefore) {
  constexpr std::uint64_t count = 1000;
  const context ctx = context::cuda();
  const buffer memory(ctx, 2 * count * sizeof(float));
  const std::span<float> in(memory.as<float>(), count), out(in.data() + count, count);
  std::vector<float> given(count), got(count);
  std::iota(given.begin(), given.end(), -500.0F);
  copy_bytes(ctx, in.data(), given.data(), in.size_bytes());
  EXPECT_NE(cudaSetDevice(-1), cudaSuccess);
  EXPECT_NO_THROW(sort_keys(ctx, in, out, {.descending = true, .variant = "cuda.cub"}));
  ctx.wait();
  copy_bytes(ctx, got.data(), out.data(), out.size_bytes());
  EXPECT_TRUE(std::equal(got.begin(), got.end(), given.rbegin()));
}

}  // namespace
}  // namespace sheaf::tests::cuda_cub_test
