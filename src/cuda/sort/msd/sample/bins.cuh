#pragma once

#include "cuda/block/scan.cuh"
#include "cuda/sort/msd/sample/key_code.cuh"

// The bins of a first pass by a sample of the keys. Real keys share their high bits: half of all floats of a normal
// distribution have one of six highest bytes. Bins of as many keys each leave buckets that the next pass cuts into
// groups, and in short lists they are groups already.
namespace sheaf::cuda {

/// The sample in shared memory.
struct bin_sample {
  static constexpr int keys_each = 8;  ///< for each thread
  static constexpr std::uint32_t samples = keys_each * pass_threads;
  static constexpr int prefixes_each = sampled_bins::prefixes / pass_threads;

  std::uint32_t with_prefix[sampled_bins::prefixes];             ///< samples of each prefix
  std::uint32_t with_lesser_prefix[sampled_bins::prefixes + 1];  ///< samples of all lesser prefixes
  alignas(16) std::uint32_t warp_sums[32];
  std::uint32_t digit_end[radix_bins];
  std::uint32_t crowded;           ///< samples in bins of the highest 8 bits that are too large
  std::uint32_t most_of_a_byte;    ///< the most samples of one highest byte, and below that the byte
  std::uint32_t most_of_a_prefix;  ///< the most samples of one prefix
  std::uint32_t first_key[2];
  std::uint32_t differing[2];  ///< bits in which two samples differ, by limb
  std::uint32_t bins;
};

/// The position of a sample's key, at a random place of its part of the list, so that what repeats at regular distances
/// is met as often as everything else.
__device__ __forceinline__ std::uint32_t sampled_position(std::uint32_t sample, std::uint32_t samples,
                                                          std::uint32_t count) {
  const auto begin = static_cast<std::uint32_t>(std::uint64_t{count} * sample / samples);
  return begin + __umulhi((sample + 1) * 0x9e3779b1U, count / samples);
}

/// Bins that each have about a `parts`-th of the samples or less, in shared memory, and their number, which may be too
/// large. A bin takes the most prefixes that it may, of those that differ in their lowest bits alone.
template <int Limbs>
__device__ void bins_of_parts(bin_sample& s, std::uint32_t parts, std::uint32_t key_low,
                              const key_coder<Limbs>& code_of, std::uint16_t (&entries)[bin_sample::prefixes_each]) {
  constexpr int each = bin_sample::prefixes_each;
  constexpr std::uint32_t samples = bin_sample::samples;
  const std::uint32_t first = threadIdx.x * each;
  std::uint32_t shared_bits[each];  // j
  std::uint32_t more_bits[each];    // k
  std::uint32_t bin[each];          // the bins that begin with the prefix; after the scan, those that begin before it
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const std::uint32_t prefix = first + i;
    shared_bits[i] = more_bits[i] = 0;
    const std::uint32_t own = s.with_prefix[prefix];
    if (own * parts > samples) {
      more_bits[i] = min(32 - __clz(static_cast<int>((own * parts - 1) / samples)),
                         static_cast<int>(sampled_bins::most_more_bits));
    } else {
      for (std::uint32_t j = 1; j <= sampled_bins::prefix_bits; ++j) {
        const std::uint32_t begin = prefix >> j << j;
        const std::uint32_t held = s.with_lesser_prefix[begin + (1U << j)] - s.with_lesser_prefix[begin];
        if (held * parts > samples) break;
        shared_bits[i] = j;
      }
    }
    const bool begins = (prefix & ((1U << shared_bits[i]) - 1)) == 0;
    bin[i] = begins ? 1U << more_bits[i] : 0;
  }
  std::uint32_t begun[each];
#pragma unroll
  for (int i = 0; i < each; ++i) begun[i] = bin[i];
  scan_bins<sampled_bins::prefixes, pass_threads>(bin, s.warp_sums);
  if (threadIdx.x == pass_threads - 1) s.bins = bin[each - 1] + begun[each - 1];
  __syncthreads();
  if (s.bins > radix_bins) return;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    // A prefix that shares a bin but does not begin it finds one more bin begun.
    const std::uint32_t own = begun[i] > 0 ? bin[i] : bin[i] - 1;
    entries[i] = static_cast<std::uint16_t>(sampled_bins::entry_of(own, more_bits[i]));
    for (std::uint32_t b = 0; b < begun[i]; ++b) {
      const std::uint32_t agreed = sampled_bins::most_more_bits + shared_bits[i] - more_bits[i];
      const std::uint32_t code = (first + i) << sampled_bins::most_more_bits | b << agreed;
      s.digit_end[bin[i] + b] = code_of.digit_end(code, agreed, key_low);
    }
  }
}

