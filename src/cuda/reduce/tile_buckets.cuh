#pragma once

#include <utility>

#include <cooperative_groups.h>

#include "cuda/reduce/add_to.cuh"
#include "cuda/reduce/tile_sort.cuh"

// The kernel of cuda.tiled for many slots: the sums that tiles have of a slot meet in a bucket; several slots may share
// one. Most buckets have few sums, which the thread of the first adds in the order of the tiles. Those of a bucket with
// many are brought side by side in memory first, for a warp to add.
namespace sheaf::cuda {

constexpr std::uint32_t most_tiles_at_once = 512;
constexpr std::uint32_t few_sums = 4;  ///< of a bucket: one thread adds them

/// The buckets in which sums of one slot meet: 2^bits.
struct slot_buckets {
  std::uint32_t bits;

  /// Neighbours stay neighbours, and slots at a regular distance go to many buckets.
  __device__ __forceinline__ std::uint32_t of(std::uint32_t slot) const {
    constexpr std::uint32_t golden = 0x9e3779b1;
    return (slot + (slot >> bits) * golden) & ((1U << bits) - 1);
  }
};

/// Sums with how they are to be added up: slot, then tile.
template <class T>
struct ordered_sums {
  std::uint64_t* order;
  T* sum;

  __device__ __forceinline__ void set(std::uint32_t i, std::uint32_t slot, T value) const {
    order[i] = std::uint64_t{slot} << 32 | blockIdx.x;
    sum[i] = value;
  }
};

/// A bucket with many sums: where they lie side by side.
struct long_bucket {
  std::uint32_t begin;
  std::uint32_t count;
};

/// Counters of a launch, which its first block clears.
struct bucket_totals {
  std::uint32_t has_long_buckets;
  alignas(8) std::uint64_t long_buckets_and_sums;  ///< long buckets in the high half, their sums in the low one
};

/// Tables in device memory.
template <class T>
struct bucket_tables {
  bucket_totals* totals;
  std::uint32_t* count;    ///< sums of each bucket
  std::uint32_t* begin;    ///< of a long bucket: where its sums begin in `joined`
  ordered_sums<T> few;     ///< few_sums places for each bucket; the first sum of a bucket stays in registers
  ordered_sums<T> joined;  ///< sums of long buckets, side by side
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
  T row[tile_warps][most_tiles_at_once];  ///< of each warp: a slot's sum of every tile
};

/// The sums of a thread's segments, in registers; those that are not there are empty.
template <class T>
struct thread_sums {
  std::uint32_t slot[segment_items];
  T sum[segment_items];
  std::uint32_t rank[segment_items];       ///< number of the sum in its bucket, in the order in which blocks came
  std::uint32_t in_bucket[segment_items];  ///< sums of its bucket; 0: there is no sum

  __device__ __forceinline__ bool is_long(int k) const { return in_bucket[k] > few_sums; }
};

/// Numbers the sums of each bucket, and leaves all but the first few where the thread of the first finds them.
template <class T>
__device__ __forceinline__ void rank_sums(const bucket_sums_arguments<T>& a, thread_sums<T>& sums) {
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!is_empty_sum(sums.sum[k])) sums.rank[k] = atomicAdd(a.tables.count + a.buckets.of(sums.slot[k]), 1U);
  }
  bool is_long = false;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (is_empty_sum(sums.sum[k]) || sums.rank[k] == 0) continue;
    if (sums.rank[k] < few_sums) {
      a.tables.few.set(a.buckets.of(sums.slot[k]) * few_sums + sums.rank[k], sums.slot[k], sums.sum[k]);
    } else {
      is_long = true;
    }
  }
  if (is_long) a.tables.totals->has_long_buckets = 1;
}

/// A sum, and how it is to be added up: slot, then tile.
template <class T>
struct ordered_sum {
  std::uint64_t order;
  T sum;

  __device__ __forceinline__ std::uint32_t slot() const { return static_cast<std::uint32_t>(order >> 32); }
};

