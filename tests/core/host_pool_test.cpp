// Memory of CPU contexts: what is given back is lent again.
#include "core/host_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "core/host.hpp"

namespace sheaf::tests::core_host_pool_test {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

bool is_aligned(const void* block, std::uint64_t bytes) { return reinterpret_cast<std::uintptr_t>(block) % bytes == 0; }

bool keeps_blocks() {
#if defined(__SANITIZE_ADDRESS__)
  return false;
#else
  return core::host_memory_bytes() / 8 >= 64 * mib;
#endif
}

TEST(HostPool, LendsLargeBlocksAgain) {
  if (!keeps_blocks()) GTEST_SKIP() << "keeps nothing here";
  core::host_pool pool;
  void* const first = pool.allocate(8 * mib);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(is_aligned(first, 256));
  std::memset(first, 1, 8 * mib);
  pool.deallocate(first, 8 * mib);
  void* const again = pool.allocate(8 * mib - 1000);
  EXPECT_EQ(again, first);
  void* const other = pool.allocate(8 * mib);  // while the first is lent
  EXPECT_NE(other, first);
  pool.deallocate(again, 8 * mib - 1000);
  pool.deallocate(other, 8 * mib);
}

TEST(HostPool, LendsTheSmallestThatWillDoAndNoneThatIsMuchTooLarge) {
  if (!keeps_blocks()) GTEST_SKIP() << "keeps nothing here";
  core::host_pool pool;
  void* const large = pool.allocate(32 * mib);
  void* const middle = pool.allocate(8 * mib);
  pool.deallocate(middle, 8 * mib);
  pool.deallocate(large, 32 * mib);
  EXPECT_EQ(pool.allocate(6 * mib), middle);
  void* const small = pool.allocate(4 * mib);  // the large one is more than four times as large
  EXPECT_NE(small, large);
  EXPECT_EQ(pool.allocate(20 * mib), large);
  pool.deallocate(middle, 6 * mib);
  pool.deallocate(small, 4 * mib);
  pool.deallocate(large, 20 * mib);
}

TEST(HostPool, KeepsBlocksShorterThanAPage) {
  if (!keeps_blocks()) GTEST_SKIP() << "keeps nothing here";
  core::host_pool pool;
  void* const first = pool.allocate(mib + 1);
  pool.deallocate(first, mib + 1);
  EXPECT_EQ(pool.allocate(mib + 1000), first);
  void* const small = pool.allocate(mib / 4);
  pool.deallocate(first, mib + 1000);
  void* const other = pool.allocate(mib / 4);  // the kept one is more than four times as large
  EXPECT_NE(other, first);
  pool.deallocate(small, mib / 4);
  pool.deallocate(other, mib / 4);
}

TEST(HostPool, TakesEverySize) {
  core::host_pool pool;
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{255}, mib / 4 - 1, mib / 4, mib / 4 + 1, mib + 1,
                                    2 * mib - 1, 2 * mib, 2 * mib + 1}) {
    for (int turn = 0; turn < 2; ++turn) {
      void* const block = pool.allocate(bytes);
      ASSERT_NE(block, nullptr) << bytes;
      EXPECT_TRUE(is_aligned(block, 256)) << bytes;
      std::memset(block, 2, bytes);
      pool.deallocate(block, bytes);
    }
  }
  EXPECT_EQ(pool.allocate(~std::uint64_t{0}), nullptr);
  EXPECT_EQ(pool.allocate(std::uint64_t{1} << 62), nullptr);
}

}  // namespace
}  // namespace sheaf::tests::core_host_pool_test
