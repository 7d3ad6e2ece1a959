#pragma once

#include "cuda/block/rank.cuh"
#include "cuda/sort/radix/arguments.cuh"

// Digits, and the first phase of a sort: histograms of all digits in one reading of the keys.
namespace sheaf::cuda {

/// The digits of keys, from the lowest up.
template <int Limbs>
struct key_digits {
  static constexpr int most = most_digits<Limbs>;
  struct digit {
    static constexpr bool is_expensive = false;
    // A key in one limb begins and ends at any bit, a longer one at whole bytes.
    std::conditional_t<Limbs == 1, digit_field, byte_field> field;
    __device__ __forceinline__ std::uint32_t operator()(const sort_word<Limbs>& w) const { return digit_of(w, field); }
  };
  std::uint32_t key_low;
  std::uint32_t key_high;

  __device__ std::uint32_t total() const { return (key_high - key_low - 1) / radix_bits + 1; }
  /// A bit for each digit in which two keys differ: these digits take a pass. Where all keys are equal, the result is
  /// the bit of the lowest digit, because one pass has to move the words. If the list tries_highest_digit, and no value
  /// of the highest one has more than most_words_of_value, the result is the bit of this digit alone, and passes do not
  /// end at the target. All threads call this after digits are counted.
  template <class Block>
  __device__ std::uint32_t digits_to_sort_by(const Block& block) const {
    constexpr std::uint32_t full = 16;  // from this bit on: digits of which a value has too many words
    const std::uint32_t most_words = most_words_of_value(block.count);
    std::uint32_t seen = 0;
    if (threadIdx.x < radix_bins) {
#pragma unroll
      for (std::uint32_t d = 0; d < most; ++d) {  // all loads are under way at once
        if (d >= total()) continue;
        const std::uint32_t words = __ldcg(block.arguments.tables.histogram + d * radix_bins + threadIdx.x);
        seen |= (words == block.count ? 1U << d : 0) | (words > most_words ? 1U << (full + d) : 0);
      }
    }
    seen = __reduce_or_sync(~0U, seen);
    if (threadIdx.x % 32 == 0) block.shared.warp_sums[threadIdx.x / 32] = seen;
    __syncthreads();
#pragma unroll
    for (std::uint32_t w = 0; w < Block::threads / 32; ++w) seen |= block.shared.warp_sums[w];
    std::uint32_t differing = ~seen & ((1U << total()) - 1);
    if (tries_highest_digit(block.arguments) && differing != 0) {
      const std::uint32_t highest = 31 - __clz(static_cast<int>(differing));
      if ((seen >> (full + highest) & 1) == 0) {
        differing = 1U << highest;
        if (threadIdx.x == 0) block.shared.arrays.ends_at_target = false;
      }
    }
    __syncthreads();
    return differing == 0 ? 1 : differing;
  }
  /// What reads digit d.
  __device__ digit at(std::uint32_t d) const {
    const std::uint32_t low = key_low + d * radix_bits;
    if constexpr (Limbs == 1) return {digit_at(low, min(key_high - low, radix_bits))};
    if constexpr (Limbs > 1) return {byte_at(low / radix_bits)};
  }
};

/// The digits of codes. Coder is leading_bits_coder or piecewise_coder. A coder is made anew from what load_map left in
/// shared memory, so that it takes registers only where digits are read.
template <class Block, class Coder>
struct code_digits {
  static constexpr int most = 3;
  using digit = Coder;
  const Block& block;
  std::uint32_t passes;

  __device__ std::uint32_t total() const { return passes; }
  __device__ std::uint32_t digits_to_sort_by(const Block&) const { return (1U << passes) - 1; }
  __device__ digit at(std::uint32_t d) const {
    return Coder(block, {d * block.shared.shape.digit_bits, block.shared.shape.digit_bits});
  }
};

/// Clears the histogram, the counters of drawn tiles, and the tile states of the first pass; each pass clears the tile
/// states of the next. The caller calls grid.sync() before digits are counted.
template <class Block>
__device__ void clear_tables(const Block& block) {
  const radix_tables& tables = block.arguments.tables;
  const std::uint32_t states = block.tiles() * radix_bins;
  for (std::uint32_t i = block.grid_thread(); i < states; i += block.grid_threads()) tables.tile_states[0][i] = 0;
  for (std::uint32_t i = block.grid_thread(); i < most_digits<Block::word::limbs> * radix_bins;
       i += block.grid_threads()) {
    tables.histogram[i] = 0;
  }
  if (block.grid_thread() < most_digits<Block::word::limbs>) tables.counters->tile[block.grid_thread()] = 0;
}

/// Words that a thread loads at once to count them.
constexpr std::uint32_t counted_words_per_thread = 8;

/// Counts the words of each bin of all digits, in shared memory and then in the tables.
template <class Block, class Digits>
__device__ void count_digits(const Block& block, const void* list, const Digits& digits) {
  using word = typename Block::word;
  constexpr int threads = Block::threads;
  constexpr std::uint32_t words_per_thread = counted_words_per_thread;
  constexpr std::uint32_t tile_words = words_per_thread * threads;
  auto* const counters = reinterpret_cast<std::uint32_t*>(block.staged);
  const std::uint32_t total = digits.total();
  for (std::uint32_t i = threadIdx.x; i < total * radix_bins; i += threads) counters[i] = 0;
  __syncthreads();
  // Adds the thread's words from `first` on, of a tile that is full or not: a check of each word takes as many
  // instructions as its counting.
  const auto count_words = [&](std::uint32_t first, auto is_full) {
    const auto is_there = [&](std::uint32_t k) { return is_full || first + k * threads < block.count; };
    word words[words_per_thread];
    block.read_words(list, [&](auto load) {
#pragma unroll
      for (std::uint32_t k = 0; k < words_per_thread; ++k) {
        if (is_there(k)) words[k] = load(first + k * threads);
      }
    });
    // Lanes that add 1 to the same counter, and ask for nothing back, are counted by the hardware at once. So there are
    // no copies of the histogram, over which they would be spread.
    if constexpr (Digits::digit::is_expensive) {
      const typename Digits::digit coder(block, whole_code);
      const std::uint32_t bits = block.shared.shape.digit_bits;
#pragma unroll
      for (std::uint32_t k = 0; k < words_per_thread; ++k) {
        if (!is_there(k)) continue;
        const std::uint32_t code = coder(words[k]);
        for (std::uint32_t d = 0; d < total; ++d) {
          atomicAdd(&counters[d * radix_bins + (code >> d * bits & ((1U << bits) - 1))], 1U);
        }
      }
    } else {
#pragma unroll
      for (std::uint32_t index = 0; index < Digits::most; ++index) {
        if (index >= total) break;
        const auto digit = digits.at(index);
#pragma unroll
        for (std::uint32_t k = 0; k < words_per_thread; ++k) {
          if (is_there(k)) atomicAdd(&counters[index * radix_bins + digit(words[k])], 1U);
        }
      }
    }
  };
  for (std::uint32_t begin = blockIdx.x * tile_words; begin < block.count; begin += gridDim.x * tile_words) {
    if (block.count - begin >= tile_words) {
      count_words(begin + threadIdx.x, std::true_type());
    } else {
      count_words(begin + threadIdx.x, std::false_type());
    }
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < total * radix_bins; i += threads) {
    if (counters[i] > 0) atomicAdd(block.arguments.tables.histogram + i, counters[i]);
  }
  __syncthreads();
}

}  // namespace sheaf::cuda
