#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/tables.cuh"

// A group of words that a block sorts in shared memory: what the methods that finish groups share.
namespace sheaf::cuda {

struct finish_arguments {
  const void* buffers[3];  ///< words: the input and the two buffers that passes write
  const void* values[3];   ///< values in arrays of their own, likewise; a null input stands for row numbers
  msd_tables tables;
  std::uint32_t key_low;   ///< the key's lowest bit
  std::uint32_t key_high;  ///< first bit above the key
  word_target target;
  void* values_to;                 ///< where values in order go
  std::uint32_t only_group_count;  ///< words of a list that is one group; 0: the groups are in the tables
  bool encodes_rows;               ///< that one group is encoded from `rows` as it is read
  word_source rows;
};

/// How groups are finished. `bins`: words are distributed into 4096 bins, each of which must be small. `hot_bins`:
/// words are distributed likewise, but bins of many words have methods of their own, so that it takes any group.
/// `bitonic`: the bitonic network of the 2007 paper.
enum class finish_method { bins, hot_bins, bitonic };

constexpr int finish_bits = 12;
constexpr int finish_bins = 1 << finish_bits;
/// Most words of a bin in the method `bins`, where one thread sorts each bin; of one key, most_words_of_key.
constexpr std::uint32_t most_words_of_bin = 16;
/// Most words of a bin of one key that keep their order: each is counted against all others.
constexpr std::uint32_t most_words_of_key = 64;
/// Most words of a run in the method `hot_bins`: where one thread sorts it, and where a warp does.
constexpr std::uint32_t most_words_by_thread = 6;
constexpr std::uint32_t most_words_by_warp = 32;
/// Most hot bins of a group. A hot bin has more than most_words_by_warp words. The words that equal its heavy key are
/// placed without a sort.
constexpr int most_hot_bins = 128;
/// Entries that hold two numbers of 16 bits have the second one from this bit on.
constexpr std::uint32_t upper_half = 16;
constexpr std::uint32_t lower_half_mask = (1U << upper_half) - 1;

/// Length of the array of bins. The last bin's end follows it.
constexpr std::size_t bin_array_length = finish_bins + 4;

/// A bin with many words, most of which are likely to be one heavy key.
struct hot_bin {
  std::uint32_t number;        ///< of the bin
  std::uint32_t words_before;  ///< words less than the heavy key
  std::uint32_t words_after;   ///< words greater than the heavy key
};

template <int Limbs, finish_method Method>
struct finish_shared {
  /// Counts of the bins, then where each begins, with the index + 1 of its hot bin in the upper half, or 0. The entry
  /// after the last bin is where that ends.
  std::uint32_t bins[bin_array_length];
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t differing_bits[4];  ///< key bits in which two words of the group differ, by limb
  std::uint32_t least_prefix;       ///< least of the words' 32 bits from the highest differing one down
  std::uint32_t greatest_prefix;    ///< greatest of the words' 32 bits from the highest differing one down
  std::uint32_t drawn_group;        ///< index of the group that the block has drawn
  /// Runs of words to be sorted: begin, and size in the upper half. Runs for a thread are listed from the front, those
  /// for a warp from the back.
  std::uint32_t runs[finish_threads * 5];
  std::uint32_t run_total;
  std::uint32_t long_run_total;
  std::uint32_t hot_bin_total;
  hot_bin hot_bins[most_hot_bins];
  alignas(16) sort_word<Limbs> heavy_words[most_hot_bins];  ///< a word with the heavy key of each hot bin
};

/// Bytes of the staged words, or of the values that are staged after them in the same place. Where the order is kept,
/// the positions of the staged words follow.
template <int Limbs, payload_mode Payload>
constexpr std::size_t staged_bytes = group_words* std::max<std::size_t>(sizeof(sort_word<Limbs>),
                                                                        value_bytes_of(Payload));

template <int Limbs, payload_mode Payload, finish_method Method>
constexpr std::size_t finish_shared_bytes() {
  return sizeof(finish_shared<Limbs, Method>) + staged_bytes<Limbs, Payload> +
         (carries_values(Payload) ? group_words * sizeof(std::uint16_t) : 0);
}

template <int Limbs, payload_mode Payload, finish_method Method>
struct staged_group {
  static constexpr bool keeps_order = carries_values(Payload);
  static constexpr int items = finish_items;
  static constexpr std::uint32_t last_run = finish_threads * 5 - 1;
  using word = sort_word<Limbs>;

  const finish_arguments& arguments;
  const word* input;
  std::uint32_t count;
  finish_shared<Limbs, Method>* shared;
  word* staged;
  std::uint16_t* positions;  ///< where each staged word was in the group, filled only where the order is kept
  key_mask<Limbs> key;

  /// Position in the group of the thread's k-th word. Where the order is kept, a warp has neighbouring words.
  __device__ __forceinline__ std::uint32_t position(int k) const {
    if constexpr (keeps_order) {
      return (threadIdx.x / 32 * items + k) * 32 + threadIdx.x % 32;
    } else {
      return k * finish_threads + threadIdx.x;
    }
  }