/// Counts the sampled words by the prefixes of their codes.
template <int Limbs>
__device__ void count_prefixes(bin_sample& s, const sort_word<Limbs> (&words)[bin_sample::keys_each],
                               const key_coder<Limbs>& code_of) {
#pragma unroll
  for (int i = 0; i < bin_sample::prefixes_each; ++i) s.with_prefix[i * pass_threads + threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < bin_sample::keys_each; ++k) {
    const std::uint32_t prefix = code_of(words[k]) >> sampled_bins::most_more_bits;
    // Lanes that share the prefix of the first are added by it: in skewed samples they are most.
    const unsigned peers = __ballot_sync(~0U, prefix == __shfl_sync(~0U, prefix, 0));
    if (threadIdx.x % 32 == 0) {
      atomicAdd(&s.with_prefix[prefix], static_cast<std::uint32_t>(__popc(peers)));
    } else if ((peers >> threadIdx.x % 32 & 1U) == 0) {
      atomicAdd(&s.with_prefix[prefix], 1U);
    }
  }
  __syncthreads();
}

/// The bit from which up all keys of the sample agree, but at least as many bits above key_low as a code has.
template <int Limbs>
__device__ std::uint32_t end_of_window(bin_sample& s, const sort_word<Limbs> (&words)[bin_sample::keys_each],
                                       std::uint32_t key_low) {
  const key_mask<Limbs> key(key_low);
#pragma unroll
  for (int l = 0; l < Limbs; ++l) {
    std::uint32_t differing = 0;
#pragma unroll
    for (int k = 0; k < bin_sample::keys_each; ++k) {
      differing |= (words[k].limb[l] ^ s.first_key[l]) & key.limb[l];
    }
    differing = __reduce_or_sync(~0U, differing);
    if (threadIdx.x % 32 == 0 && differing != 0) atomicOr(&s.differing[l], differing);
  }
  __syncthreads();
  std::uint32_t differing[Limbs];
#pragma unroll
  for (int l = 0; l < Limbs; ++l) differing[l] = s.differing[l];
  return min(sort_word<Limbs>::bits, max(bit_length<Limbs>(differing), key_low + sampled_bins::bits));
}

