#pragma once

#include "cuda/device/launch.cuh"
#include "cuda/device/words.cuh"
#include "cuda/movement/buckets/tile_sort.cuh"
#include "cuda/movement/if_ordered/sample.cuh"

// Propagation blocking for a random gather, in three streams over memory. The first sorts each tile's indices into
// buckets of the table. The second reads the table bucket by bucket, so that L2 holds what is read. The third collects
// each tile's records from the buckets and restores the tile's order in shared memory. The first stream leaves a gather
// schedule, which can be applied to any table (inspector and executor).
namespace sheaf::cuda {

/// Marks of a position that has no slot in its tile.
constexpr std::uint16_t position_is_bad = 0xffff;      ///< the position's index names no record
constexpr std::uint16_t position_overflowed = 0xfffe;  ///< the list of the position's bucket was full

/// The gather schedule of an index list, in device memory. Bucket b of the table begins at record b << shift. The run
/// of a tile and bucket is the part of the tile, sorted by bucket, that falls into the bucket.
struct gather_schedule {
  std::uint32_t* bucket_indices;            ///< the buckets' lists of indices, counted from the bucket's first record
  std::uint32_t* bucket_sizes;              ///< entries sent to each bucket's list, which may exceed its capacity
  const unsigned long long* bucket_begins;  ///< where contiguous lists begin, buckets + 1 values; null: fixed capacity
  std::uint64_t capacity;                   ///< entries of each list, if capacity is fixed
  std::uint16_t* tile_slots;                ///< for each position its slot in its tile sorted by bucket, or a mark
  std::uint32_t* run_in_bucket;             ///< for each tile and bucket: where the run begins in the bucket's list
  std::uint16_t* run_in_tile;               ///< for each tile and bucket: where the run begins in the sorted tile
  std::uint64_t count;                      ///< positions of the schedule
  std::uint64_t first_position;             ///< the schedule's first position in the caller's list
  std::uint32_t buckets;
  std::uint32_t shift;
};

__device__ __forceinline__ std::uint64_t begin_of(const gather_schedule& s, std::uint32_t bucket) {
  return s.bucket_begins == nullptr ? bucket * s.capacity : s.bucket_begins[bucket];
}

__device__ __forceinline__ std::uint64_t capacity_of(const gather_schedule& s, std::uint32_t bucket) {
  return s.bucket_begins == nullptr ? s.capacity : s.bucket_begins[bucket + 1] - s.bucket_begins[bucket];
}

/// Whether a staged number needs its bucket beside it.
template <class Source>
constexpr bool stages_bucket = sizeof(typename Source::stored) < sizeof(typename Source::number);

/// Shared memory of build_schedule: staged numbers, and their buckets where the numbers do not tell them.
template <class Source>
constexpr std::size_t build_shared_bytes = bucketing_tile*(sizeof(typename Source::stored) +
                                                           (stages_bucket<Source> ? sizeof(std::uint16_t) : 0));

template <class Source>
struct build_arguments {
  Source source;
  order_sample sample;
  std::uint32_t* tile_counter;  ///< for tiles drawn dynamically; null if the list is known to be scattered
};

/// The shared memory in which build_schedule sorts a tile.
template <class Source>
struct staged_numbers {
  typename Source::stored* number;
  std::uint16_t* bucket;  ///< not used where a number tells it

