#pragma once

#include <cstdint>

// Ranking, the heart of every split: the rank of a record is its position among the records of its bin in the tile. A
// thread holds Items records. Bins are numbered below Bins; a record whose bin number is not takes no part.
// HasAllRecords promises that no record is left out.
namespace sheaf::cuda {

constexpr std::uint32_t no_bin = 0xffff;  ///< bin number of a record that takes no part

/// Items numbers of 16 bits, two in a register. The argument k must be a constant once loops are unrolled, or the
/// registers become local memory.
template <int Items>
class packed_numbers {
 public:
  __device__ __forceinline__ void set(int k, std::uint32_t value) {
    if (k % 2 == 0) {
      pairs_[k / 2] = value;
    } else {
      pairs_[k / 2] |= value << 16;  // items are set in ascending order
    }
  }
  __device__ __forceinline__ std::uint32_t get(int k) const {
    return k % 2 == 0 ? pairs_[k / 2] & 0xffff : pairs_[k / 2] >> 16;
  }
  /// The sum must stay below 2^16.
  __device__ __forceinline__ void add(int k, std::uint32_t value) { pairs_[k / 2] += value << (k % 2 * 16); }

 private:
  std::uint32_t pairs_[(Items + 1) / 2];
};

/// Items numbers of 8 bits, four in a register; k is a constant as in packed_numbers.
template <int Items>
class packed_bytes {
 public:
  __device__ __forceinline__ void set(int k, std::uint32_t value) {
    if (k % 4 == 0) {
      fours_[k / 4] = value;
    } else {
      fours_[k / 4] |= value << (k % 4 * 8);  // items are set in ascending order
    }
  }
  __device__ __forceinline__ std::uint32_t get(int k) const { return __byte_perm(fours_[k / 4], 0, 0x4440 + k % 4); }

 private:
  std::uint32_t fours_[(Items + 3) / 4];
};

/// Whether all records of a warp have the same bin, as in sorted lists and lists of one key. Their ranks are
/// consecutive then, and lanes need not look for each other.
template <int Items, class Bin>
__device__ __forceinline__ bool is_one_bin(Bin bin) {
  const std::uint32_t first = __shfl_sync(~0U, bin(0), 0);
  if (!__all_sync(~0U, bin(0) == first)) return false;
  bool is_same = true;
#pragma unroll
  for (int k = 0; k < Items; ++k) is_same = is_same && bin(k) == first;
  return __all_sync(~0U, is_same);
}

/// The lane whose bin is tried as the shared one. If a warp's records are sorted and fall into two bins at most, at
/// least half of the lanes share this lane's bin.
constexpr int middle_lane = 16;

/// Whether many lanes of the warp share the middle lane's bin, judged by each lane's first record. Sorted and skewed
/// lists have such a bin, and their same-address atomics would run one after another.
template <class Bin>
__device__ __forceinline__ bool has_shared_bin(Bin bin) {
  constexpr int many = 6;
  const std::uint32_t b = bin(0);
  return __popc(__ballot_sync(~0U, b == __shfl_sync(~0U, b, middle_lane))) >= many;
}

/// Histogram update with a warp-aggregated atomic for one bin: lanes that share the middle lane's bin are added by one
/// atomic, the others by one each. Returns the counter's value before this lane, as if lanes had come one by one.
template <int Bins, bool HasAllRecords>
__device__ __forceinline__ std::uint32_t add_aggregated(std::uint32_t bin, std::uint32_t* histogram) {
  const std::uint32_t lane = threadIdx.x % 32;
  const bool is_aggregated = bin == __shfl_sync(~0U, bin, middle_lane);
  const std::uint32_t peers = __ballot_sync(~0U, is_aggregated);
  std::uint32_t before = 0;
  const bool adds = lane == middle_lane || !is_aggregated;
  if (adds && (HasAllRecords || bin < Bins))
    before = atomicAdd(&histogram[bin], lane == middle_lane ? __popc(peers) : 1U);
  const std::uint32_t first = __shfl_sync(~0U, before, middle_lane);
  return is_aggregated ? first + __popc(peers & ((1U << lane) - 1)) : before;
}

/// Unordered ranking: ranks inside a bin come in any order, from one atomic for each record on the block's histogram.
/// The histogram must be zero before and holds the bins' counts afterwards. bin(k) is the bin of the thread's k-th
/// record.
template <int Items, int Bins, bool HasAllRecords = false, class Bin>
__device__ __forceinline__ void rank_unordered(Bin bin, std::uint32_t* histogram, packed_numbers<Items>& rank) {
  if (is_one_bin<Items>(bin)) {
    std::uint32_t first = 0;
    if (threadIdx.x % 32 == 0 && bin(0) < Bins) first = atomicAdd(&histogram[bin(0)], 32U * Items);
    first = __shfl_sync(~0U, first, 0) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < Items; ++k) rank.set(k, first + k * 32);
    return;
  }
  if (has_shared_bin(bin)) {
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      rank.set(k, add_aggregated<Bins, HasAllRecords>(bin(k), histogram));
    }
    return;
  }
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const std::uint32_t b = bin(k);
    rank.set(k, HasAllRecords || b < Bins ? atomicAdd(&histogram[b], 1U) : 0);
  }
}

/// A bin of a warp's histogram while the warp ranks its records step by step.
struct warp_bin {
  /// While the warp ranks: bit mask of the lanes whose record of the current step is in the bin. Afterwards the block
  /// writes here where the warp's records of the bin begin.
  std::uint32_t lanes_or_begin;
  std::uint32_t count;  ///< records of earlier steps in the bin; of the hot bin only once it gives way, and at the end
};

