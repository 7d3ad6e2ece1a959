#pragma once

#include "cuda/sort/msd/sample/key_code.cuh"

// The bin of a word in an MSD pass: its digit, or a bin that a heavy key has to itself.
namespace sheaf::cuda {

/// What the bins of a pass are.
enum class pass_bins {
  digits,                ///< a bin for each digit
  digits_and_heavy_key,  ///< likewise, and one for the heavy key that a sample of the bucket finds
  sampled,               ///< those of the first pass that a sample of all keys asks for: see sampled_bins
};

/// What an MSD pass is compiled for. FromRows: the pass reads rows and makes words of them.
template <int Limbs, payload_mode Payload, bool FromRows, pass_bins Bins>
struct msd_pass_policy {
  static constexpr int limbs = Limbs;
  static constexpr payload_mode payload = Payload;
  static constexpr bool keeps_order = carries_values(Payload);
  static constexpr bool from_rows = FromRows;
  static constexpr pass_bins bins = Bins;
  static constexpr bool finds_heavy_keys = Bins == pass_bins::digits_and_heavy_key;
  static constexpr bool has_sampled_bins = Bins == pass_bins::sampled;
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

/// The key that two of a few sampled words of a bucket share, and which is therefore likely to be frequent.
struct sampled_heavy_key {
  std::uint32_t limb[4];
  bool is_found;
};

/// The bins of a bucket are its digits. A heavy key has a bin of its own, which is in order at once, between the bin of
/// lesser words with its digit and the bin of greater ones. The three highest digits then share one bin, which makes
/// room for these two additional bins.
template <class Policy, pass_bins Bins = Policy::bins>
struct pass_binning;

template <class Policy>
struct pass_binning<Policy, pass_bins::digits_and_heavy_key> {
  using word = typename Policy::word;
  /// Words with row numbers or values may differ although their keys are equal.
  static constexpr bool has_unequal_words_of_a_key = Policy::payload != payload_mode::none;
  static constexpr std::uint32_t last_digit_beside_heavy_key = radix_bins - 3;

  pass_digit_field<Policy::limbs> digit;
  std::uint32_t last_digit;      ///< the digit whose bin higher digits share
  std::uint32_t heavy_key_step;  ///< 1 in a bucket with a heavy key, else 0
  word heavy_least;              ///< least word that has the heavy key
  word heavy_most;               ///< greatest word that has the heavy key

  __device__ __forceinline__ std::uint32_t bin_of(const word& w) const {
    std::uint32_t bin = min(digit_of(w, digit), last_digit);
    if (!is_less(w, heavy_least)) bin += heavy_key_step;
    if (is_less(has_unequal_words_of_a_key ? heavy_most : heavy_least, w)) bin += heavy_key_step;
    return bin;
  }
  __device__ std::uint32_t heavy_key_bin() const {
    return heavy_key_step == 0 ? no_bin : digit_of(heavy_least, digit) + 1;
  }
};

/// The bins of a pass that ignores heavy keys.
template <class Policy>
struct pass_binning<Policy, pass_bins::digits> {
  pass_digit_field<Policy::limbs> digit;
  __device__ __forceinline__ std::uint32_t bin_of(const typename Policy::word& w) const { return digit_of(w, digit); }
  __device__ std::uint32_t heavy_key_bin() const { return no_bin; }
};

/// The bins of a first pass whose keys were sampled.
template <class Policy>
struct pass_binning<Policy, pass_bins::sampled> {
  key_coder<Policy::limbs> code_of;
  const std::uint16_t* entries;  ///< sampled_bins::entries, in shared memory
  __device__ __forceinline__ std::uint32_t bin_of(const typename Policy::word& w) const {
    constexpr std::uint32_t more_bits = sampled_bins::most_more_bits;
    const std::uint32_t bits = code_of(w);
    const std::uint32_t entry = entries[bits >> more_bits];
    const std::uint32_t more = bits & ((1U << more_bits) - 1);
    return sampled_bins::first_bin(entry) + (more >> (more_bits - sampled_bins::more_bits(entry)));
  }
  __device__ std::uint32_t heavy_key_bin() const { return no_bin; }
};

}  // namespace sheaf::cuda