  __device__ __forceinline__ void put(std::uint32_t slot, typename Source::stored value, std::uint32_t b) const {
    number[slot] = value;
    if constexpr (stages_bucket<Source>) bucket[slot] = static_cast<std::uint16_t>(b);
  }
  __device__ __forceinline__ std::uint32_t bucket_of(std::uint32_t slot, std::uint32_t shift) const {
    if constexpr (stages_bucket<Source>) return bucket[slot];
    return static_cast<std::uint32_t>(number[slot] >> shift);
  }
};

/// Sorts the tile in shared memory, and notes each position's slot in it, or why it has none.
template <class Source>
__device__ __forceinline__ void stage_numbers(const gather_schedule& schedule, const positions_of_tile<Source>& tile,
                                              const bucket_runs& runs, const staged_numbers<Source>& staged,
                                              std::uint64_t first, std::uint32_t records) {
#pragma unroll
  for (int k = 0; k < bucketing_items; ++k) {
    const std::uint32_t i = k * bucketing_threads + threadIdx.x;
    const std::uint32_t bucket = tile.bucket.get(k);
    std::uint16_t slot_or_mark = position_is_bad;
    if (bucket != no_bin) {
      const std::uint32_t slot = runs.begin[bucket] + tile.rank.get(k);
      staged.put(slot, tile.low_bits[k], bucket);
      slot_or_mark = runs.slot_to_entry[bucket] + slot < capacity_of(schedule, bucket)
                         ? static_cast<std::uint16_t>(slot)
                         : position_overflowed;
    }
    if (i < records) __stcs(schedule.tile_slots + first + i, slot_or_mark);
  }
}

/// Writes the sorted tile's runs to the buckets' lists, as far as these have room.
template <class Source>
__device__ __forceinline__ void write_lists(const gather_schedule& schedule, const bucket_runs& runs,
                                            const staged_numbers<Source>& staged) {
  using stored = typename Source::stored;
  stored* const bucket_numbers = reinterpret_cast<stored*>(schedule.bucket_indices);
  const stored mask_within_bucket = (schedule.shift < 8 * sizeof(stored) ? stored{1} << schedule.shift : stored{0}) - 1;
#pragma unroll
  for (int k = 0; k < bucketing_items; ++k) {
    const std::uint32_t slot = k * bucketing_threads + threadIdx.x;
    if (slot >= runs.good_records) continue;
    const std::uint32_t b = staged.bucket_of(slot, schedule.shift);
    const std::uint32_t entry = runs.slot_to_entry[b] + slot;
    if (entry < capacity_of(schedule, b)) {
      __stcs(bucket_numbers + begin_of(schedule, b) + entry, staged.number[slot] & mask_within_bucket);
    }
  }
}

/// Builds the schedule: sorts each tile's indices by bucket in shared memory, reserves the tile's runs in the buckets'
/// lists by one atomic for each, and writes the runs.
template <class Source>
__global__ void __launch_bounds__(bucketing_threads, 2)
    build_schedule(const __grid_constant__ gather_schedule schedule,
                   const __grid_constant__ build_arguments<Source> args) {
  using stored = typename Source::stored;
  extern __shared__ __align__(16) unsigned char shared[];
  const staged_numbers<Source> staged{reinterpret_cast<stored*>(shared),
                                      reinterpret_cast<std::uint16_t*>(shared + bucketing_tile * sizeof(stored))};
  __shared__ bucket_runs runs;
  if (args.tile_counter != nullptr && !verdict_is_scattered(args.sample)) return;
  const std::uint64_t tiles = (schedule.count + bucketing_tile - 1) / bucketing_tile;
  const tile_scheduler scheduler(args.tile_counter);
  for (std::uint64_t tile = scheduler.first(); tile < tiles; tile = scheduler.next(tile)) {
    const std::uint64_t first = tile * bucketing_tile;
    const auto records = static_cast<std::uint32_t>(min(schedule.count - first, std::uint64_t{bucketing_tile}));
    positions_of_tile<Source> positions;
    positions.load(args.source, first, records, schedule.shift);
    const reserved_run run = positions.reserve_runs(runs, schedule.bucket_sizes);
    if (threadIdx.x < schedule.buckets) {
      schedule.run_in_bucket[tile * schedule.buckets + threadIdx.x] = run.entry;
      schedule.run_in_tile[tile * schedule.buckets + threadIdx.x] = static_cast<std::uint16_t>(run.begin);
    }
    stage_numbers(schedule, positions, runs, staged, first, records);
    __syncthreads();
    write_lists(schedule, runs, staged);
    __syncthreads();
  }
}

/// Histogram of the list over the table's buckets; `total` is zero before.
template <class Index>
__global__ void __launch_bounds__(bucketing_threads)
    count_buckets(const Index* index, std::uint64_t count, Index last, std::uint32_t shift, unsigned long long* total) {
  __shared__ std::uint32_t histogram[most_buckets];
  histogram[threadIdx.x] = 0;
  __syncthreads();
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * bucketing_threads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * bucketing_threads) {
    const Index value = __ldcs(index + i);
    if (value <= last) atomicAdd(&histogram[value >> shift], 1U);
  }
  __syncthreads();
  if (histogram[threadIdx.x] > 0)
    atomicAdd(total + threadIdx.x, static_cast<unsigned long long>(histogram[threadIdx.x]));
}