/// One step of rank_in_warp: lanes that take part set their bits in the mask of their bin, which tells them of each
/// other. Returns the bin as the step found it, with the mask; nothing to lanes that do not take part.
__device__ __forceinline__ warp_bin meet_in_bin(std::uint32_t bin, bool takes_part, warp_bin* bins) {
  const std::uint32_t lane = threadIdx.x % 32;
  warp_bin found{};
  if (takes_part) atomicOr(&bins[bin].lanes_or_begin, 1U << lane);
  __syncwarp();
  if (takes_part) found = bins[bin];
  __syncwarp();
  const bool is_first = (found.lanes_or_begin & ((1U << lane) - 1)) == 0;
  if (takes_part && is_first) bins[bin] = {0, found.count + __popc(found.lanes_or_begin)};
  __syncwarp();
  return found;
}

/// Stable ranking in a warp (warp-level multisplit). Step k ranks the k-th record of each lane; ranks inside a bin
/// follow steps, then lanes. Lanes of one bin find each other by or-ing their bits into the bin's mask in shared
/// memory, where Patidar and Narayanan 2009, Appendix A, let lanes take turns. Those atomics come one after another
/// where many lanes have one bin: the lanes of the bin that most have in the first step find each other by a vote, and
/// where none is left those of the middle lane's bin.
/// `bins` belongs to the warp and must be zero before; afterwards it holds the warp's counts.
template <int Items, int Bins, bool HasAllRecords = false, class Bin>
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
  const warp_bin first = meet_in_bin(bin(0), HasAllRecords || bin(0) < Bins, bins);
  rank.set(0, __popc(first.lanes_or_begin & lanes_before));
  constexpr std::uint32_t many_lanes = 6;
  const std::uint32_t most = __reduce_max_sync(~0U, __popc(first.lanes_or_begin) << 16 | bin(0));
  if (most < many_lanes << 16) {
#pragma unroll
    for (int k = 1; k < Items; ++k) {
      const warp_bin found = meet_in_bin(bin(k), HasAllRecords || bin(k) < Bins, bins);
      rank.set(k, found.count + __popc(found.lanes_or_begin & lanes_before));
    }
    return;
  }
  std::uint32_t hot = most & 0xffff;
  std::uint32_t hot_records = most >> 16;
#pragma unroll
  for (int k = 1; k < Items; ++k) {
    bool is_hot = bin(k) == hot;
    std::uint32_t hot_lanes = __ballot_sync(~0U, is_hot);
    if (hot_lanes == 0) {  // in a sorted list, the next bin has begun
      const std::uint32_t next = __shfl_sync(~0U, bin(k), middle_lane);
      if (HasAllRecords || next < Bins) {
        if (lane == 0) bins[hot].count = hot_records;
        __syncwarp();
        hot = next;
        hot_records = bins[hot].count;
        is_hot = bin(k) == hot;
        hot_lanes = __ballot_sync(~0U, is_hot);
      }
    }
    const warp_bin found = meet_in_bin(bin(k), !is_hot && (HasAllRecords || bin(k) < Bins), bins);
    rank.set(k, is_hot ? hot_records + __popc(hot_lanes & lanes_before)
                       : found.count + __popc(found.lanes_or_begin & lanes_before));
    hot_records += __popc(hot_lanes);
  }
  if (lane == 0) bins[hot].count = hot_records;
  __syncwarp();
}

/// Match-any: a mask of the lanes that have the same bin as this one. It is the intersection, over the bits of the bin
/// number, of the lanes whose ballot agrees with this lane's. The predicate that casts the vote also inverts the
/// ballot; choosing between the two values instead takes twice the instructions. All lanes call it at once.
template <int Bins>
__device__ __forceinline__ std::uint32_t match_any(std::uint32_t bin) {
  std::uint32_t peers = ~0U;
#pragma unroll
  for (std::uint32_t bit = 1; bit < Bins; bit *= 2) {
    std::uint32_t agreeing;
    asm volatile(
        "{\n"
        "  .reg .pred votes;\n"
        "  setp.ne.u32 votes, %1, 0;\n"
        "  vote.ballot.sync.b32 %0, votes, -1;\n"
        "  @!votes not.b32 %0, %0;\n"
        "}"
        : "=r"(agreeing)
        : "r"(bin & bit));
    peers &= agreeing;
  }
  return peers;
}

/// Stable match-any ranking in a warp. `offsets` belongs to the warp and holds where the warp's records of each bin
/// begin; afterwards it holds where they end. The ranks include these offsets. The first `used` records are ranked.
/// Takes more instructions than rank_in_warp, and fewer accesses to shared memory.
template <int Items, int Bins, class Bin>
__device__ __forceinline__ void rank_by_match(Bin bin, std::uint32_t* offsets, packed_numbers<Items>& rank,
                                              int used = Items) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t lanes_so_far = (2U << lane) - 1;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    if (k >= used) break;
    const std::uint32_t bin_index = bin(k);
    const std::uint32_t peers = match_any<Bins>(bin_index);
    const int last_peer = 31 - __clz(static_cast<int>(peers));
    const std::uint32_t peers_so_far = __popc(peers & lanes_so_far);
    std::uint32_t begin = 0;
    if (static_cast<int>(lane) == last_peer) begin = atomicAdd(&offsets[bin_index], peers_so_far);
    begin = __shfl_sync(~0U, begin, last_peer);
    rank.set(k, begin + peers_so_far - 1);
  }
}

}  // namespace sheaf::cuda