/// Chooses the first pass's bins by a sample of the keys. One block calls this.
template <int Limbs>
__device__ void choose_bins(bin_sample& s, sampled_bins& out, std::uint32_t count, std::uint32_t key_low,
                            const sort_word<Limbs> (&words)[bin_sample::keys_each]) {
  constexpr int each = bin_sample::prefixes_each;
  constexpr std::uint32_t prefixes_of_byte = sampled_bins::prefixes / radix_bins;
  constexpr std::uint32_t samples = bin_sample::samples;
  if (threadIdx.x == 0) {
    s.crowded = s.most_of_a_byte = s.most_of_a_prefix = 0;
#pragma unroll
    for (int l = 0; l < Limbs; ++l) {
      s.first_key[l] = words[0].limb[l];
      s.differing[l] = 0;
    }
  }
  const std::uint32_t no_key[2] = {};
  key_coder<Limbs> code_of(key_code::window, sort_word<Limbs>::bits, no_key);
  count_prefixes(s, words, code_of);
  // Bins of the highest 8 bits are too large if the pass leaves more words in them than twice what a group has, as a
  // sample errs by a quarter; in long lists, more than the next pass cuts into groups, and than twice an even share.
  const std::uint32_t most_words =
      count <= radix_bins * group_words ? 2 * group_words : max(radix_bins * group_words, count / radix_bins * 2);
  if (threadIdx.x < radix_bins) {
    std::uint32_t held = 0;
    for (std::uint32_t i = 0; i < prefixes_of_byte; ++i) held += s.with_prefix[threadIdx.x * prefixes_of_byte + i];
    const bool is_crowded = std::uint64_t{held} * count > std::uint64_t{samples} * most_words;
    const std::uint32_t crowded = __reduce_add_sync(~0U, is_crowded ? held : 0);
    const std::uint32_t most = __reduce_max_sync(~0U, held << radix_bits | threadIdx.x);
    if (threadIdx.x % 32 == 0) {
      atomicAdd(&s.crowded, crowded);
      atomicMax(&s.most_of_a_byte, most);
    }
  }
  __syncthreads();
  std::uint16_t entries[each];
  const bool is_uneven = s.crowded >= samples / 8;
  key_code code = key_code::window;
  std::uint32_t window_end = sort_word<Limbs>::bits;
  if (is_uneven) {
    window_end = end_of_window(s, words, key_low);
    if (window_end < sort_word<Limbs>::bits) {
      code_of = key_coder<Limbs>(code, window_end, s.first_key);
      count_prefixes(s, words, code_of);
    }
    // Where many keys share a prefix still, and have the lowest byte of all, or of all on one side of the middle, they
    // are small numbers.
    std::uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < each; ++i) most = max(most, s.with_prefix[threadIdx.x * each + i]);
    most = __reduce_max_sync(~0U, most);
    if (threadIdx.x % 32 == 0) atomicMax(&s.most_of_a_prefix, most);
    __syncthreads();
    const std::uint32_t byte = s.most_of_a_byte % radix_bins;
    if (Limbs == 2 && key_low == 0 && s.most_of_a_prefix >= samples / 8 &&
        s.most_of_a_byte >> radix_bits >= samples / 4) {
      if (byte == 0) code = key_code::magnitude;
      if (byte == radix_bins / 2 || byte == radix_bins / 2 - 1) code = key_code::signed_magnitude;
    }
    if (code != key_code::window) {
      code_of = key_coder<Limbs>(code, sort_word<Limbs>::bits, no_key);
      count_prefixes(s, words, code_of);
    }
    std::uint32_t lesser[each];
#pragma unroll
    for (int i = 0; i < each; ++i) lesser[i] = s.with_prefix[threadIdx.x * each + i];
    scan_bins<sampled_bins::prefixes, pass_threads>(lesser, s.warp_sums);
#pragma unroll
    for (int i = 0; i < each; ++i) s.with_lesser_prefix[threadIdx.x * each + i] = lesser[i];
    if (threadIdx.x == 0) s.with_lesser_prefix[sampled_bins::prefixes] = samples;
    if (threadIdx.x < radix_bins) s.digit_end[threadIdx.x] = sort_word<Limbs>::bits;
    __syncthreads();
    for (std::uint32_t parts = 160; parts >= 8; parts -= parts > 32 ? 16 : 8) {
      bins_of_parts(s, parts, key_low, code_of, entries);
      __syncthreads();
      if (s.bins <= radix_bins) break;
    }
  } else {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      entries[i] = static_cast<std::uint16_t>(sampled_bins::entry_of((threadIdx.x * each + i) / prefixes_of_byte, 0));
    }
  }
#pragma unroll
  for (int i = 0; i < each; ++i) out.entries[threadIdx.x * each + i] = entries[i];
  if (threadIdx.x < radix_bins) {
    out.digit_end[threadIdx.x] = is_uneven ? s.digit_end[threadIdx.x] : sort_word<Limbs>::bits - radix_bits;
  }
  if (threadIdx.x == 0) {
    out.is_uneven = is_uneven ? 1 : 0;
    out.code = code;
    out.window_end = window_end;
#pragma unroll
    for (int l = 0; l < Limbs; ++l) out.shared[l] = s.first_key[l];
  }
}

}  // namespace sheaf::cuda