/// Exclusive prefix sums of the histogram: where contiguous lists begin, and where the last one ends. One block of
/// most_buckets threads.
static __global__ void __launch_bounds__(most_buckets)
    scan_buckets(const unsigned long long* total, unsigned long long* begin) {
  __shared__ __align__(16) unsigned long long warp_sums[most_buckets / 32];
  unsigned long long prefix[1] = {total[threadIdx.x]};
  const unsigned long long bucket_total = prefix[0];
  scan_bins<most_buckets, most_buckets>(prefix, warp_sums);
  begin[threadIdx.x] = prefix[0];
  if (threadIdx.x == most_buckets - 1) begin[most_buckets] = prefix[0] + bucket_total;
}

/// Reads the table bucket by bucket, each bucket's records in the order of its list.
template <class Word, int Items>
__global__ void __launch_bounds__(block_threads)
    read_buckets(const __grid_constant__ gather_schedule schedule, const std::byte* table, std::uint32_t stride,
                 Word* bucket_words, std::uint32_t tiles_per_bucket, const order_sample sample,
                 std::uint32_t* tile_counter) {
  constexpr std::uint32_t tile_records = block_threads * Items;
  if (tile_counter != nullptr && !verdict_is_scattered(sample)) return;
  const std::uint64_t tiles = std::uint64_t{tiles_per_bucket} * schedule.buckets;
  const tile_scheduler scheduler(tile_counter);
  for (std::uint64_t t = scheduler.first(); t < tiles; t = scheduler.next(t)) {
    if (tile_counter != nullptr) __syncthreads();
    const auto bucket = static_cast<std::uint32_t>(t / tiles_per_bucket);
    const std::uint64_t size = min(std::uint64_t{schedule.bucket_sizes[bucket]}, capacity_of(schedule, bucket));
    const std::uint64_t first = (t - std::uint64_t{bucket} * tiles_per_bucket) * tile_records;
    if (first >= size) continue;
    const auto records = static_cast<std::uint32_t>(min(size - first, std::uint64_t{tile_records}));
    const std::uint32_t* const indices = schedule.bucket_indices + begin_of(schedule, bucket) + first;
    Word* const output = bucket_words + begin_of(schedule, bucket) + first;
    const std::byte* const bucket_table = table + (std::uint64_t{bucket} << schedule.shift) * stride;
    std::uint32_t index[Items];
    Word word[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) index[k] = __ldcs(indices + min(k * block_threads + threadIdx.x, records - 1));
#pragma unroll
    for (int k = 0; k < Items; ++k) word[k] = load_word<Word>(bucket_table + std::uint64_t{index[k]} * stride);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      if (k * block_threads + threadIdx.x < records) __stcs(output + k * block_threads + threadIdx.x, word[k]);
    }
  }
}

/// What overflowed positions are gathered from, one by one; not used where no list can overflow.
struct overflow_source {
  const void* index;
  std::uint32_t wide_index;  ///< 1 if indices have 8 bytes, 0 if they have 4
  const std::byte* table;
  std::uint64_t stride;

