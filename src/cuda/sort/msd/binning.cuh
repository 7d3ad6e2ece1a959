#pragma once

#include "cuda/sort/msd/tables.cuh"

// The bin of a word in an MSD pass: its digit, or a bin that a heavy key has to itself.
namespace sheaf::cuda {

/// What a pass does about heavy keys: nothing, or it gives the one that a sample of the bucket finds a bin of its own.
enum class heavy_key_mode { ignored, own_bin };

/// What an MSD pass is compiled for. FromRows: the pass reads rows and makes words of them.
template <int Limbs, payload_mode Payload, bool FromRows, heavy_key_mode HeavyKeys>
struct msd_pass_policy {
  static constexpr int limbs = Limbs;
  static constexpr payload_mode payload = Payload;
  static constexpr bool keeps_order = is_stable(Payload);
  static constexpr bool from_rows = FromRows;
  static constexpr bool finds_heavy_keys = HeavyKeys == heavy_key_mode::own_bin;
  static constexpr int items = pass_items<Limbs>;
  static constexpr std::uint32_t tile_words = pass_tile_words<Limbs>;
  using word = sort_word<Limbs>;
  using reader = word_reader<Limbs, FromRows>;
};

/// How a word's digit is read. In a word of one limb any 8 bits are as fast as a byte; a longer word's digit is a byte.
template <int Limbs>
using pass_digit_field = std::conditional_t<Limbs == 1, digit_field, byte_field>;

/// The key that two of a few sampled words of a bucket share, and which is therefore likely to be frequent.
struct sampled_heavy_key {
  std::uint32_t limb[4];
  bool is_found;
};

/// The bins of a bucket are its digits. A heavy key has a bin of its own, which is in order at once, between the bin of
/// lesser words with its digit and the bin of greater ones. The three highest digits then share one bin, which makes
/// room for these two additional bins.
template <class Policy, bool FindsHeavyKeys = Policy::finds_heavy_keys>
struct pass_binning {
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
struct pass_binning<Policy, false> {
  pass_digit_field<Policy::limbs> digit;
  __device__ __forceinline__ std::uint32_t bin_of(const typename Policy::word& w) const { return digit_of(w, digit); }
  __device__ std::uint32_t heavy_key_bin() const { return no_bin; }
};

}  // namespace sheaf::cuda
