#pragma once

#include "cuda/edges/buckets/counts.cuh"
#include "cuda/edges/buckets/phases.hpp"

// What kernels of lists share: the ends of a bucket, as a block walks them, its parts, and the words beside an entry.
namespace sheaf::cuda {

/// The ends of a bucket in a range of tiles, of which each warp of a block takes an equal share.
class bucket_ends {
 public:
  static constexpr std::uint32_t group = group_tiles;

  /// @param group_begins  shared memory for one number more than there are groups of tiles
  __device__ bucket_ends(const bucket_scratch& from, const bucket_cut& cut, std::uint32_t bucket,
                         std::uint32_t first_tile, std::uint32_t tiles, std::uint32_t* group_begins)
      : begins_(from.turned + std::uint64_t{bucket} * cut.turned_row + first_tile),
        ends_(begins_ + cut.turned_row),
        first_tile_(first_tile),
        tiles_(tiles),
        groups_((tiles + group - 1) / group),
        group_begins_(group_begins) {}

  /// Counts the ends. All threads of the block call it; it ends with a barrier.
  template <unsigned Threads>
  __device__ __forceinline__ void count() {
    const unsigned lane = threadIdx.x % 32;
    for (std::uint32_t g = threadIdx.x / 32; g < groups_; g += Threads / 32) {
      const std::uint32_t t = g * group + lane;
      const std::uint32_t sum = __reduce_add_sync(~0U, t < tiles_ ? std::uint32_t{ends_[t]} - begins_[t] : 0);
      if (lane == 0) group_begins_[g] = sum;
    }
    count_ = scan_counts<Threads>(group_begins_, groups_);
    if (threadIdx.x == 0) group_begins_[groups_] = count_;
    __syncthreads();
  }

  static constexpr int steps = 4;
  using places = std::uint32_t[steps];
  using flags = bool[steps];

  /// Calls f(place, is_end) for the ends of the warp, 32 times `steps` at a time, in the order of tiles and of places
  /// in them: lane l has the ends l, 32 + l and so on. Where is_end[k] is not set, place[k] is that of another end.
  template <unsigned Threads, class F>
  __device__ __forceinline__ void for_each(F f) const {
    constexpr std::uint32_t warps = Threads / 32;
    const unsigned lane = threadIdx.x % 32;
    const std::uint32_t share = (count_ + warps * 32 - 1) / (warps * 32) * 32;
    std::uint32_t at = min(threadIdx.x / 32 * share, count_);
    const std::uint32_t end = min(at + share, count_);
    std::uint32_t low = 0;
    for (std::uint32_t high = groups_; high - low > 1;) {
      const std::uint32_t middle = (low + high) / 2;
      if (group_begins_[middle] <= at) {
        low = middle;
      } else {
        high = middle;
      }
    }
    for (std::uint32_t g = low; at < end; ++g) {
      const std::uint32_t t = g * group + lane;
      const std::uint32_t first = t < tiles_ ? begins_[t] : 0;
      const std::uint32_t length = t < tiles_ ? ends_[t] - first : 0;
      const std::uint32_t inclusive = inclusive_warp_sum(length, lane);
      const std::uint32_t origin = (first_tile_ + t) * tile_ends + first - (inclusive - length);
      const std::uint32_t stop = min(end, group_begins_[g + 1]) - group_begins_[g];
      for (std::uint32_t step = at - group_begins_[g]; step < stop; step += 32 * steps) {
        places place;
        flags is_end;
#pragma unroll
        for (int k = 0; k < steps; ++k) {
          const std::uint32_t wanted = step + k * 32 + lane;
          const std::uint32_t n = min(wanted, stop - 1);
          is_end[k] = wanted == n;
          unsigned tile = 0;  // the first of the group whose ends, and those before it, are more than n
#pragma unroll
          for (unsigned half = group / 2; half > 0; half /= 2) {
            const std::uint32_t before = __shfl_sync(~0U, inclusive, tile + half - 1);
            if (before <= n) tile += half;
          }
          place[k] = __shfl_sync(~0U, origin, tile) + n;
        }
        f(place, is_end);
      }
      at = group_begins_[g] + stop;
    }
  }

 private:
  const std::uint16_t* begins_;
  const std::uint16_t* ends_;
  std::uint32_t first_tile_;
  std::uint32_t tiles_;
  std::uint32_t groups_;
  std::uint32_t* group_begins_;
  std::uint32_t count_ = 0;
};

/// A part, and where its nodes begin.
struct part_range {
  std::uint32_t bucket;
  std::uint32_t local_begin;  ///< in the bucket
  std::uint64_t first_node;

  __device__ part_range(const bucket_cut& cut, std::uint32_t part)
      : bucket(part >> (cut.bucket_bits - cut.part_bits)),
        local_begin((part << cut.part_bits) - (bucket << cut.bucket_bits)),
        first_node(std::uint64_t{part} << cut.part_bits) {}
};

/// Writes the words that an entry carries beside the others.
template <int Carried>
__device__ __forceinline__ void write_carried(std::uint32_t* to, std::uint64_t at,
                                              const std::uint32_t (&word)[Carried]) {
  if constexpr (Carried == 1) {
    to[at] = word[0];
  } else {
    reinterpret_cast<uint2*>(to)[at] = make_uint2(word[0], word[1]);
  }
}

}  // namespace sheaf::cuda
