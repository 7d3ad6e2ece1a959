#include <sheaf/distributed/gpus.hpp>

#include "core/composition.hpp"
#include "distributed/devices/movement.hpp"
#include "distributed/devices/sort.hpp"
#include "distributed/devices/sparse.hpp"
#include "distributed/ranks.hpp"
#include "distributed/tcp/processes.hpp"

// Processes with a GPU each, over NCCL and TCP. This process never uses CUDA, which a child could not use then.
namespace sheaf::tests::distributed_devices_processes_test {
namespace {

/// What a process without CUDA asks another one.
int gpus() {
  static const int count = [] {
    const pid_t child = fork();
    if (child == 0) {
      const bool is_there = core::backend_of(backend_kind::cuda).has_device() && distributed::has_nccl();
      _exit(is_there ? core::cuda_device_count() : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }();
  return count;
}

group_maker over_nccl(const distributed::limits& bounds) {
  return [bounds](int rank, std::shared_ptr<distributed::transport> over_tcp) {
    const context ctx = context::cuda(rank);
    return distributed::group(ctx, distributed::nccl_transport(ctx, std::move(over_tcp)), bounds);
  };
}

void expect_right(const std::function<void(const distributed::group&)>& trial) {
  if (gpus() == 0) GTEST_SKIP() << "no CUDA device, or no NCCL";
  const auto codes = exits_of(
      gpus(), over_nccl({}),
      [&](const distributed::group& ranks) {
        trial(ranks);
        if (testing::Test::HasFailure()) throw std::runtime_error("a check failed");
      },
      300);
  EXPECT_EQ(codes, std::vector<int>(static_cast<std::size_t>(gpus()), 0));
}

TEST(GpuProcesses, Movement) {
  expect_right([](const distributed::group& ranks) { movement_on_devices(ranks); });
}
TEST(GpuProcesses, Sorts) {
  expect_right([](const distributed::group& ranks) { sorts_on_devices(ranks); });
}
TEST(GpuProcesses, Products) {
  expect_right([](const distributed::group& ranks) { products_on_devices(ranks); });
}

void sort_on_gpu(const distributed::group& ranks, int faulty, const std::function<void()>& fault) {
  constexpr std::uint64_t count = std::uint64_t{1} << 24;
  std::vector<std::uint64_t> keys(count);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 0x9e3779b97f4a7c15U;
  const buffer rows(ranks.local(), count * 8);
  copy_bytes(ranks.local(), rows.data(), keys.data(), count * 8);
  sort_until(ranks, const_records(rows.data(), count, 8), faulty, fault);
}

TEST(GpuProcesses, AProcessThatIsKilledIsNamedAndTheNextJobWorks) {
  if (gpus() < 2) GTEST_SKIP() << "fewer than two GPUs, or no NCCL";
  const char* const told = std::getenv("SHEAF_TEST_KILLS");
  const int kills = told != nullptr ? std::atoi(told) : 3;
  std::vector<int> expected(static_cast<std::size_t>(gpus()), named(1));
  expected[1] = ended_by_signal;
  for (int trial = 0; trial < kills; ++trial) {
    const auto codes = exits_of(
        gpus(), over_nccl({}),
        [](const distributed::group& ranks) { sort_on_gpu(ranks, 1, [] { kill(getpid(), SIGKILL); }); }, 30);
    ASSERT_EQ(codes, expected) << "trial " << trial;
  }
  expect_right([](const distributed::group& ranks) { ranks.wait(); });
  expect_right([](const distributed::group& ranks) { movement_on_devices(ranks); });
}

TEST(GpuProcesses, AProcessThatStandsStillIsNamed) {
  if (gpus() < 2) GTEST_SKIP() << "fewer than two GPUs, or no NCCL";
  distributed::limits bounds;
  bounds.wait_seconds = 5;
  std::vector<int> expected(static_cast<std::size_t>(gpus()), named(1));
  expected[1] = still_there;
  const auto codes = exits_of(
      gpus(), over_nccl(bounds),
      [](const distributed::group& ranks) { sort_on_gpu(ranks, 1, [] { kill(getpid(), SIGSTOP); }); }, 60);
  EXPECT_EQ(codes, expected);
}

TEST(GpuProcesses, TwoOnOneGpuAreRefused) {
  if (gpus() == 0) GTEST_SKIP() << "no CUDA device, or no NCCL";
  const auto make = [](int, std::shared_ptr<distributed::transport> over_tcp) {
    const context ctx = context::cuda(0);
    std::string said;
    try {
      distributed::nccl_transport(ctx, over_tcp);
    } catch (const error& thrown) {
      said = thrown.what();
    }
    if (said != "rank 1: nccl_transport: CUDA device 0 is that of rank 0, too") throw std::runtime_error(said);
    return distributed::group(context::cpu(1), over_tcp);
  };
  EXPECT_EQ(exits_of(
                2, make, [](const distributed::group& ranks) { ranks.wait(); }, 60),
            (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace sheaf::tests::distributed_devices_processes_test
