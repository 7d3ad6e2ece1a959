#include "papers/he2007/scan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/machine_profile.hpp>

#include "support/contexts.hpp"
#include "support/placed.hpp"

namespace sheaf::tests::papers_he2007_scan_test {
namespace {

using bench::papers::he2007::queue_scan;

// Sizes around a block's tile, 16 KB on CUDA, and around what one thread of a CPU takes.
TEST(QueueScan, CopiesAllThatItIsAskedToAndNoMore) {
  for (const named_context& where : every_context()) {
    for (const std::uint64_t lines : {0, 1, 255, 256, 257, 1000, 4097, 40000}) {
      SCOPED_TRACE(fmt::format("{} lines, {}", lines, where.name));
      const image in = filled(lines, 64, 64, 0, 5);
      image out = poisoned(lines, 64, 64);
      const placed from(where.ctx, in);
      const placed to(where.ctx, out);
      queue_scan(where.ctx, from.view().data, to.view().data, lines * 64);
      where.ctx.wait();
      for (std::uint64_t i = 0; i < lines; ++i) std::memcpy(out.record(i), in.record(i), 64);
      expect_bytes(to.download(), out, "copy");
    }
  }
}

// Past the cache, lines are streamed past it.
TEST(QueueScan, CopiesMoreThanTheCacheHolds) {
  context ctx = context::cpu(2);
  machine profile = ctx.profile();
  profile.cache_bytes = 1 << 16;
  ctx.use(profile);
  const image in = filled(3000, 64, 64, 0, 5);
  image out = poisoned(3000, 64, 64);
  const placed from(ctx, in);
  const placed to(ctx, out);
  queue_scan(ctx, from.view().data, to.view().data, 3000 * 64);
  for (std::uint64_t i = 0; i < 3000; ++i) std::memcpy(out.record(i), in.record(i), 64);
  expect_bytes(to.download(), out, "copy");
}

}  // namespace
}  // namespace sheaf::tests::papers_he2007_scan_test