  template <class Word>
  __device__ __forceinline__ Word at(std::uint64_t position) const {
    const std::uint64_t record = wide_index != 0 ? static_cast<const std::uint64_t*>(index)[position]
                                                 : static_cast<const std::uint32_t*>(index)[position];
    return load_word<Word>(table + record * stride);
  }
};

/// Collects each tile's records from its runs into shared memory and writes them in the tile's order. Records of bad
/// positions are cleared, or left as they are if `skips_bad` is 1.
template <class Word, class Overflow>
__global__ void __launch_bounds__(bucketing_threads)
    collect_tiles(const __grid_constant__ gather_schedule schedule, const Word* bucket_words, std::byte* out,
                  std::uint64_t out_stride, const Overflow overflow, std::uint32_t skips_bad, const order_sample sample,
                  std::uint32_t* tile_counter) {
  constexpr int items = bucketing_items;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const staged = reinterpret_cast<Word*>(shared);
  __shared__ std::uint64_t run_source[most_buckets];
  __shared__ std::uint16_t run_begin[most_buckets];
  __shared__ std::uint16_t run_length[most_buckets];
  __shared__ std::uint32_t good_records;
  if (tile_counter != nullptr && !verdict_is_scattered(sample)) return;
  const std::uint64_t tiles = (schedule.count + bucketing_tile - 1) / bucketing_tile;
  const tile_scheduler scheduler(tile_counter);
  for (std::uint64_t tile = scheduler.first(); tile < tiles; tile = scheduler.next(tile)) {
    const std::uint64_t first = tile * bucketing_tile;
    const auto records = static_cast<std::uint32_t>(min(schedule.count - first, std::uint64_t{bucketing_tile}));
    std::uint16_t slot[items];
#pragma unroll
    for (int k = 0; k < items; ++k) {
      slot[k] = __ldcs(schedule.tile_slots + first + min(k * bucketing_threads + threadIdx.x, records - 1));
    }
    std::uint32_t good = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      good += k * bucketing_threads + threadIdx.x < records && slot[k] != position_is_bad ? 1 : 0;
    }
    const std::uint32_t good_in_warp = __reduce_add_sync(~0U, good);
    if (threadIdx.x == 0) good_records = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) atomicAdd(&good_records, good_in_warp);
    for (std::uint32_t b = threadIdx.x; b < schedule.buckets; b += bucketing_threads) {
      run_begin[b] = schedule.run_in_tile[tile * schedule.buckets + b];
    }
    __syncthreads();
    for (std::uint32_t bucket = threadIdx.x; bucket < schedule.buckets; bucket += bucketing_threads) {
      const std::uint32_t run_end = bucket + 1 < schedule.buckets ? run_begin[bucket + 1] : good_records;
      const std::uint64_t entry = schedule.run_in_bucket[tile * schedule.buckets + bucket];
      const std::uint64_t capacity = capacity_of(schedule, bucket);
      run_source[bucket] = begin_of(schedule, bucket) + entry;
      run_length[bucket] = static_cast<std::uint16_t>(
          entry < capacity ? min(std::uint64_t{run_end - run_begin[bucket]}, capacity - entry) : 0);
    }
    __syncthreads();
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll 4
    for (std::uint32_t b = threadIdx.x / 32; b < schedule.buckets; b += bucketing_threads / 32) {
      const Word* const run = bucket_words + run_source[b];
      for (std::uint32_t i = lane; i < run_length[b]; i += 32) staged[run_begin[b] + i] = __ldcs(run + i);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const std::uint32_t i = k * bucketing_threads + threadIdx.x;
      if (i >= records) continue;
      Word word{};
      if (slot[k] < bucketing_tile) {
        word = staged[slot[k]];
      } else if (slot[k] == position_is_bad) {
        if (skips_bad != 0) continue;
      } else {
        word = overflow.template at<Word>(first + i);
      }
      store_streamed(out + (first + i) * out_stride, word);
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
