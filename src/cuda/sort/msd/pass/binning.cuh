#pragma once

#include "cuda/sort/msd/sample/key_code.cuh"

// The bin of a word in an MSD pass.
namespace sheaf::cuda {

/// What an MSD pass is compiled for. FromRows: the pass reads rows and makes words of them. HasSampledBins: bins are
/// those of the first pass that a sample of all keys asks for (sampled_bins), else there is one for each digit.
template <int Limbs, payload_mode Payload, bool FromRows, bool HasSampledBins>
struct msd_pass_policy {
  static constexpr int limbs = Limbs;
  static constexpr payload_mode payload = Payload;
  static constexpr bool keeps_order = carries_values(Payload);
  static constexpr bool from_rows = FromRows;
  static constexpr bool has_sampled_bins = HasSampledBins;
  static constexpr int items = pass_items<Limbs>;
  static constexpr std::uint32_t tile_words = pass_tile_words<Limbs>;
  using word = sort_word<Limbs>;
  using reader = word_reader<Limbs, FromRows>;
};

/// How a word's digit is read. In a word of one or two limbs any 8 bits are as fast as a byte; a longer word's digit is
/// a byte.
template <int Limbs>
constexpr bool has_byte_digits = Limbs > 2;
template <int Limbs>
using pass_digit_field = std::conditional_t<has_byte_digits<Limbs>, byte_field, digit_field>;

template <class Policy, bool HasSampledBins = Policy::has_sampled_bins>
struct pass_binning;

template <class Policy>
struct pass_binning<Policy, false> {
  pass_digit_field<Policy::limbs> digit;
  __device__ __forceinline__ std::uint32_t bin_of(const typename Policy::word& w) const { return digit_of(w, digit); }
};

template <class Policy>
struct pass_binning<Policy, true> {
  key_coder<Policy::limbs> code_of;
  const std::uint16_t* entries;  ///< sampled_bins::entries, in shared memory
  __device__ __forceinline__ std::uint32_t bin_of(const typename Policy::word& w) const {
    constexpr std::uint32_t more_bits = sampled_bins::most_more_bits;
    const std::uint32_t bits = code_of(w);
    const std::uint32_t entry = entries[bits >> more_bits];
    const std::uint32_t more = bits & ((1U << more_bits) - 1);
    return sampled_bins::first_bin(entry) + (more >> (more_bits - sampled_bins::more_bits(entry)));
  }
};

}  // namespace sheaf::cuda
