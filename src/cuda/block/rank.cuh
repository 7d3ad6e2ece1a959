#pragma once

#include <cstdint>

// Where a block's records go among those of their bin: the heart of every split. A thread has Items records; bins are
// numbers below Bins, and a record whose bin is not is left out; SkipsNone says that there are none of these.
namespace sheaf::cuda {

constexpr std::uint32_t no_bin = 0xffff;

/// Items numbers of 16 bits, two to a register; k must be a constant once loops are unrolled.
template <int Items>
class packed_numbers {
 public:
  __device__ __forceinline__ void set(int k, std::uint32_t value) {
    if (k % 2 == 0) {
      pairs_[k / 2] = value;
    } else {
      pairs_[k / 2] |= value << 16;  // set in order
    }
  }
  __device__ __forceinline__ std::uint32_t get(int k) const {
    return k % 2 == 0 ? pairs_[k / 2] & 0xffff : pairs_[k / 2] >> 16;
  }
  /// Sums stay below 2^16.
  __device__ __forceinline__ void add(int k, std::uint32_t value) { pairs_[k / 2] += value << (k % 2 * 16); }

 private:
  std::uint32_t pairs_[(Items + 1) / 2];
};

/// Items numbers of 8 bits, four to a register.
template <int Items>
class packed_bytes {
 public:
  __device__ __forceinline__ void set(int k, std::uint32_t value) {
    if (k % 4 == 0) {
      fours_[k / 4] = value;
    } else {
      fours_[k / 4] |= value << (k % 4 * 8);  // set in order
    }
  }
  __device__ __forceinline__ std::uint32_t get(int k) const { return __byte_perm(fours_[k / 4], 0, 0x4440 + k % 4); }

 private:
  std::uint32_t fours_[(Items + 3) / 4];
};

/// Whether all records of a warp have one bin, as where the list is sorted or all the same; then nobody needs to meet.
template <int Items, class Bin>
__device__ __forceinline__ bool is_one_bin(Bin bin) {
  const std::uint32_t first = __shfl_sync(~0U, bin(0), 0);
  if (!__all_sync(~0U, bin(0) == first)) return false;
  bool same = true;
#pragma unroll
  for (int k = 0; k < Items; ++k) same = same && bin(k) == first;
  return __all_sync(~0U, same);
}

/// Of sorted records at least half of a warp have the bin of this lane.
constexpr int middle_lane = 16;

/// Whether many lanes have the bin of the middle one, as far as their first records tell: sorted lists and skewed ones,
/// whose lanes would wait for each other at one counter.
template <class Bin>
__device__ __forceinline__ bool has_hot_bin(Bin bin) {
  constexpr int many = 6;
  const std::uint32_t b = bin(0);
  return __popc(__ballot_sync(~0U, b == __shfl_sync(~0U, b, middle_lane))) >= many;
}

/// Adds 1 for each lane to its bin's counter, and for the lanes of the middle lane's bin all at once; what the counter
/// was before comes back, as if lanes had come one by one.
template <int Bins, bool SkipsNone>
__device__ __forceinline__ std::uint32_t add_aggregated(std::uint32_t b, std::uint32_t* histogram) {
  const std::uint32_t lane = threadIdx.x % 32;
  const bool meets = b == __shfl_sync(~0U, b, middle_lane);
  const std::uint32_t met = __ballot_sync(~0U, meets);
  std::uint32_t before = 0;
  const bool adds = lane == middle_lane || !meets;
  if (adds && (SkipsNone || b < Bins)) before = atomicAdd(&histogram[b], lane == middle_lane ? __popc(met) : 1U);
  const std::uint32_t first = __shfl_sync(~0U, before, middle_lane);
  return meets ? first + __popc(met & ((1U << lane) - 1)) : before;
}

/// Any order inside a bin: one atomic a record on the block's histogram, which counts the bins at the same time and
/// must be zero before. bin(k) is the bin of the thread's k-th record.
template <int Items, int Bins, bool SkipsNone = false, class Bin>
__device__ __forceinline__ void rank_unordered(Bin bin, std::uint32_t* histogram, packed_numbers<Items>& rank) {
  if (is_one_bin<Items>(bin)) {
    std::uint32_t first = 0;
    if (threadIdx.x % 32 == 0 && bin(0) < Bins) first = atomicAdd(&histogram[bin(0)], 32U * Items);
    first = __shfl_sync(~0U, first, 0) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < Items; ++k) rank.set(k, first + k * 32);
    return;
  }
  if (has_hot_bin(bin)) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      rank.set(k, add_aggregated<Bins, SkipsNone>(bin(k), histogram));
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bin(k);
    rank.set(k, SkipsNone || b < Bins ? atomicAdd(&histogram[b], 1U) : 0);
  }
}