/// Adds few sums of a bucket to the output, slot by slot, in the order of tiles: the first, and those at `at` + 1 and
/// so on, of which the next is loaded already.
template <class T>
__device__ __forceinline__ void add_few_sums(const bucket_sums_arguments<T>& a, ordered_sum<T> first,
                                             ordered_sum<T> next, std::uint32_t at, std::uint32_t count) {
  ordered_sum<T> sums[few_sums] = {first, next};
#pragma unroll
  for (std::uint32_t j = 2; j < few_sums; ++j)
    sums[j] = {j < count ? __ldcg(a.tables.few.order + at + j) : ~std::uint64_t{0},
               j < count ? __ldcg(a.tables.few.sum + at + j) : empty_sum<T>};
    // Odd-even transposition sort: its comparisons are known when this is compiled, so all stays in registers.
#pragma unroll
  for (std::uint32_t round = 0; round < few_sums; ++round) {
#pragma unroll
    for (std::uint32_t j = round % 2; j + 1 < few_sums; j += 2) {
      if (sums[j].order <= sums[j + 1].order) continue;
      const ordered_sum<T> higher = sums[j];
      sums[j] = sums[j + 1];
      sums[j + 1] = higher;
    }
  }
  T total = sums[0].sum;
#pragma unroll
  for (std::uint32_t j = 1; j < few_sums; ++j) {
    if (j >= count) break;
    if (sums[j].slot() == sums[j - 1].slot()) {
      total += sums[j].sum;
    } else {
      add_to(a.out + sums[j - 1].slot(), total);
      total = sums[j].sum;
    }
  }
  add_to(a.out + (count > few_sums - 1 ? sums[few_sums - 1] : count > 2 ? sums[2] : sums[1]).slot(), total);
}

/// Adds the sums of buckets that have few, those of whose first sums are the thread's.
template <class T>
__device__ __forceinline__ void add_buckets_of_few(const bucket_sums_arguments<T>& a, const thread_sums<T>& sums) {
  ordered_sum<T> next[segment_items];
  const auto is_own = [&](int k) { return sums.in_bucket[k] > 1 && !sums.is_long(k) && sums.rank[k] == 0; };
  const auto place = [&](int k) { return a.buckets.of(sums.slot[k]) * few_sums; };
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (sums.in_bucket[k] == 1) add_to(a.out + sums.slot[k], sums.sum[k]);
    if (is_own(k)) next[k] = {__ldcg(a.tables.few.order + place(k) + 1), __ldcg(a.tables.few.sum + place(k) + 1)};
  }
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!is_own(k)) continue;
    const ordered_sum<T> first{std::uint64_t{sums.slot[k]} << 32 | blockIdx.x, sums.sum[k]};
    add_few_sums(a, first, next[k], place(k), sums.in_bucket[k]);
  }
}

/// Finds room for the sums of the long buckets whose first sum is the thread's, and lists these buckets.
template <class T>
__device__ __forceinline__ void place_long_buckets(const bucket_sums_arguments<T>& a, const thread_sums<T>& sums) {
  constexpr std::uint64_t one_bucket = std::uint64_t{1} << 32;
  std::uint64_t own = 0;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (sums.is_long(k) && sums.rank[k] == 0) own += one_bucket + sums.in_bucket[k];
  }
  if (!__any_sync(~0U, own > 0)) return;
  // One atomic a warp: all of them are on one address.
  std::uint64_t end = own;
#pragma unroll
  for (std::uint32_t step = 1; step < 32; step *= 2) {
    const std::uint64_t lower_lanes = __shfl_up_sync(~0U, end, step);
    if (threadIdx.x % 32 >= step) end += lower_lanes;
  }
  std::uint64_t begin = 0;
  if (threadIdx.x % 32 == 31)
    begin = atomicAdd(reinterpret_cast<unsigned long long*>(&a.tables.totals->long_buckets_and_sums), end);
  begin = __shfl_sync(~0U, begin, 31) + end - own;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!sums.is_long(k) || sums.rank[k] != 0) continue;
    a.tables.begin[a.buckets.of(sums.slot[k])] = static_cast<std::uint32_t>(begin);
    a.tables.long_buckets[begin >> 32] = {static_cast<std::uint32_t>(begin), sums.in_bucket[k]};
    begin += one_bucket + sums.in_bucket[k];
  }
}

