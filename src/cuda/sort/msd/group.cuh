#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/tables.cuh"

// A group of words that a block sorts in shared memory: what its ways to do so share.
namespace sheaf::cuda {

constexpr int finish_bits = 12;
constexpr int finish_bins = 1 << finish_bits;
/// Words of a bin at most where one thread puts each bin in order.
constexpr std::uint32_t most_compared = 16;
/// Where there are larger bins: words of a run that one thread puts in order at most, and of one that a warp does.
constexpr std::uint32_t most_by_thread = 6;
constexpr std::uint32_t most_by_warp = 32;
/// Bins of more words are crowds, so many at most: in each, one word's equals are set apart.
constexpr int most_crowds = 128;
/// What stands above where a bin begins: the number of the crowd that it is + 1.
constexpr std::uint32_t upper_half = 16;
constexpr std::uint32_t lower_half_mask = (1U << upper_half) - 1;
/// How groups are finished: those whose bins are small, those where some are not, and as the 2007 paper does it.
enum class finish_way { bins, crowds, bitonic };

/// A digit of the way without bins: the counters of all warps take their room.
template <int Limbs>
constexpr int local_bits = Limbs == 1 ? 8 : 7;
template <int Limbs>
constexpr int local_bins = 1 << local_bits<Limbs>;
template <int Limbs, finish_way Way>
constexpr std::size_t bin_words = std::max<std::size_t>(
    finish_bins + 4,
    Way == finish_way::crowds ? finish_threads / 32 * local_bins<Limbs> * sizeof(warp_bin) / sizeof(std::uint32_t) : 0);

/// A bin with many words, most of which are likely to be the same.
struct crowd {
  std::uint32_t bin;
  std::uint32_t less;     ///< words before the pivot
  std::uint32_t greater;  ///< and behind it
};

template <int Limbs, finish_way Way>
struct finish_shared {
  std::uint32_t bins[bin_words<Limbs, Way>];  ///< and where they end
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t differing[4];
  std::uint32_t least;  ///< of the words' highest bits that differ, and the most
  std::uint32_t most;
  std::uint32_t ticket;
  std::uint32_t runs[finish_threads * 5];  ///< to be put in order: begin, and size in the upper half; from the end on
                                           ///< those that take a warp
  std::uint32_t run_count;
  std::uint32_t long_run_count;
  std::uint32_t crowd_count;
  crowd crowds[most_crowds];
  alignas(16) sort_word<Limbs> pivots[most_crowds];
  alignas(16) std::uint32_t start[local_bins<Limbs>];
};

/// Where the words' numbers in the group lie behind the words, or behind what takes their place.
template <int Limbs, payload_mode Payload>
constexpr std::size_t staged_bytes = group_words* std::max<std::size_t>(sizeof(sort_word<Limbs>),
                                                                        value_bytes_of(Payload));

template <int Limbs, payload_mode Payload, finish_way Way>
constexpr std::size_t finish_shared_bytes() {
  return sizeof(finish_shared<Limbs, Way>) + staged_bytes<Limbs, Payload> +
         (is_stable(Payload) ? group_words * sizeof(std::uint16_t) : 0);
}

template <int Limbs, payload_mode Payload, finish_way Way>
struct staged_group {
  static constexpr bool is_ordered = is_stable(Payload);
  static constexpr int items = finish_items;
  static constexpr std::uint32_t last_run = finish_threads * 5 - 1;
  using word = sort_word<Limbs>;

  const word* from;
  std::uint32_t count;
  finish_shared<Limbs, Way>* shared;
  word* staged;
  std::uint16_t* numbers;  ///< that the staged words had in the group, where the order is kept
  key_mask<Limbs> key;

  /// Where the thread's k-th word is in the group: words that keep their order are a warp's one after the other.
  __device__ __forceinline__ std::uint32_t place(int k) const {
    if constexpr (is_ordered) {
      return (threadIdx.x / 32 * items + k) * 32 + threadIdx.x % 32;
    } else {
      return k * finish_threads + threadIdx.x;
    }
  }

