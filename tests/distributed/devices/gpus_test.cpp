#include <sheaf/distributed/gpus.hpp>

#include <mutex>
#include <set>

#include <sheaf/distributed/sort.hpp>

#include "core/composition.hpp"
#include "distributed/devices/movement.hpp"
#include "distributed/devices/sort.hpp"
#include "distributed/devices/sparse.hpp"
#include "distributed/ranks.hpp"
#include "distributed/threads.hpp"
#include "support/trials/parts.hpp"

// Calls on groups of the GPUs of this process, whose arrays travel as copies and over NCCL.
namespace sheaf::tests::distributed_devices_gpus_test {
namespace {

enum class carrier { copies, nccl };

int gpus() { return core::backend_of(backend_kind::cuda).has_device() ? core::cuda_device_count() : 0; }

/// Calls `test` on groups of 1 to all GPUs.
void on_gpus(carrier by, const std::function<void(const distributed::group&)>& test,
             const distributed::limits& bounds = {}) {
  for (int count = 1; count <= gpus(); count = count < gpus() && 2 * count > gpus() ? gpus() : 2 * count) {
    SCOPED_TRACE(std::to_string(count) + " GPUs");
    std::vector<context> contexts;
    for (int device = 0; device < count; ++device) contexts.push_back(context::cuda(device));
    const auto control = distributed::transports_in_one_process(count);
    std::vector<std::shared_ptr<distributed::transport>> copies;
    if (by == carrier::copies) copies = distributed::transports_between_gpus(contexts);
    const auto make = [&](int r) {
      const auto place = static_cast<std::size_t>(r);
      return distributed::group(
          contexts[place],
          by == carrier::copies ? copies[place] : distributed::nccl_transport(contexts[place], control[place]), bounds);
    };
    EXPECT_NO_THROW(distributed::run_on_threads(count, make, test));
    if (testing::Test::HasFailure()) return;
  }
}

class OnGpus : public testing::TestWithParam<carrier> {
 protected:
  void SetUp() override {
    if (gpus() == 0) GTEST_SKIP() << "no CUDA device";
    if (GetParam() == carrier::nccl && !distributed::has_nccl()) GTEST_SKIP() << "no NCCL";
  }
};

TEST_P(OnGpus, Movement) {
  on_gpus(GetParam(), [](const distributed::group& ranks) { movement_on_devices(ranks); });
}
TEST_P(OnGpus, Sorts) {
  distributed::limits bounds;
  bounds.chunk_bytes = std::uint64_t{1} << 20;  // so that lists are many rows, in chunks and groups
  on_gpus(
      GetParam(), [](const distributed::group& ranks) { sorts_on_devices(ranks); }, bounds);
}
TEST_P(OnGpus, SortsOfManyRows) {
  // Of 64 MB on each of two GPUs, several groups.
  distributed::limits bounds;
  bounds.chunk_bytes = std::uint64_t{4} << 20;
  on_gpus(
      GetParam(),
      [](const distributed::group& ranks) {
        if (ranks.size() > 1) many_rows_on_devices(ranks);
      },
      bounds);
}
TEST_P(OnGpus, Products) {
  std::mutex mutex;
  std::set<std::uint64_t> hashes;  // which any number of GPUs have alike
  on_gpus(GetParam(), [&](const distributed::group& ranks) {
    const std::uint64_t hash = products_on_devices(ranks);
    const std::lock_guard lock(mutex);
    hashes.insert(hash);
  });
  EXPECT_EQ(hashes.size(), 1U);
}

TEST_P(OnGpus, ErrorsOfOneRankAreThrownByAll) {
  on_gpus(GetParam(), [](const distributed::group& ranks) {
    const int last = ranks.size() - 1;
    const buffer keys(ranks.local(), 8 * 100);
    std::vector<std::uint64_t> in_host_memory(100);
    const const_records mine(ranks.rank() == last ? static_cast<const void*>(in_host_memory.data()) : keys.data(), 100,
                             8);
    const std::string said = message_of(error_code::bad_argument,
                                        [&] { distributed::sort_records(ranks, mine, sort_key::of<std::uint64_t>()); });
    EXPECT_NE(said.find("rank " + std::to_string(last)), std::string::npos) << said;
    EXPECT_NE(said.find("host memory"), std::string::npos) << said;
    EXPECT_NO_THROW(ranks.wait());
  });
}

TEST_P(OnGpus, ARankThatAbandonsTheGroupEndsItForAll) {
  on_gpus(GetParam(), [](const distributed::group& ranks) {
    if (ranks.size() == 1) return;
    if (ranks.rank() == ranks.size() - 1) {
      ranks.abandon("went away");
      return;
    }
    const std::string said = message_of(error_code::device_failure, [&] { ranks.wait(); });
    EXPECT_NE(said.find("rank " + std::to_string(ranks.size() - 1) + ": went away"), std::string::npos) << said;
  });
}

TEST_P(OnGpus, ARankThatIsLateIsNamed) {
  distributed::limits bounds;
  bounds.wait_seconds = 1;
  on_gpus(
      GetParam(),
      [](const distributed::group& ranks) {
        if (ranks.size() == 1) return;
        const int last = ranks.size() - 1;
        if (ranks.rank() == last) {
          std::this_thread::sleep_for(std::chrono::seconds(10));
          message_of(error_code::device_failure, [&] { ranks.wait(); });
          return;
        }
        const std::string said = message_of(error_code::device_failure, [&] { ranks.wait(); });
        EXPECT_NE(said.find("rank " + std::to_string(last)), std::string::npos) << said;
      },
      bounds);
}

INSTANTIATE_TEST_SUITE_P(By, OnGpus, testing::Values(carrier::copies, carrier::nccl),
                         [](const auto& by) { return by.param == carrier::copies ? "copies" : "nccl"; });

// The steps of these sorts by themselves, which tell where a sort goes wrong.
TEST(PartsOnAGpu, AreFoundMovedAndSorted) {
  if (gpus() == 0) GTEST_SKIP() << "no CUDA device";
  const context ctx = context::cuda(0);
  for (const parts_case& c : few_rows_in_parts()) {
    SCOPED_TRACE(name(c));
    parts_trial<std::uint64_t>(c).check(ctx);
    parts_trial<float>(c).check(ctx);
    parts_trial<std::int16_t>(c).check(ctx);
    if (HasFailure()) return;
  }
  for (const parts_case& c : many_rows_in_parts()) {
    SCOPED_TRACE(name(c));
    parts_trial<std::uint64_t>(c).check(ctx);
    parts_trial<float>(c).check(ctx);
    if (HasFailure()) return;
  }
}

TEST(LocalGpus, AreAGroupEach) {
  if (gpus() == 0) GTEST_SKIP() << "no CUDA device";
  const std::vector<distributed::group> groups = distributed::local_gpus();
  ASSERT_EQ(groups.size(), static_cast<std::size_t>(gpus()));
  for (std::size_t r = 0; r < groups.size(); ++r) {
    EXPECT_EQ(groups[r].rank(), static_cast<int>(r));
    EXPECT_EQ(groups[r].local().device(), static_cast<int>(r));
  }
}

TEST(LocalGpus, AreRefusedTwice) {
  if (gpus() == 0) GTEST_SKIP() << "no CUDA device";
  const int twice[] = {0, 0};
  EXPECT_EQ(message_of(error_code::bad_argument, [&] { distributed::local_gpus(twice); }),
            "transports_between_gpus: two contexts of CUDA device 0");
}

TEST(LocalGpus, AreNotThere) {
  const int none[] = {gpus()};
  message_of(error_code::backend_unavailable, [&] { distributed::local_gpus(none); });
}

TEST(Nccl, RefusesTwoRanksOnOneGpu) {
  if (gpus() == 0 || !distributed::has_nccl()) GTEST_SKIP() << "no CUDA device, or no NCCL";
  const auto control = distributed::transports_in_one_process(2);
  distributed::run_on_threads(
      2, [&](int r) { return distributed::group(context::cpu(1), control[static_cast<std::size_t>(r)]); },
      [&](const distributed::group& ranks) {
        const std::string said = message_of(error_code::bad_argument, [&] {
          distributed::nccl_transport(context::cuda(0), control[static_cast<std::size_t>(ranks.rank())]);
        });
        EXPECT_EQ(said, "rank 1: nccl_transport: CUDA device 0 is that of rank 0, too");
      });
}

}  // namespace
}  // namespace sheaf::tests::distributed_devices_gpus_test
