#pragma once

#include "cuda/movement/buckets/tile_sort.cuh"
#include "cuda/movement/if_ordered/direct.hpp"

// The kernels of the bucketed scatters and sums: one pass of propagation blocking, which sends records with their
// indices to coarse or fine buckets, and the last kernel, which puts a fine bucket in order in shared memory and writes
// it.
namespace sheaf::cuda {

constexpr std::uint32_t write_threads = 512;  ///< block size of write_fine_buckets

/// A record beside its tag, which is one more than its position in the list: of two records for one place the one with
/// the higher tag is the last.
template <class Record>
struct tagged;
template <>
struct alignas(8) tagged<std::uint32_t> {
  std::uint32_t record;
  std::uint32_t tag;
};
template <>
struct alignas(16) tagged<uint2> {
  uint2 record;
  std::uint32_t tag;
  std::uint32_t unused;
};

template <class Word>
constexpr bool is_tagged = false;
template <class Record>
constexpr bool is_tagged<tagged<Record>> = true;

__device__ __forceinline__ tagged<std::uint32_t> with_tag(std::uint32_t record, std::uint32_t tag) {
  return {record, tag};
}
__device__ __forceinline__ tagged<uint2> with_tag(uint2 record, std::uint32_t tag) { return {record, tag, 0}; }

/// Loads and stores of words that no thread needs soon.
template <class Word>
__device__ __forceinline__ Word load_once(const Word* from) {
  return __ldcs(from);
}
__device__ __forceinline__ tagged<std::uint32_t> load_once(const tagged<std::uint32_t>* from) {
  const uint2 read = __ldcs(reinterpret_cast<const uint2*>(from));
  return {read.x, read.y};
}
__device__ __forceinline__ tagged<uint2> load_once(const tagged<uint2>* from) {
  const uint4 read = __ldcs(reinterpret_cast<const uint4*>(from));
  return {make_uint2(read.x, read.y), read.z, read.w};
}
__device__ __forceinline__ row_position load_once(const row_position* from) {
  return load_word<row_position>(reinterpret_cast<const std::byte*>(from));
}
template <class Word>
__device__ __forceinline__ void store_once(Word* to, Word word) {
  __stcs(to, word);
}
__device__ __forceinline__ void store_once(tagged<std::uint32_t>* to, tagged<std::uint32_t> word) {
  __stcs(reinterpret_cast<uint2*>(to), make_uint2(word.record, word.tag));
}
__device__ __forceinline__ void store_once(tagged<uint2>* to, tagged<uint2> word) {
  __stcs(reinterpret_cast<uint4*>(to), make_uint4(word.record.x, word.record.y, word.tag, word.unused));
}

/// Brings a word that found its bucket full to its place: a record is written, and a term (reduce/bucket_sums.cuh) is
/// added, or subtracted.
template <class Word>
__device__ __forceinline__ void leave_at(std::byte* place, const Word& word, bool /*subtracts*/) {
  store_word(place, word);
}

/// The records that found their buckets full, where they may not be written at once because the last of a place has to
/// win: their tags, in any order.
struct overflow_list {
  std::uint32_t* tags;
  std::uint32_t* count;
};

/// Arguments of one bucketing pass. Its input is the caller's list, or the coarse buckets that the first pass filled.
template <class Index>
struct bucket_pass_arguments {
  list_source<Index> list;
  const std::byte* in;
  std::uint64_t in_stride;
  std::uint64_t count;            ///< records of the caller's list
  std::uint32_t tiles;            ///< tiles of the caller's list, or of one coarse bucket's capacity
  std::uint32_t in_buckets;       ///< coarse buckets of the input; 1 for the caller's list
  const std::uint32_t* in_sizes;  ///< records sent to each coarse bucket; null if the input is the caller's list
  std::uint64_t in_capacity;      ///< records that a coarse bucket holds
  std::uint32_t in_bucket_bits;   ///< log2 of the output records that an input bucket covers
  std::uint32_t shift;            ///< log2 of the output records that an output bucket covers
  std::uint32_t out_buckets;      ///< output buckets of each input bucket
  std::uint32_t* out_sizes;       ///< records sent to each output bucket
  void* out_index;                ///< u32 indices inside coarse buckets, or u16 indices inside fine ones
  std::byte* out_word;
  std::uint64_t out_capacity;  ///< records that an output bucket holds
  std::byte* final_out;        ///< the call's output, for untagged records that overflow their bucket
  std::uint64_t final_stride;
  bool subtracts;          ///< terms that overflow are subtracted from final_out
  overflow_list overflow;  ///< for tagged ones
  order_sample sample;
  std::uint32_t* tile_counter;  ///< for tiles drawn dynamically; null if the list is known to be scattered
};

/// The shared memory in which split_into_buckets sorts a tile.
template <class Word>
struct staged_records {
  Word* word;
  std::uint32_t* index;
};

/// Sorts the tile in shared memory. The input has words, or records that get their tags here, or are made of their
/// positions.
template <class Input, class Word, class Index>
__device__ __forceinline__ void stage_records(const bucket_pass_arguments<Index>& args,
                                              const positions_of_tile<list_source<Index>>& tile,
                                              const bucket_runs& runs, const staged_records<Word>& staged,
                                              std::uint64_t first) {
  const std::byte* const words = args.in + first * args.in_stride;
#pragma unroll
  for (int k = 0; k < bucketing_items; ++k) {
    const std::uint32_t b = tile.bucket.get(k);
    if (b == no_bin) continue;
    const std::uint32_t slot = runs.begin[b] + tile.rank.get(k);
    const std::uint32_t i = k * bucketing_threads + threadIdx.x;
    const Input read = load_once(reinterpret_cast<const Input*>(words + std::uint64_t{i} * args.in_stride));
    if constexpr (std::is_convertible_v<Input, Word>) {
      staged.word[slot] = read;
    } else {
      staged.word[slot] = with_tag(read, static_cast<std::uint32_t>(args.list.first_position + first) + i + 1);
    }
    staged.index[slot] = tile.low_bits[k];
  }
}

/// The bucket of a slot of the sorted tile: the upper bits of its index. If indices have 64 bits, these are not staged,
/// and a binary search over the runs finds it.
template <class Index>
__device__ __forceinline__ std::uint32_t bucket_of_slot(const bucket_pass_arguments<Index>& args,
                                                        const bucket_runs& runs, std::uint32_t slot,
                                                        std::uint32_t index) {
  std::uint32_t bucket = sizeof(Index) == 4 ? index >> args.shift : 0;
  if constexpr (sizeof(Index) == 8) {
    std::uint32_t step = most_buckets / 2;
#pragma unroll 1
    for (; step > 0; step /= 2) {
      if (bucket + step < args.out_buckets && runs.begin[bucket + step] <= slot) bucket += step;
    }
  }
  return bucket;
}

/// Writes the sorted tile's runs to their buckets, and what overflows these to its place, or if it is tagged to the
/// overflow list.
template <class OutIndex, class Word, class Index>
__device__ __forceinline__ void write_bucket_runs(const bucket_pass_arguments<Index>& args, const bucket_runs& runs,
                                                  const staged_records<Word>& staged, std::uint32_t in_bucket) {
  const std::uint32_t mask_within_bucket = (args.shift < 32 ? 1U << args.shift : 0U) - 1;
#pragma unroll
  for (int k = 0; k < bucketing_items; ++k) {
    const std::uint32_t slot = k * bucketing_threads + threadIdx.x;
    if (slot >= runs.good_records) continue;
    const std::uint32_t index = staged.index[slot];
    const std::uint32_t bucket = bucket_of_slot(args, runs, slot, index);
    const std::uint32_t entry = runs.slot_to_entry[bucket] + slot;
    const Word word = staged.word[slot];
    if (entry < args.out_capacity) {
      const std::uint64_t position = (std::uint64_t{in_bucket} * args.out_buckets + bucket) * args.out_capacity + entry;
      __stcs(static_cast<OutIndex*>(args.out_index) + position, static_cast<OutIndex>(index & mask_within_bucket));
      store_once(reinterpret_cast<Word*>(args.out_word) + position, word);
    } else if constexpr (is_tagged<Word>) {
      args.overflow.tags[atomicAdd(args.overflow.count, 1U)] = word.tag;
    } else {
      const std::uint64_t record = (std::uint64_t{in_bucket} << args.in_bucket_bits) +
                                   (std::uint64_t{bucket} << args.shift) + (index & mask_within_bucket);
      leave_at(args.final_out + record * args.final_stride, word, args.subtracts);
    }
  }
}

/// A bucketing pass. A block sorts a tile by bucket in shared memory, reserves the tile's run in each bucket by one
/// atomic, and writes whole runs: shared memory is the write-combining buffer. A record that overflows its bucket's
/// capacity goes to its place in the output at once, or if it is tagged to the overflow list.
template <class Word, class Index, class OutIndex, class Input = Word>
__global__ void __launch_bounds__(bucketing_threads, sizeof(Word) < 16 ? 2 : 1)
    split_into_buckets(const __grid_constant__ bucket_pass_arguments<Index> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  const staged_records<Word> staged{reinterpret_cast<Word*>(shared),
                                    reinterpret_cast<std::uint32_t*>(shared + bucketing_tile * sizeof(Word))};
  __shared__ bucket_runs runs;
  wait_for_kernel_before();
  if (args.tile_counter != nullptr && !verdict_is_scattered(args.sample)) return;
  const std::uint64_t tiles = std::uint64_t{args.tiles} * args.in_buckets;
  const tile_scheduler schedule(args.tile_counter);
  for (std::uint64_t t = schedule.first(); t < tiles; t = schedule.next(t)) {
    if (args.tile_counter != nullptr) __syncthreads();
    const auto in_bucket = static_cast<std::uint32_t>(t / args.tiles);
    const std::uint64_t tile = (t - std::uint64_t{in_bucket} * args.tiles) * bucketing_tile;
    const std::uint64_t size =
        args.in_sizes == nullptr ? args.count : min(std::uint64_t{args.in_sizes[in_bucket]}, args.in_capacity);
    if (tile >= size) continue;
    const std::uint64_t first = in_bucket * args.in_capacity + tile;
    const auto records = static_cast<std::uint32_t>(min(size - tile, std::uint64_t{bucketing_tile}));
    positions_of_tile<list_source<Index>> positions;
    positions.load(args.list, first, records, args.shift);
    positions.reserve_runs(runs, args.out_sizes + in_bucket * args.out_buckets);
    stage_records<Input>(args, positions, runs, staged, first);
    __syncthreads();
    write_bucket_runs<OutIndex>(args, runs, staged, in_bucket);
    __syncthreads();
  }
}

/// Puts each fine bucket's records in order in shared memory and writes those that an index names, in whole lines.
template <class Word>
__global__ void __launch_bounds__(write_threads)
    write_fine_buckets(const std::uint16_t* index, const Word* word, const std::uint32_t* sizes, std::uint64_t capacity,
                       std::uint32_t bucket_bits, std::uint32_t buckets, std::byte* out, std::uint64_t out_stride,
                       const order_sample sample, std::uint32_t* tile_counter) {
  constexpr int items = 8;
  extern __shared__ __align__(16) unsigned char shared[];
  Word* const ordered = reinterpret_cast<Word*>(shared);
  const std::uint32_t bucket_records = 1U << bucket_bits;
  unsigned char* const is_named = shared + bucket_records * sizeof(Word);
  wait_for_kernel_before();
  if (tile_counter != nullptr && !verdict_is_scattered(sample)) return;
  const tile_scheduler schedule(tile_counter);
  for (std::uint64_t bucket = schedule.first(); bucket < buckets; bucket = schedule.next(bucket)) {
    if (tile_counter != nullptr) __syncthreads();
    const auto size = static_cast<std::uint32_t>(min(std::uint64_t{sizes[bucket]}, capacity));
    if (size == 0) continue;
    for (std::uint32_t i = threadIdx.x; i < bucket_records / 4; i += write_threads)
      reinterpret_cast<std::uint32_t*>(is_named)[i] = 0;
    __syncthreads();
    const std::uint16_t* const bucket_index = index + bucket * capacity;
    const Word* const bucket_word = word + bucket * capacity;
    for (std::uint32_t first = threadIdx.x; first < size; first += write_threads * items) {
      std::uint16_t record[items];
      Word moved[items];
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const std::uint32_t i = min(first + k * write_threads, size - 1);
        record[k] = __ldcs(bucket_index + i);
        moved[k] = __ldcs(bucket_word + i);
      }
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (first + k * write_threads >= size) continue;
        ordered[record[k]] = moved[k];
        is_named[record[k]] = 1;
      }
    }
    __syncthreads();
    std::byte* const bucket_out = out + (std::uint64_t{bucket} << bucket_bits) * out_stride;
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < bucket_records; i += write_threads) {
      if (is_named[i] != 0) store_streamed(bucket_out + i * out_stride, ordered[i]);
    }
    __syncthreads();
  }
}

