#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/block/scan.cuh"
#include "cuda/sort/radix/arguments.cuh"

// A group of words that a block sorts in shared memory: what the methods that finish groups share.
namespace sheaf::cuda {

/// How groups are finished. `bins`: words are distributed into 4096 bins; groups with hot bins are left to the kernel
/// of `bins_then_digits`. `bins_then_digits`: likewise, but this kernel itself sorts groups with hot bins: those that
/// were left to it by cells (range_cells) if they suit, all others digit by digit. `by_caller`: by CallerSort::sort of
/// the file that instantiates the kernel.
enum class finish_method { bins, bins_then_digits, by_caller };

constexpr int finish_threads = 512;
constexpr int finish_items = 9;
static_assert(most_group_words == finish_threads * finish_items);

constexpr int finish_bits = 12;
constexpr int finish_bins = 1 << finish_bits;
/// Most words of a bin that one thread sorts. A bin with more is hot, unless there are no values and the group's keys
/// differ in no bit below the digit that numbers the bins: then every bin holds copies of one key, which are in order.
template <value_width Values>
constexpr std::uint32_t most_words_of_bin = carries_values(Values) ? 16 : 32;
/// Entries that hold two numbers of 16 bits have the second one from this bit on.
constexpr std::uint32_t upper_half = 16;
constexpr std::uint32_t lower_half_mask = (1U << upper_half) - 1;
/// Most bins of two words and more in a group.
constexpr std::uint32_t most_unsorted_bins = most_group_words / 2;

struct finish_shared {
  std::uint32_t bins[finish_bins];  ///< counts, then where each begins; or those of each warp for a digit
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t differing_bits[4];  ///< key bits in which two words of the group differ, by limb
  std::uint32_t least_prefix;       ///< least of the words' 32 bits from the highest differing one down
  std::uint32_t greatest_prefix;    ///< greatest of the words' 32 bits from the highest differing one down
  std::uint32_t drawn_group;        ///< index of the group that the block has drawn
  /// Bins whose words have to be sorted: begin, and size in the upper half.
  std::uint32_t unsorted_bins[most_unsorted_bins];
  std::uint32_t unsorted_bin_total;
};

/// Bytes of the staged words, or of the values that are staged after them in the same place. Where the order is kept,
/// the positions of the staged words follow.
template <int Limbs, value_width Values>
constexpr std::size_t staged_bytes = most_group_words* std::max<std::size_t>(sizeof(sort_word<Limbs>),
                                                                             value_bytes_of(Values));

template <int Limbs, value_width Values>
constexpr std::size_t finish_shared_bytes() {
  return sizeof(finish_shared) + staged_bytes<Limbs, Values> +
         (carries_values(Values) ? most_group_words * sizeof(std::uint16_t) : 0);
}

template <int Limbs, value_width Values, finish_method Method>
struct staged_group {
  static constexpr bool keeps_order = carries_values(Values);
  static constexpr int items = finish_items;
  using word = sort_word<Limbs>;

  const radix_arguments& arguments;
  const word* input;
  std::uint32_t count;
  finish_shared* shared;
  word* staged;
  std::uint16_t* positions;  ///< where each staged word was in the group, filled only where the order is kept
  key_mask<Limbs> key;

  /// Position in the group of the thread's k-th word. Where the order is kept, all words of a warp are neighbours.
  __device__ __forceinline__ std::uint32_t position(int k) const {
    if constexpr (keeps_order) {
      return (threadIdx.x / 32 * items + k) * 32 + threadIdx.x % 32;
    } else {
      return k * finish_threads + threadIdx.x;
    }
  }

  /// A list of one group may be encoded from rows as it is read.
  __device__ __forceinline__ bool reads_rows() const {
    return arguments.rows.data != nullptr && is_one_group(arguments);
  }

  /// Word i of the group in the order before the sort.
  __device__ __forceinline__ word input_word(std::uint32_t i) const {
    if constexpr (Method != finish_method::bins) {  // `bins` is never queued for a list of one group
      if (reads_rows()) return read_word<Limbs>(arguments.rows, arguments.transform, i);
    }
    return load_word_streaming(input + i);
  }

  __device__ __forceinline__ void load(word (&words)[items]) const {
    // Branches are around the loops, so that all loads of a thread are under way at once: with a branch at each load,
    // 1024 argsorted i64 took 4 of their 20 us for that.
    if (Method != finish_method::bins && reads_rows()) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        words[k] = read_word<Limbs>(arguments.rows, arguments.transform, min(position(k), count - 1));
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < items; ++k) words[k] = load_word_streaming(input + min(position(k), count - 1));
  }

  __device__ __forceinline__ void stage(std::uint32_t to, const word& w, std::uint32_t position) const {
    staged[to] = w;
    if constexpr (keeps_order) positions[to] = static_cast<std::uint16_t>(position);
  }

  /// Stages words where they are in the group.
  __device__ __forceinline__ void stage_unsorted(const word (&words)[items]) const {
#pragma unroll
    for (int k = 0; k < items; ++k) {
      if (position(k) < count) stage(position(k), words[k], position(k));
    }
  }

  /// A word with its position in the group, which decides between equal keys where the order is kept.
  struct positioned_word {
    word value;
    std::uint32_t position;

    static __device__ __forceinline__ positioned_word last() { return {word_of_ones<Limbs>(), ~0U}; }
  };

  __device__ __forceinline__ positioned_word staged_word(std::uint32_t i) const {
    if constexpr (keeps_order) return {staged[i], positions[i]};
    return {staged[i], 0};
  }

  __device__ __forceinline__ bool is_before(const positioned_word& a, const positioned_word& b) const {
    const word_order order = compare_words(a.value, b.value, key);
    return order == word_order::less || (keeps_order && order == word_order::equal && a.position < b.position);
  }

  __device__ __forceinline__ void sort_pair(positioned_word& a, positioned_word& b) const {
    const bool swaps = is_before(b, a);
    const positioned_word first = swaps ? b : a;
    b = swaps ? a : b;
    a = first;
  }

  /// Sorts the staged words of a bin by one thread: the first four by a network of five comparisons, the others, which
  /// are rare, by insertion.
  __device__ __forceinline__ void sort_bin(std::uint32_t begin, std::uint32_t size) const {
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

  /// Sorts all listed bins.
  __device__ __forceinline__ void sort_bins() const {
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < shared->unsorted_bin_total; i += finish_threads) {
      const std::uint32_t bin = shared->unsorted_bins[i];
      sort_bin(bin & lower_half_mask, bin >> upper_half);
    }
  }
};

}  // namespace sheaf::cuda
