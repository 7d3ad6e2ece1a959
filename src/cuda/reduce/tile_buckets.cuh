#pragma once

#include <cooperative_groups.h>

#include "cuda/reduce/tile_sort.cuh"

// The kernel of cuda.tiled for many slots: the sums that tiles have of a slot meet in a bucket; several slots may share
// one. Most buckets have few sums, which the thread whose sum came first adds up, sorted by slot and tile. Those of a
// bucket with many are gathered side by side, for a warp to add up. Blocks come to a bucket in any order; in which
// order its sums are added depends on their slots and tiles alone.
namespace sheaf::cuda {

constexpr std::uint32_t most_tiles_in_buckets = 256;
constexpr std::uint32_t few_sums = 4;               ///< most sums of a bucket that one thread adds up
constexpr std::uint32_t later_sums = few_sums - 1;  ///< all of them but the first, which stays in registers

/// The buckets in which sums of one slot meet: 2^bits.
struct slot_buckets {
  std::uint32_t bits;

  /// Neighbours stay neighbours, and so do not share a bucket; what lies above the bits is hashed.
  __device__ __forceinline__ std::uint32_t of(std::uint32_t slot) const {
    constexpr std::uint32_t golden = 0x9e3779b1;
    return (slot + (slot >> bits) * golden) & ((1U << bits) - 1);
  }
};

/// A tile's sum of a slot.
template <class T>
struct tile_sum {
  std::uint64_t slot_and_tile;  ///< by which sums of a bucket are sorted; the tile is that of this launch
  T sum;

  __device__ __forceinline__ std::uint32_t slot() const { return static_cast<std::uint32_t>(slot_and_tile >> 32); }
  __device__ __forceinline__ std::uint32_t tile() const { return static_cast<std::uint32_t>(slot_and_tile); }
  static __device__ __forceinline__ tile_sum of_block(std::uint32_t slot, T sum) {
    return {std::uint64_t{slot} << 32 | blockIdx.x, sum};
  }
};

/// An array of them.
template <class T>
struct tile_sum_array {
  std::uint64_t* slot_and_tile;
  T* sum;

  __device__ __forceinline__ void store(std::uint32_t i, const tile_sum<T>& s) const {
    slot_and_tile[i] = s.slot_and_tile;
    sum[i] = s.sum;
  }
  /// Past L1, because other blocks stored it.
  __device__ __forceinline__ tile_sum<T> load(std::uint32_t i) const {
    return {__ldcg(slot_and_tile + i), __ldcg(sum + i)};
  }
};

/// A bucket with more than few_sums: where its sums are gathered.
struct alignas(8) long_bucket {
  std::uint32_t begin;
  std::uint32_t sums;
};
static_assert(sizeof(long_bucket) == sizeof(std::uint64_t), "loaded as one word");

/// Counters of a launch, which its first block clears.
struct bucket_totals {
  std::uint32_t has_long_buckets;
  alignas(8) std::uint64_t long_buckets_and_sums;  ///< long buckets in the high half, their sums in the low one
};

/// Tables in device memory.
template <class T>
struct bucket_tables {
  bucket_totals* totals;
  std::uint32_t* sums_in_bucket;
  std::uint32_t* begin_of_long;  ///< of a long bucket: long_bucket::begin
  tile_sum_array<T> later;       ///< later_sums places for each bucket
  tile_sum_array<T> gathered;    ///< the sums of long buckets
  long_bucket* long_buckets;
};

template <class T>
struct bucket_sums_arguments : tile_sums_arguments<T> {
  slot_buckets buckets;
  bucket_tables<T> tables;
};

template <class T>
union bucket_sums_memory {
  tile_sort_memory<T> sort;
  T row[tile_warps][most_tiles_in_buckets];  ///< of each warp: a slot's sum of every tile
};

/// The sums of a thread's segments, in registers. Whether there is a k-th, its slot says.
template <class T>
struct thread_sums : slot_sums<T> {
  std::uint32_t arrival[segment_items];         ///< set by count_sums: how many sums came to its bucket before it
  std::uint32_t sums_in_bucket[segment_items];  ///< set after all sums have been counted; 0: there is no k-th sum

