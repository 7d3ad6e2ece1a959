#include "core/parallel_tasks.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sheaf::tests::core_parallel_tasks_test {
namespace {

TEST(ParallelTasks, EachRunsOnceOnNoMoreThreadsThanAsked) {
  for (const std::uint64_t threads : {0, 1, 2, 5}) {
    for (const std::uint64_t tasks : {0, 1, 3, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      std::atomic<int> last_thread = 0;
      core::for_each_task(tasks, threads, [&](std::uint64_t task) {
        ++runs[task];
        const int thread = omp_get_thread_num();
        for (int seen = last_thread; seen < thread && !last_thread.compare_exchange_weak(seen, thread);) continue;
      });
      for (const std::atomic<int>& count : runs) ASSERT_EQ(count, 1) << threads << " threads, " << tasks << " tasks";
      EXPECT_LT(static_cast<std::uint64_t>(last_thread), std::max<std::uint64_t>(1, threads));
    }
  }
}

// A smaller team would have its other threads ended, and started again for the next larger one.
TEST(ParallelTasks, FewTasksHaveATeamOfAllThreads) {
  std::atomic<int> team = 0;
  core::for_each_task(2, 3, [&](std::uint64_t) { team = omp_get_num_threads(); });
  EXPECT_EQ(team, 3);
  core::for_each_task(1, 3, [&](std::uint64_t) { team = omp_get_num_threads(); });
  EXPECT_EQ(team, 1);
}

TEST(ParallelTasks, OneExceptionReachesTheCallerAfterAllTasks) {
  for (const std::uint64_t threads : {2, 7}) {
    std::atomic<std::uint64_t> ended = 0;
    try {
      core::for_each_task(100, threads, [&](std::uint64_t task) {
        ++ended;
        if (task % 10 == 3) throw std::runtime_error("task " + std::to_string(task));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(std::string(e.what()).substr(0, 5), "task ");
    }
    EXPECT_EQ(ended, 100U);
  }
  std::uint64_t begun = 0;
  EXPECT_THROW(core::for_each_task(9, 1,
                                   [&](std::uint64_t) {
                                     ++begun;
                                     throw std::runtime_error("first");
                                   }),
               std::runtime_error);
  EXPECT_EQ(begun, 1U);
}

}  // namespace
}  // namespace sheaf::tests::core_parallel_tasks_test
