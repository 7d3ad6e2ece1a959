#pragma once

#include "cuda/sort/msd/pass/binning.cuh"
#include "cuda/sort/msd/sample/bins.cuh"

// A sample of keys of 8 bytes, and of long lists of keys of 4, that says whether an MSD sort would take many passes. It
// would where few digits have most keys of a bucket, in every bucket of every pass: keys, say, of which most bits are
// 0.
namespace sheaf::cuda {

/// The sample in shared memory, with a hash table of the bins of the first pass and the digits of the second.
struct digit_sample {
  static constexpr std::uint32_t keys_each = 4;  ///< for each thread
  static constexpr std::uint32_t samples = keys_each * pass_threads;
  static constexpr std::uint32_t slots = 2 * samples;
  std::uint64_t key[samples];
  std::uint32_t slot[slots];  ///< from bit 17 on its first sample; in the low 17 bits the bin and digit, plus 1
  std::uint32_t crowded;      ///< samples that are not the first of their slot and have another key
};

/// Whether this sample decides: about keys of 8 bytes, and about long lists of keys of 4 alone, where an MSD sort takes
/// copies as fast as other keys, unless skew.cuh finds a hot one. About other keys skew.cuh decides.
template <int Limbs, payload_mode Payload>
constexpr bool crowded_digits_decide(std::uint64_t count) {
  return Limbs == 2 || (Payload == payload_mode::none && count >= std::uint64_t{1} << 26);
}

/// Whether keys of 4 bytes seem to have one highest byte. Onesweep has no pass for it then, and takes less time than an
/// MSD sort. Not where the least thirty-second of the sample's range has three quarters of it: such a distribution has
/// a long tail, and the list is likely to have keys beyond that byte that the sample missed.
template <int Limbs>
__device__ __forceinline__ bool shares_highest_byte(const bin_sample& s, const sampled_bins& bins) {
  constexpr std::uint32_t prefixes = sampled_bins::prefixes;
  return Limbs == 1 && bins.is_uneven != 0 && bins.window_end <= 32 - radix_bits &&
         s.with_lesser_prefix[prefixes / 32] < s.with_lesser_prefix[prefixes] / 4 * 3;
}

/// Whether it is worth a sample: keys of which no highest byte has a sixteenth have no crowded digits there, and are
/// taken to have none further down.
__device__ __forceinline__ bool may_have_crowded_digits(const bin_sample& s, const sampled_bins& bins) {
  return bins.is_uneven != 0 || s.most_of_a_byte >> radix_bits >= bin_sample::most_samples / 16;
}

/// Whether much of the sample shares bin and digit with another sample, whose key is different. word_of(i) is word i.
/// One block calls this, once it has chosen `bins`.
template <int Limbs, class WordOf>
__device__ bool has_crowded_digits(digit_sample& s, const sampled_bins& bins, std::uint32_t count,
                                   std::uint32_t key_high, WordOf word_of) {
  constexpr std::uint32_t slots = digit_sample::slots;
  constexpr std::uint32_t slot_bits = 12;
  static_assert(slots == 1U << slot_bits);
  constexpr std::uint32_t least_crowded = digit_sample::samples / 5;  // a few of a hundred uniform keys do
  using policy = msd_pass_policy<Limbs, payload_mode::none, false, pass_bins::sampled>;
  const pass_binning<policy> binning{key_coder<Limbs>(bins.code, bins.window_end, key_high, bins.shared), bins.entries};
  for (std::uint32_t i = threadIdx.x; i < slots; i += pass_threads) s.slot[i] = 0;
  if (threadIdx.x == 0) s.crowded = 0;
  std::uint32_t number[digit_sample::keys_each];
#pragma unroll
  for (std::uint32_t k = 0; k < digit_sample::keys_each; ++k) {
    const std::uint32_t i = k * pass_threads + threadIdx.x;
    const sort_word<Limbs> word = word_of(sampled_position(i, digit_sample::samples, count));
    const std::uint32_t bin = binning.bin_of(word);
    const std::uint32_t end = bins.digit_end[bin];
    const std::uint32_t digit = digit_of(word, digit_at(end - min(end, radix_bits), min(end, radix_bits)));
    s.key[i] = pair_of(word, 0);
    number[k] = bin << radix_bits | digit;
  }
  __syncthreads();
  std::uint32_t crowded = 0;
#pragma unroll
  for (std::uint32_t k = 0; k < digit_sample::keys_each; ++k) {
    const std::uint32_t i = k * pass_threads + threadIdx.x;
    const std::uint32_t own = i << 17 | (number[k] + 1);
    for (std::uint32_t slot = number[k] * 0x9e3779b1U >> (32 - slot_bits);; slot = (slot + 1) % slots) {
      const std::uint32_t holder = atomicCAS(&s.slot[slot], 0U, own);
      if (holder != 0 && ((holder ^ own) & ((1U << 17) - 1)) != 0) continue;
      if (holder != 0 && s.key[holder >> 17] != s.key[i]) ++crowded;
      break;
    }
  }
  crowded = __reduce_add_sync(~0U, crowded);
  if (threadIdx.x % 32 == 0) atomicAdd(&s.crowded, crowded);
  __syncthreads();
  return s.crowded >= least_crowded;
}

/// Whether a third pass follows the first two if bins are sampled, because these err by a quarter. Keys of 4 bytes take
/// longer then than by onesweep.
template <int Limbs>
__device__ __forceinline__ bool takes_three_passes(const sampled_bins& bins, std::uint32_t count) {
  return Limbs == 1 && bins.is_uneven != 0 && count / (radix_bins * radix_bins) * 5 / 4 > group_words;
}

/// Whether the sort is better left to onesweep. One block calls this, once it has chosen `bins`.
template <int Limbs, class WordOf>
__device__ bool is_faster_by_onesweep(const bin_sample& s, digit_sample& digits, const sampled_bins& bins,
                                      std::uint32_t count, std::uint32_t key_high, WordOf word_of) {
  return takes_three_passes<Limbs>(bins, count) || shares_highest_byte<Limbs>(s, bins) ||
         (may_have_crowded_digits(s, bins) && has_crowded_digits<Limbs>(digits, bins, count, key_high, word_of));
}

}  // namespace sheaf::cuda