  __device__ __forceinline__ bool is_there(int k) const { return this->slot[k] != slot_sums<T>::no_slot; }
  __device__ __forceinline__ bool is_first(int k) const { return sums_in_bucket[k] > 0 && arrival[k] == 0; }
  __device__ __forceinline__ bool is_in_long_bucket(int k) const { return sums_in_bucket[k] > few_sums; }
};

/// Counts the sums of each bucket, and stores the second to the last of few where the thread of the first finds them.
template <class T>
__device__ __forceinline__ void count_sums(const bucket_sums_arguments<T>& args, thread_sums<T>& sums) {
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (sums.is_there(k)) sums.arrival[k] = atomicAdd(args.tables.sums_in_bucket + args.buckets.of(sums.slot[k]), 1U);
  }
  bool is_long = false;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!sums.is_there(k) || sums.arrival[k] == 0) continue;
    if (sums.arrival[k] < few_sums) {
      args.tables.later.store(args.buckets.of(sums.slot[k]) * later_sums + sums.arrival[k] - 1,
                              tile_sum<T>::of_block(sums.slot[k], sums.sum[k]));
    } else {
      is_long = true;
    }
  }
  if (is_long) args.tables.totals->has_long_buckets = 1;
}

/// Adds up the sums of a bucket that has few, slot by slot and in the order of tiles: the first, the second, and what
/// is stored from place `at` + 1 on. Adds them to the output, but for those of the highest slot, which are returned.
template <class T>
__device__ __forceinline__ tile_sum<T> add_few_sums(const bucket_sums_arguments<T>& args, const tile_sum<T>& first,
                                                    const tile_sum<T>& second, std::uint32_t at, std::uint32_t count) {
  tile_sum<T> sums[few_sums] = {first, second};
#pragma unroll
  for (std::uint32_t j = 2; j < few_sums; ++j) {
    sums[j] = {~std::uint64_t{0}, empty_sum<T>};
    if (j < count) sums[j] = args.tables.later.load(at + j - 1);
  }
  // Odd-even transposition sort: which places it compares is known when this is compiled, so all stays in registers.
#pragma unroll
  for (std::uint32_t round = 0; round < few_sums; ++round) {
#pragma unroll
    for (std::uint32_t j = round % 2; j + 1 < few_sums; j += 2) {
      if (sums[j].slot_and_tile <= sums[j + 1].slot_and_tile) continue;
      const tile_sum<T> higher = sums[j];
      sums[j] = sums[j + 1];
      sums[j + 1] = higher;
    }
  }
  tile_sum<T> open = sums[0];
#pragma unroll
  for (std::uint32_t j = 1; j < few_sums; ++j) {
    if (j >= count) break;
    if (sums[j].slot() == open.slot()) {
      open.sum += sums[j].sum;
    } else {
      if (!is_empty_sum(open.sum)) args.out[open.slot()] += open.sum;
      open = sums[j];
    }
  }
  return open;
}

/// Adds the sums of buckets that have few to the output, those of whose first sums are the thread's.
template <class T>
__device__ __forceinline__ void add_short_buckets(const bucket_sums_arguments<T>& args, const thread_sums<T>& sums) {
  const auto adds_several = [&](int k) {
    return sums.is_first(k) && sums.sums_in_bucket[k] > 1 && !sums.is_in_long_bucket(k);
  };
  const auto place = [&](int k) { return args.buckets.of(sums.slot[k]) * later_sums; };
  tile_sum<T> second[segment_items];  // loaded beforehand, all at once
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (adds_several(k)) second[k] = args.tables.later.load(place(k));
  }
  slot_sums<T> totals;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (sums.sums_in_bucket[k] == 1) totals.set(k, sums.slot[k], sums.sum[k]);
    if (!adds_several(k)) continue;
    const auto first = tile_sum<T>::of_block(sums.slot[k], sums.sum[k]);
    const tile_sum<T> last = add_few_sums(args, first, second[k], place(k), sums.sums_in_bucket[k]);
    totals.set(k, last.slot(), last.sum);
  }
  totals.add_to(args.out);
}

/// Finds room for the sums of the long buckets whose first sums are the thread's, and lists these buckets.
template <class T>
__device__ __forceinline__ void place_long_buckets(const bucket_sums_arguments<T>& args, const thread_sums<T>& sums) {
  constexpr std::uint64_t one_bucket = std::uint64_t{1} << 32;
  const auto places = [&](int k) { return sums.is_first(k) && sums.is_in_long_bucket(k); };
  std::uint64_t own = 0;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (places(k)) own += one_bucket + sums.sums_in_bucket[k];
  }
  if (!__any_sync(~0U, own > 0)) return;
  // One atomic a warp: all of them are on one address.
  const std::uint64_t end = inclusive_warp_sum(own, threadIdx.x % 32);
  std::uint64_t begin = 0;
  if (threadIdx.x % 32 == 31)
    begin = atomicAdd(reinterpret_cast<unsigned long long*>(&args.tables.totals->long_buckets_and_sums), end);
  begin = __shfl_sync(~0U, begin, 31) + end - own;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!places(k)) continue;
    args.tables.begin_of_long[args.buckets.of(sums.slot[k])] = static_cast<std::uint32_t>(begin);
    args.tables.long_buckets[begin >> 32] = {static_cast<std::uint32_t>(begin), sums.sums_in_bucket[k]};
    begin += one_bucket + sums.sums_in_bucket[k];
  }
}