/// Adds the sums of a long bucket to the output, slot by slot, by a warp: a slot's sums go to the places of their tiles
/// in `row`, which the lanes add up.
template <class T>
__device__ __forceinline__ void add_long_bucket(const bucket_sums_arguments<T>& a, long_bucket bucket, T* row) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t* const orders = a.tables.joined.order + bucket.begin;
  std::uint32_t least = 0;  // slots below are done
  while (true) {
    std::uint32_t slot = ~std::uint32_t{0};
    for (std::uint32_t j = lane; j < bucket.count; j += 32) {
      const auto s = static_cast<std::uint32_t>(__ldcg(orders + j) >> 32);
      if (s >= least) slot = min(slot, s);
    }
    slot = __reduce_min_sync(~0U, slot);
    if (slot == ~std::uint32_t{0}) return;
    for (std::uint32_t t = lane; t < gridDim.x; t += 32) row[t] = empty_sum<T>;
    __syncwarp();
    for (std::uint32_t j = lane; j < bucket.count; j += 32) {
      const std::uint64_t order = __ldcg(orders + j);
      const T sum = __ldcg(a.tables.joined.sum + bucket.begin + j);
      if (static_cast<std::uint32_t>(order >> 32) == slot) row[static_cast<std::uint32_t>(order)] = sum;
    }
    __syncwarp();
    T total = empty_sum<T>;
    for (std::uint32_t t = lane; t < gridDim.x; t += 32) total += row[t];
#pragma unroll
    for (std::uint32_t step = 16; step > 0; step /= 2) total += __shfl_xor_sync(~0U, total, step);
    if (lane == 0) add_to(a.out + slot, total);
    least = slot + 1;
    __syncwarp();
  }
}

/// out[index[i]] += in[i] for a tile a block and many slots. Cooperative.
template <class T>
__global__ void __launch_bounds__(block_threads, 3)
    sum_tiles_in_buckets(const __grid_constant__ bucket_sums_arguments<T> a) {
  __shared__ bucket_sums_memory<T> shared;
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t thread = blockIdx.x * block_threads + threadIdx.x;
  const std::uint32_t threads = gridDim.x * block_threads;
  thread_values<T> values;
  values.load(a, [&] {
    auto* const counts = reinterpret_cast<uint4*>(a.tables.count);
    for (std::uint32_t b = thread; b < 1U << (a.buckets.bits - 2); b += threads) counts[b] = make_uint4(0, 0, 0, 0);
    if (thread == 0) *a.tables.totals = {};
  });
  auto cleared = grid.barrier_arrive();
  // The output comes into the cache meanwhile.
#pragma unroll
  for (int k = 0; k < segment_items; ++k) asm volatile("prefetch.global.L2 [%0];" ::"l"(a.out + values.slot[k]));
  sort_tile(a, values, shared.sort);
  thread_sums<T> sums;
#pragma unroll
  for (int k = 0; k < segment_items; ++k) sums.sum[k] = empty_sum<T>;
  sum_segments(shared.sort.tile, [&](int k, std::uint32_t slot, T sum) {
    sums.slot[k] = slot;
    sums.sum[k] = sum;
  });
  grid.barrier_wait(std::move(cleared));
  rank_sums(a, sums);
  grid.sync();
  const bool has_long_buckets = __ldcg(&a.tables.totals->has_long_buckets) != 0;
#pragma unroll
  for (int k = 0; k < segment_items; ++k)
    sums.in_bucket[k] = is_empty_sum(sums.sum[k]) ? 0 : __ldcg(a.tables.count + a.buckets.of(sums.slot[k]));
  add_buckets_of_few(a, sums);
  if (!has_long_buckets) return;
  place_long_buckets(a, sums);
  grid.sync();
#pragma unroll
  for (int k = 0; k < segment_items; ++k) {
    if (!sums.is_long(k)) continue;
    const std::uint32_t begin = __ldcg(a.tables.begin + a.buckets.of(sums.slot[k]));
    a.tables.joined.set(begin + sums.rank[k], sums.slot[k], sums.sum[k]);
  }
  grid.sync();
  const auto long_buckets = static_cast<std::uint32_t>(__ldcg(&a.tables.totals->long_buckets_and_sums) >> 32);
  for (std::uint32_t b = thread / 32; b < long_buckets; b += threads / 32) {
    const std::uint64_t packed = __ldcg(reinterpret_cast<const std::uint64_t*>(a.tables.long_buckets + b));
    add_long_bucket(a, {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)},
                    shared.row[threadIdx.x / 32]);
  }
}

}  // namespace sheaf::cuda
