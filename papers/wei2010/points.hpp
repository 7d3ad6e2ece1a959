#pragma once

#include <algorithm>
#include <vector>

#include "papers/wei2010/memory_test.hpp"

// The points of the memory test (section 4.4): blocks, threads of a block and accesses of a thread.
namespace sheaf::bench::papers::wei2010 {

/// The paper's 224 points: 8 numbers of blocks, 7 of threads and 4 of reads for each thread.
inline std::vector<memory_test> points_of_paper() {
  std::vector<memory_test> points;
  for (const std::uint64_t blocks : {8, 15, 16, 30, 32, 60, 64, 128}) {
    for (std::uint64_t threads = 8; threads <= 512; threads *= 2) {
      for (std::uint64_t accesses = 1024; accesses <= 8192; accesses *= 2) {
        points.push_back({.blocks = blocks, .threads = threads, .accesses = accesses});
      }
    }
  }
  return points;
}

/// The paper's, and those of today's devices, which have more multiprocessors, so that each gets 1 to 16 blocks, and
/// threads that are so many that each makes fewer accesses. None makes more accesses than the paper's largest.
inline std::vector<memory_test> points_of_cuda(std::uint64_t multiprocessors) {
  std::vector<memory_test> points = points_of_paper();
  const auto add = [&](const memory_test& test) {
    const bool fills_the_device = test.walkers() >= 64 * multiprocessors;
    const bool is_known = std::ranges::any_of(points, [&](const memory_test& known) {
      return known.blocks == test.blocks && known.threads == test.threads && known.accesses == test.accesses;
    });
    if (test.total() <= std::uint64_t{1} << 29 && fills_the_device && !is_known) points.push_back(test);
  };
  std::vector<std::uint64_t> all_blocks{8, 15, 16, 30, 32, 60, 64, 128};
  for (std::uint64_t each = 1; each <= 16; each *= 2) all_blocks.push_back(each * multiprocessors);
  for (const std::uint64_t blocks : all_blocks) {
    for (std::uint64_t threads = 8; threads <= 1024; threads *= 2) {
      for (const std::uint64_t accesses : {64, 256, 1024, 2048, 4096, 8192}) {
        add({.blocks = blocks, .threads = threads, .accesses = accesses});
      }
    }
  }
  return points;
}

/// On a CPU a block is a thread, whose walkers take turns: 1 to 64 of them, because a core has several accesses under
/// way and walkers that take turns are more than it can see. Each thread makes as many accesses at every point.
inline std::vector<memory_test> points_of_cpu(std::uint64_t threads) {
  std::vector<memory_test> points;
  for (std::uint64_t walkers = 1; walkers <= 64; walkers *= 2) {
    points.push_back({.blocks = threads, .threads = walkers, .accesses = (std::uint64_t{1} << 21) / walkers});
  }
  return points;
}

}  // namespace sheaf::bench::papers::wei2010
