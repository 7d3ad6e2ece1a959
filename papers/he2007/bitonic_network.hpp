#pragma once

#include <cstdint>

#include "core/host_device.hpp"

// The bitonic network that ends the GPU's radix sort of He et al. 2007, on host and device. Merges make sorted runs of
// 2, 4, 8, ... words, each of two runs of half as many. A merge to runs of `run` words takes steps over run / 2, run /
// 4, ... and 1 words; each step compares pairs of words so far apart. Every step puts the lesser word first, so that
// words past the end need not exist. For that, the first step of a merge compares its two runs from the outside in.
namespace sheaf::papers::he2007 {

/// The places of two words that a step compares.
struct comparator {
  std::uint64_t low;
  std::uint64_t high;
};

/// The first word of comparator i of a step, which ascends with i.
SHEAF_HOST_DEVICE inline std::uint64_t low_of(std::uint64_t i, std::uint64_t step) { return 2 * i - (i & (step - 1)); }

/// The comparator whose first word is `low`, of a step over `step` words of merges to runs of `run` words.
SHEAF_HOST_DEVICE inline comparator comparator_of(std::uint64_t low, std::uint64_t run, std::uint64_t step) {
  return {low, step == run / 2 ? low ^ (2 * step - 1) : low + step};
}

SHEAF_HOST_DEVICE inline void put_lesser_first(std::uint64_t& low, std::uint64_t& high) {
  const std::uint64_t first = low;
  const std::uint64_t second = high;
  if (first <= second) return;
  low = second;
  high = first;
}

/// A step over all of `words`: what thread number `thread` of `threads` does of it.
SHEAF_HOST_DEVICE inline void step_of_thread(std::uint64_t* words, std::uint64_t size, std::uint64_t run,
                                             std::uint64_t step, std::uint32_t thread, std::uint32_t threads) {
  for (std::uint64_t i = thread; low_of(i, step) < size; i += threads) {
    const comparator pair = comparator_of(low_of(i, step), run, step);
    if (pair.high < size) put_lesser_first(words[pair.low], words[pair.high]);
  }
}

// A partition that shared memory does not hold is sorted in tiles, whose size is a power of two. Each tile is sorted by
// itself first. Of every merge after that, steps over a tile or more go through global memory, and the steps over fewer
// words stay in the tile.

/// A tile of a partition.
struct tile_place {
  std::uint64_t partition_begin = 0;
  std::uint64_t partition_size = 0;
  std::uint64_t first = 0;  ///< its first word in the partition
  std::uint64_t size = 0;

  SHEAF_HOST_DEVICE std::uint64_t begin() const { return partition_begin + first; }
  /// Whether merges to runs of `run` words have anything to do, as the merges before left more than one run.
  SHEAF_HOST_DEVICE bool is_merged_to(std::uint64_t run) const { return run / 2 < partition_size; }
  /// Whether the tile has the first words of the comparators of a step over a tile or more; else it has the second
  /// ones.
  SHEAF_HOST_DEVICE bool has_low_words(std::uint64_t step) const { return (first & step) == 0; }
};

/// A step over a tile or more, of the merges of the tile's partition: what a thread does of the tile's comparators,
/// none of which another tile has.
SHEAF_HOST_DEVICE inline void far_step_of_thread(std::uint64_t* words, const tile_place& tile, std::uint64_t run,
                                                 std::uint64_t step, std::uint32_t thread, std::uint32_t threads) {
  if (!tile.is_merged_to(run) || !tile.has_low_words(step)) return;
  std::uint64_t* const partition = words + tile.partition_begin;
  for (std::uint64_t i = thread; i < tile.size; i += threads) {
    const comparator pair = comparator_of(tile.first + i, run, step);
    if (pair.high < tile.partition_size) put_lesser_first(partition[pair.low], partition[pair.high]);
  }
}

}  // namespace sheaf::papers::he2007