/// Arguments of write_last_of_buckets.
template <class Record>
struct last_of_buckets_arguments {
  const std::uint16_t* index;
  const tagged<Record>* word;
  const std::uint32_t* sizes;
  std::uint64_t capacity;
  std::uint32_t bucket_bits;
  std::uint32_t buckets;
  std::byte* out;
  std::uint64_t out_stride;
  std::uint64_t out_count;
  const std::uint32_t* overflow_count;
  std::uint32_t* winners;  ///< of each record of the output, written where the overflow list has records
  order_sample sample;
  std::uint32_t* tile_counter;
};

/// As write_fine_buckets, but of the records for one place it writes the one with the highest tag, and where other
/// records overflowed it leaves these tags for them.
template <class Record>
__global__ void __launch_bounds__(write_threads)
    write_last_of_buckets(const __grid_constant__ last_of_buckets_arguments<Record> args) {
  extern __shared__ __align__(16) unsigned char shared[];
  const std::uint32_t bucket_records = 1U << args.bucket_bits;
  Record* const ordered = reinterpret_cast<Record*>(shared);
  auto* const tags = reinterpret_cast<std::uint32_t*>(shared + bucket_records * sizeof(Record));
  wait_for_kernel_before();
  if (args.tile_counter != nullptr && !verdict_is_scattered(args.sample)) return;
  const bool leaves_tags = *args.overflow_count != 0;
  const tile_scheduler schedule(args.tile_counter);
  for (std::uint64_t bucket = schedule.first(); bucket < args.buckets; bucket = schedule.next(bucket)) {
    if (args.tile_counter != nullptr) __syncthreads();
    const auto size = static_cast<std::uint32_t>(min(std::uint64_t{args.sizes[bucket]}, args.capacity));
    if (size == 0 && !leaves_tags) continue;
    for (std::uint32_t i = threadIdx.x; i < bucket_records; i += write_threads) tags[i] = 0;
    __syncthreads();
    const std::uint16_t* const bucket_index = args.index + bucket * args.capacity;
    const tagged<Record>* const bucket_word = args.word + bucket * args.capacity;
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < size; i += write_threads) {
      atomicMax(tags + bucket_index[i], bucket_word[i].tag);
    }
    __syncthreads();
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < size; i += write_threads) {
      const std::uint32_t place = __ldcs(bucket_index + i);
      const tagged<Record> word = load_once(bucket_word + i);
      if (tags[place] == word.tag) ordered[place] = word.record;
    }
    __syncthreads();
    const std::uint64_t first = std::uint64_t{bucket} << args.bucket_bits;
    std::byte* const bucket_out = args.out + first * args.out_stride;
#pragma unroll 8
    for (std::uint32_t i = threadIdx.x; i < bucket_records; i += write_threads) {
      if (tags[i] != 0) store_streamed(bucket_out + i * args.out_stride, ordered[i]);
      if (leaves_tags && first + i < args.out_count) args.winners[first + i] = tags[i];
    }
    __syncthreads();
  }
}

}  // namespace sheaf::cuda
