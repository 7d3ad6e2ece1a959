#pragma once

#include "cuda/sort/msd/pass/binning.cuh"
#include "cuda/sort/msd/sample/bins.cuh"

// Whether a list of whole keys of 4 or 8 bytes is better left to onesweep, by what the bins of a first pass and the
// digits of a second one would be for a sample of its keys.
namespace sheaf::cuda {

/// The sample in shared memory, with a hash table of bins and digits.
struct digit_sample {
  static constexpr int keys_each = 4;  ///< for each thread
  static constexpr std::uint32_t samples = keys_each * pass_threads;
  static constexpr std::uint32_t slot_bits = 12;
  static constexpr std::uint32_t slots = 1U << slot_bits;
  static_assert(slots == 2 * samples && keys_each <= bin_sample::keys_each);

  std::uint64_t key[samples];
  std::uint32_t slot[slots];         ///< from bit 17 on its first sample; in the low 17 bits the bin and digit, plus 1
  std::uint32_t copies_of[samples];  ///< of the first sample of a slot
  std::uint32_t copies;              ///< samples that have the key of the first one of their slot
  std::uint32_t most_of_a_key;       ///< the most copies of one key
  std::uint32_t crowded;             ///< samples that have another key than the first one of their slot
};

/// Whether keys of 4 bytes seem to have one highest byte. Onesweep has no pass for it then, and takes less time than an
/// MSD sort. Not where the least thirty-second of the sample's range has three quarters of it: such a distribution has
/// a long tail, and the list is likely to have keys beyond that byte that the sample missed.
__device__ __forceinline__ bool shares_highest_byte(const bin_sample& s, const sampled_bins& bins) {
  constexpr std::uint32_t prefixes = sampled_bins::prefixes;
  return bins.is_uneven != 0 && bins.window_end <= 32 - radix_bits &&
         s.with_lesser_prefix[prefixes / 32] < s.with_lesser_prefix[prefixes] / 4 * 3;
}

/// Fills the table with the thread's words, and counts.
template <int Limbs>
__device__ void count_copies_and_crowded(digit_sample& s, const sampled_bins& bins,
                                         const sort_word<Limbs> (&words)[bin_sample::keys_each]) {
  using policy = msd_pass_policy<Limbs, payload_mode::none, false, true>;
  const pass_binning<policy> binning{key_coder<Limbs>(bins.code, bins.window_end, bins.shared), bins.entries};
  for (std::uint32_t i = threadIdx.x; i < digit_sample::slots; i += pass_threads) s.slot[i] = 0;
  if (threadIdx.x == 0) s.copies = s.most_of_a_key = s.crowded = 0;
  std::uint32_t number[digit_sample::keys_each];
#pragma unroll
  for (int k = 0; k < digit_sample::keys_each; ++k) {
    const std::uint32_t i = k * pass_threads + threadIdx.x;
    const std::uint32_t bin = binning.bin_of(words[k]);
    const std::uint32_t end = bins.digit_end[bin];
    const std::uint32_t digit = digit_of(words[k], digit_at(end - min(end, radix_bits), min(end, radix_bits)));
    s.key[i] = pair_of(words[k], 0);
    s.copies_of[i] = 0;
    number[k] = bin << radix_bits | digit;
  }
  __syncthreads();
  std::uint32_t copies = 0;
  std::uint32_t crowded = 0;
#pragma unroll
  for (int k = 0; k < digit_sample::keys_each; ++k) {
    const std::uint32_t i = k * pass_threads + threadIdx.x;
    const std::uint32_t own = i << 17 | (number[k] + 1);
    for (std::uint32_t slot = number[k] * 0x9e3779b1U >> (32 - digit_sample::slot_bits);;
         slot = (slot + 1) % digit_sample::slots) {
      const std::uint32_t holder = atomicCAS(&s.slot[slot], 0U, own);
      if (holder == 0) break;
      if (((holder ^ own) & ((1U << 17) - 1)) != 0) continue;
      if (s.key[holder >> 17] == s.key[i]) {
        ++copies;
        atomicMax(&s.most_of_a_key, atomicAdd(&s.copies_of[holder >> 17], 1U) + 1);
      } else {
        ++crowded;
      }
      break;
    }
  }
  copies = __reduce_add_sync(~0U, copies);
  crowded = __reduce_add_sync(~0U, crowded);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&s.copies, copies);
    atomicAdd(&s.crowded, crowded);
  }
  __syncthreads();
}

/// Whether the sort is better left to onesweep. One block calls this, once it has chosen `bins` by `words`.
template <int Limbs, payload_mode Payload>
__device__ bool is_faster_by_onesweep(const bin_sample& s, digit_sample& digits, const sampled_bins& bins,
                                      std::uint32_t count, const sort_word<Limbs> (&words)[bin_sample::keys_each]) {
  constexpr std::uint32_t samples = digit_sample::samples;
  // Long lists take copies as fast as other keys.
  const bool is_long = Payload == payload_mode::none && count >= std::uint32_t{1} << 26;
  // Sampled bins err by a quarter, so that a third pass would follow, in which 4 bytes take longer than by onesweep.
  const bool takes_three_passes = bins.is_uneven != 0 && count / (radix_bins * radix_bins) * 5 / 4 > group_words;
  if (Limbs == 1 && (takes_three_passes || shares_highest_byte(s, bins))) return true;
  // Keys of which no highest byte has a sixteenth have no crowded digits there, and are taken to have none below.
  const bool is_even = bins.is_uneven == 0 && s.most_of_a_byte >> radix_bits < bin_sample::samples / 16;
  if (Limbs == 2 && is_even) return false;
  count_copies_and_crowded<Limbs>(digits, bins, words);
  // A fifth of the keys share bin and digit with others, where a few of a hundred uniform keys do: a sort would take a
  // pass for nearly every digit.
  if (digits.crowded >= samples / 5) return true;
  // Few keys are all where half of the sample are copies.
  if (Limbs == 2 || digits.copies >= samples / 20 * 9) return false;
  return is_long ? digits.most_of_a_key >= samples / 64 : digits.copies >= samples / 32;
}

}  // namespace sheaf::cuda