/// What a warp knows of a bin: the lanes that have it in this step, and how many had it before.
struct warp_bin {
  std::uint32_t lanes;
  std::uint32_t count;
};

/// The order of lanes and steps inside a bin of one warp, whose k-th step is the k-th record of each lane: lanes of one
/// bin find each other by or-ing their bits (what the 2009 paper's Appendix A does by taking turns). `bins` are the
/// warp's own and zero before; their counts are those of the warp afterwards.
template <int Items, int Bins, bool SkipsNone = false, class Bin>
__device__ __forceinline__ void rank_in_warp(Bin bin, warp_bin* bins, packed_numbers<Items>& rank) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t lanes_before = (1U << lane) - 1;
  if (is_one_bin<Items>(bin)) {
#pragma unroll
    for (int k = 0; k < Items; ++k) rank.set(k, k * 32 + lane);
    if (lane == 0 && bin(0) < Bins) bins[bin(0)].count = 32 * Items;
    __syncwarp();
    return;
  }
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bin(k);
    warp_bin met{};
    if (SkipsNone || b < Bins) atomicOr(&bins[b].lanes, 1U << lane);
    __syncwarp();
    if (SkipsNone || b < Bins) met = bins[b];
    __syncwarp();
    if ((SkipsNone || b < Bins) && (met.lanes & lanes_before) == 0) bins[b] = {0, met.count + __popc(met.lanes)};
    __syncwarp();
    rank.set(k, met.count + __popc(met.lanes & lanes_before));
  }
}

/// The lanes of a warp that have the same bin: those that vote as this one does, on every bit of the number. The
/// predicate that a vote is cast with tells it, too: selected by values, it takes twice the instructions. All lanes
/// call it at once.
template <int Bins>
__device__ __forceinline__ std::uint32_t lanes_with(std::uint32_t bin) {
  std::uint32_t same = ~0U;
#pragma unroll
  for (std::uint32_t bit = 1; bit < Bins; bit *= 2) {
    std::uint32_t alike;
    asm volatile(
        "{\n"
        "  .reg .pred mine;\n"
        "  setp.ne.u32 mine, %1, 0;\n"
        "  vote.ballot.sync.b32 %0, mine, -1;\n"
        "  @!mine not.b32 %0, %0;\n"
        "}"
        : "=r"(alike)
        : "r"(bin & bit));
    same &= alike;
  }
  return same;
}

/// Where a warp's records go that keep their order, if `places`, the warp's own, has where those of each bin begin;
/// past them afterwards. More instructions than rank_in_warp, and fewer accesses to shared memory.
template <int Items, int Bins, class Bin>
__device__ __forceinline__ void rank_by_match(Bin bin, std::uint32_t* places, packed_numbers<Items>& rank) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t lanes_so_far = (2U << lane) - 1;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bin(k);
    const std::uint32_t same = lanes_with<Bins>(b);
    const int last = 31 - __clz(static_cast<int>(same));
    const std::uint32_t so_far = __popc(same & lanes_so_far);
    std::uint32_t begin = 0;
    if (static_cast<int>(lane) == last) begin = atomicAdd(&places[b], so_far);
    begin = __shfl_sync(~0U, begin, last);
    rank.set(k, begin + so_far - 1);
  }
}

}  // namespace sheaf::cuda