  __device__ __forceinline__ void load(word (&words)[items]) const {
#pragma unroll
    for (int k = 0; k < items; ++k) words[k] = load_word_streaming(from + min(place(k), count - 1));
  }

  __device__ __forceinline__ void stage(std::uint32_t to, const word& w, std::uint32_t number) const {
    staged[to] = w;
    if constexpr (is_ordered) numbers[to] = static_cast<std::uint16_t>(number);
  }

  /// One thread puts the staged words of a run in order: the first four by comparing each with each, the others, which
  /// are rare, one by one.
  __device__ __forceinline__ void order_run(std::uint32_t begin, std::uint32_t size) const {
    constexpr int at_once = 4;
    numbered_word words[at_once];
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i) words[i] = i < size ? numbered(begin + i) : numbered_word::last();
    exchange(words[0], words[2]);
    exchange(words[1], words[3]);
    exchange(words[0], words[1]);
    exchange(words[2], words[3]);
    exchange(words[1], words[2]);
#pragma unroll
    for (std::uint32_t i = 0; i < at_once; ++i) {
      if (i < size) stage(begin + i, words[i].value, words[i].number);
    }
    for (std::uint32_t next = at_once; next < size; ++next) insert(begin, begin + next);
  }

  struct numbered_word {
    word value;
    std::uint32_t number;

    static __device__ __forceinline__ numbered_word last() {
      numbered_word w;
#pragma unroll
      for (int i = 0; i < Limbs; ++i) w.value.limb[i] = ~0U;
      w.number = ~0U;
      return w;
    }
  };

  __device__ __forceinline__ numbered_word numbered(std::uint32_t at) const {
    if constexpr (is_ordered) return {staged[at], numbers[at]};
    return {staged[at], 0};
  }

  __device__ __forceinline__ bool is_before(const numbered_word& a, const numbered_word& b) const {
    const word_order order = compare_words(a.value, b.value, key);
    return order == word_order::less || (is_ordered && order == word_order::equal && a.number < b.number);
  }

  __device__ __forceinline__ void exchange(numbered_word& a, numbered_word& b) const {
    const bool turns = is_before(b, a);
    const numbered_word first = turns ? b : a;
    b = turns ? a : b;
    a = first;
  }

  /// The same by a warp, of which each lane looks where its word belongs.
  __device__ __forceinline__ void order_run_by_warp(std::uint32_t begin, std::uint32_t size) const {
    const std::uint32_t lane = threadIdx.x % 32;
    const numbered_word mine = numbered(begin + min(lane, size - 1));
    std::uint32_t before = 0;
    for (std::uint32_t other = 0; other < size; ++other) {
      const numbered_word w = numbered(begin + other);
      before += is_before(w, mine) || (!is_ordered && other < lane && !is_before(mine, w)) ? 1 : 0;
    }
    __syncwarp();
    if (lane < size) stage(begin + before, mine.value, mine.number);
    __syncwarp();
  }

  __device__ __forceinline__ void add_long_run(std::uint32_t begin, std::uint32_t size) const {
    const std::uint32_t number = atomicAdd(&shared->long_run_count, 1U);
    shared->runs[last_run - number] = begin | size << upper_half;
  }

  __device__ __forceinline__ void order_runs() const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < shared->run_count; i += finish_threads) {
      const std::uint32_t run = shared->runs[i];
      order_run(run & lower_half_mask, run >> upper_half);
    }
    if constexpr (Way == finish_way::bins) return;
    __syncwarp();
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x / 32; i < shared->long_run_count; i += finish_threads / 32) {
      const std::uint32_t run = shared->runs[last_run - i];
      order_run_by_warp(run & lower_half_mask, run >> upper_half);
    }
  }

  /// Moves a word before those of [begin, next) that it belongs before.
  __device__ __forceinline__ void insert(std::uint32_t begin, std::uint32_t next) const {
    const numbered_word mine = numbered(next);
    std::uint32_t to = next;
    for (; to > begin; --to) {
      const numbered_word other = numbered(to - 1);
      if (!is_before(mine, other)) break;
      stage(to, other.value, other.number);
    }
    if (to != next) stage(to, mine.value, mine.number);
  }
};

}  // namespace sheaf::cuda