  /// Word i of the group as it was before it was staged.
  __device__ __forceinline__ word input_word(std::uint32_t i) const {
    if constexpr (Method != finish_method::bins) {  // which is not queued for a list of one group
      if (arguments.encodes_rows) return read_word<Limbs>(arguments.rows, arguments.target.transform, i);
    }
    return load_word_streaming(input + i);
  }

  __device__ __forceinline__ void load(word (&words)[items]) const {
    if constexpr (Method != finish_method::bins) {
      if (arguments.encodes_rows) {
        return read_word_each<Limbs>(arguments.rows, arguments.target.transform, words,
                                     [&](int k) { return min(position(k), count - 1); });
      }
    }
#pragma unroll
    for (int k = 0; k < items; ++k) words[k] = input_word(min(position(k), count - 1));
  }

  __device__ __forceinline__ void stage(std::uint32_t to, const word& w, std::uint32_t position) const {
    staged[to] = w;
    if constexpr (keeps_order) positions[to] = static_cast<std::uint16_t>(position);
  }

  /// A word with its position in the group, which decides between equal keys where the order is kept.
  struct positioned_word {
    word value;
    std::uint32_t position;

    static __device__ __forceinline__ positioned_word last() {
      positioned_word w;
#pragma unroll
      for (int i = 0; i < Limbs; ++i) w.value.limb[i] = ~0U;
      w.position = ~0U;
      return w;
    }
  };

  __device__ __forceinline__ positioned_word staged_word(std::uint32_t i) const {
    if constexpr (keeps_order) return {staged[i], positions[i]};
    return {staged[i], 0};
  }

  __device__ __forceinline__ bool is_before(const positioned_word& a, const positioned_word& b) const {
    const word_order order = compare_words(a.value, b.value, key);
    return order == word_order::less || (keeps_order && order == word_order::equal && a.position < b.position);
  }

  __device__ __forceinline__ bool is_less_key(const word& a, const word& b) const {
    return compare_words(a, b, key) == word_order::less;
  }

  __device__ __forceinline__ void sort_pair(positioned_word& a, positioned_word& b) const {
    const bool swaps = is_before(b, a);
    const positioned_word first = swaps ? b : a;
    b = swaps ? a : b;
    a = first;
  }

  /// Sorts a run of staged words by one thread: the first four by a network of five comparisons, the others, which are
  /// rare, by insertion.
  __device__ __forceinline__ void sort_run(std::uint32_t begin, std::uint32_t size) const {
    constexpr int network_words = 4;
    positioned_word words[network_words];
#pragma unroll
    for (std::uint32_t i = 0; i < network_words; ++i) {
      words[i] = i < size ? staged_word(begin + i) : positioned_word::last();
    }
    sort_pair(words[0], words[2]);
    sort_pair(words[1], words[3]);
    sort_pair(words[0], words[1]);
    sort_pair(words[2], words[3]);
    sort_pair(words[1], words[2]);
#pragma unroll
    for (std::uint32_t i = 0; i < network_words; ++i) {
      if (i < size) stage(begin + i, words[i].value, words[i].position);
    }
    for (std::uint32_t next = network_words; next < size; ++next) insert(begin, begin + next);
  }

  /// Inserts the staged word `next` into the sorted words [begin, next).
  __device__ __forceinline__ void insert(std::uint32_t begin, std::uint32_t next) const {
    const positioned_word inserted = staged_word(next);
    std::uint32_t to = next;
    for (; to > begin; --to) {
      const positioned_word other = staged_word(to - 1);
      if (!is_before(inserted, other)) break;
      stage(to, other.value, other.position);
    }
    if (to != next) stage(to, inserted.value, inserted.position);
  }

  /// Sorts a run of staged words by one warp: each lane counts the words that belong before its own.
  __device__ __forceinline__ void sort_run_by_warp(std::uint32_t begin, std::uint32_t size) const {
    const std::uint32_t lane = threadIdx.x % 32;
    const positioned_word own = staged_word(begin + min(lane, size - 1));
    std::uint32_t words_before = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const positioned_word other = staged_word(begin + i);
      words_before += is_before(other, own) || (!keeps_order && i < lane && !is_before(own, other)) ? 1 : 0;
    }
    __syncwarp();
    if (lane < size) stage(begin + words_before, own.value, own.position);
    __syncwarp();
  }

  __device__ __forceinline__ void add_long_run(std::uint32_t begin, std::uint32_t size) const {
    const std::uint32_t number = atomicAdd(&shared->long_run_total, 1U);
    shared->runs[last_run - number] = begin | size << upper_half;
  }

  /// Sorts all listed runs.
  __device__ __forceinline__ void sort_runs() const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < shared->run_total; i += finish_threads) {
      const std::uint32_t run = shared->runs[i];
      sort_run(run & lower_half_mask, run >> upper_half);
    }
    if constexpr (Method == finish_method::bins) return;
    __syncwarp();
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x / 32; i < shared->long_run_total; i += finish_threads / 32) {
      const std::uint32_t run = shared->runs[last_run - i];
      sort_run_by_warp(run & lower_half_mask, run >> upper_half);
    }
  }
};

}  // namespace sheaf::cuda
