#include "core/forks.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/context.hpp>
#include <sheaf/error.hpp>
#include <sheaf/gather.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/prepared.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/sort.hpp>

#include "support/contexts.hpp"
#include "support/in_a_child.hpp"

namespace sheaf::tests::core_forks_test {
namespace {

/// A gather that is worth several threads.
class Forks : public testing::Test {
 protected:
  static constexpr std::uint32_t count = 1 << 18;

  Forks() : table(count), index(count), out(count) {
    std::iota(table.begin(), table.end(), 7U);
    for (std::uint32_t i = 0; i < count; ++i) index[i] = count - 1 - i;
  }
  std::string gathered(const context& ctx) {
    gather(ctx, table, index, out);
    ctx.wait();
    for (std::uint32_t i = 0; i < count; ++i) {
      if (out[i] != table[index[i]]) return fmt::format("record {} is wrong", i);
    }
    return "right";
  }

  std::vector<std::uint32_t> table;
  std::vector<std::uint32_t> index;
  std::vector<std::uint32_t> out;
};

TEST_F(Forks, AreCounted) {
  const std::uint32_t before = core::forks_so_far();
  EXPECT_EQ(in_a_child([] { return std::to_string(core::forks_so_far()); }), std::to_string(before + 1));
  EXPECT_EQ(in_a_child([] { return in_a_child([] { return std::to_string(core::forks_so_far()); }); }),
            std::to_string(before + 2));
  EXPECT_EQ(core::forks_so_far(), before);
}

TEST_F(Forks, AChildIsToldThatTheThreadsAreItsParents) {
  const context ctx = context::cpu(4);
  ASSERT_EQ(gathered(ctx), "right");
  const prepared_gather prepared = prepare_gather(ctx, index, count, 4, 1);
  const auto expect_refusal = [&](const std::string& call, const std::function<void()>& work) {
    EXPECT_EQ(
        in_a_child([&]() -> std::string { return work(), "nothing was thrown"; }),
        "backend_unavailable: " + call +
            ": this process was forked after the context was made, and its OpenMP threads stayed with the parent");
  };
  expect_refusal("gather", [&] { gathered(ctx); });
  expect_refusal("gather", [&] { gather(ctx, table, std::span(index).first(1), std::span(out).first(1)); });
  expect_refusal("prepared_gather", [&] { prepared.run(table, out); });
  expect_refusal("sort_records", [&] { sort_keys(ctx, table, out); });
  expect_refusal("buffer", [&] { buffer(ctx, 8); });
  expect_refusal("context::wait", [&] { ctx.wait(); });
  EXPECT_EQ(in_a_child([]() -> std::string { return context::cpu(2), "nothing was thrown"; }),
            "backend_unavailable: context::cpu: this process was forked from one that had made a context of several "
            "threads, and OpenMP's threads stayed there; use 1 thread, or make such contexts only after the fork");
  EXPECT_EQ(gathered(ctx), "right") << "the parent goes on";
}

TEST_F(Forks, OneThreadGoesOnInAChild) {
  const context parents = context::cpu(1);
  const context threads = context::cpu(4);
  ASSERT_EQ(gathered(parents), "right");
  ASSERT_EQ(gathered(threads), "right");
  EXPECT_EQ(in_a_child([&] { return gathered(parents); }), "right");
  EXPECT_EQ(in_a_child([&] { return gathered(context::cpu(1)); }), "right");
  EXPECT_EQ(in_a_child([&]() -> std::string {
              const context ctx = context::cpu(1);
              sort_keys(ctx, table, out);
              std::vector<std::uint32_t> sums(16);
              std::vector<std::uint32_t> into(count);
              for (std::uint32_t i = 0; i < count; ++i) into[i] = i % 16;
              const std::vector<std::uint32_t> ones(count, 1);
              for (const char* variant : {"", "cpu.private"}) {
                scatter_reduce(ctx, ones, into, sums, reduction::add, {.variant = variant});
              }
              ctx.wait();
              return out == table && sums == std::vector<std::uint32_t>(16, count / 8) ? "right" : "wrong";
            }),
            "right");
}

TEST_F(Forks, AChildIsToldThatCudaIsItsParents) {
  const auto ctx = cuda_context();
  if (!ctx) GTEST_SKIP() << "no CUDA device";
  EXPECT_EQ(in_a_child([&]() -> std::string { return ctx->wait(), "nothing was thrown"; }),
            "backend_unavailable: context::wait: this process was forked after the context was made, and CUDA works "
            "only in the parent");
  EXPECT_EQ(in_a_child([&]() -> std::string { return context::cuda(0), "nothing was thrown"; }),
            "backend_unavailable: context::cuda: this process was forked from one that had used CUDA, which works only "
            "in the parent; use it only after the fork");
  EXPECT_NO_THROW(ctx->wait());
}

// Runs itself again, because tests before this one have made contexts of several threads.
TEST_F(Forks, AChildHasThreadsIfItsParentHadNone) {
  constexpr const char* mark = "SHEAF_TEST_RUNS_ALONE";
  if (std::getenv(mark) == nullptr) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string line =
        fmt::format("{}=1 '{}' --gtest_filter=Forks.AChildHasThreadsIfItsParentHadNone >&2", mark, self);
    EXPECT_EQ(std::system(line.c_str()), 0);
    return;
  }
  if (under_thread_sanitizer)
    GTEST_SKIP() << "ThreadSanitizer's runtime has a thread of its own, and allows none after";
  ASSERT_EQ(gathered(context::cpu(1)), "right");
  for (int child = 0; child < 2; ++child) {
    EXPECT_EQ(in_a_child([&] { return gathered(context::cpu(4)); }), "right");
  }
  EXPECT_EQ(gathered(context::cpu(4)), "right");
}

}  // namespace
}  // namespace sheaf::tests::core_forks_test