/// Adds the sums of a long bucket to the output, slot by slot, by a warp: a slot's sums go to the places of their tiles
/// in `row`, which the lanes add up.
template <class T>
__device__ __forceinline__ void add_long_bucket(const bucket_sums_arguments<T>& args, long_bucket bucket, T* row) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t next_slot = 0;  // slots below are done
  while (true) {
    std::uint32_t slot = ~std::uint32_t{0};
    for (std::uint32_t j = lane; j < bucket.sums; j += 32) {
      const auto s = static_cast<std::uint32_t>(__ldcg(args.tables.gathered.slot_and_tile + bucket.begin + j) >> 32);
      if (s >= next_slot) slot = min(slot, s);
    }
    slot = __reduce_min_sync(~0U, slot);
    if (slot == ~std::uint32_t{0}) return;
    for (std::uint32_t t = lane; t < gridDim.x; t += 32) row[t] = empty_sum<T>;
    __syncwarp();
    for (std::uint32_t j = lane; j < bucket.sums; j += 32) {
      const tile_sum<T> s = args.tables.gathered.load(bucket.begin + j);
      if (s.slot() == slot) row[s.tile()] = s.sum;
    }
    __syncwarp();
    T total = empty_sum<T>;
    for (std::uint32_t t = lane; t < gridDim.x; t += 32) total += row[t];
#pragma unroll
    for (std::uint32_t step = 16; step > 0; step /= 2) total += __shfl_xor_sync(~0U, total, step);
    if (lane == 0 && !is_empty_sum(total)) args.out[slot] += total;
    next_slot = slot + 1;
    __syncwarp();
  }
}

/// out[index[i]] += in[i] for many slots, by a block for each tile. Cooperative.
template <class T>
__global__ void __launch_bounds__(block_threads, 3)
    sum_tiles_in_buckets(const __grid_constant__ bucket_sums_arguments<T> args) {
  __shared__ bucket_sums_memory<T> shared;
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t thread = blockIdx.x * block_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * block_threads;
  thread_values<T> values;
  values.load(args, [&] {
    auto* const counts = reinterpret_cast<uint4*>(args.tables.sums_in_bucket);
    for (std::uint32_t b = thread; b < 1U << (args.buckets.bits - 2); b += threads) counts[b] = make_uint4(0, 0, 0, 0);
    if (thread == 0) *args.tables.totals = {};
  });
  auto counters_cleared = grid.barrier_arrive();
  // The slots of the output come into L2 meanwhile.
#pragma unroll
  for (int k = 0; k < segment_items; ++k) asm volatile("prefetch.global.L2 [%0];" ::"l"(args.out + values.slot[k]));
  sort_tile(args, values, shared.sort);
  thread_sums<T> sums;
  sum_segments(shared.sort.tile, [&](int k, std::uint32_t slot, T sum) { sums.set(k, slot, sum); });
  grid.barrier_wait(std::move(counters_cleared));
  count_sums(args, sums);
  grid.sync();
  const bool has_long_buckets = __ldcg(&args.tables.totals->has_long_buckets) != 0;
#pragma unroll
  for (int k = 0; k < segment_items; ++k)
    sums.sums_in_bucket[k] = sums.is_there(k) ? __ldcg(args.tables.sums_in_bucket + args.buckets.of(sums.slot[k])) : 0;
  add_short_buckets(args, sums);
  if (!has_long_buckets) return;
  place_long_buckets(args, sums);
  grid.sync();
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!sums.is_in_long_bucket(k)) continue;
    const std::uint32_t begin = __ldcg(args.tables.begin_of_long + args.buckets.of(sums.slot[k]));
    args.tables.gathered.store(begin + sums.arrival[k], tile_sum<T>::of_block(sums.slot[k], sums.sum[k]));
  }
  grid.sync();
  const auto long_buckets = static_cast<std::uint32_t>(__ldcg(&args.tables.totals->long_buckets_and_sums) >> 32);
  for (std::uint32_t b = thread / 32; b < long_buckets; b += threads / 32) {
    const std::uint64_t packed = __ldcg(reinterpret_cast<const std::uint64_t*>(args.tables.long_buckets + b));
    add_long_bucket(args, {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)},
                    shared.row[threadIdx.x / 32]);
  }
}

}  // namespace sheaf::cuda
