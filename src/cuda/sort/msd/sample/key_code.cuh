#pragma once

#include "cuda/sort/msd/tables.cuh"

// The code of a key, by which the first pass puts it into a sampled bin.
namespace sheaf::cuda {

/// Makes codes of keys. Codes of magnitudes are for words of two limbs that are keys as a whole: 6 bits say which bit
/// is the highest that is set, the others are the bits below it. 0 has the code of 1.
template <int Limbs>
class key_coder {
 public:
  static constexpr std::uint32_t magnitude_bits = 6;

  key_coder() = default;
  /// @param window_end  at least key_low + sampled_bins::bits, at most the end of the word
  /// @param sampled     a key of the sample
  __device__ __forceinline__ key_coder(key_code code, std::uint32_t window_end, const std::uint32_t (&sampled)[2])
      : code_(code),
        has_shared_bits_(window_end < sort_word<Limbs>::bits),
        window_(digit_at(window_end - sampled_bins::bits, sampled_bins::bits)),
        shared_bits_(window_end),
        shared_(0) {
    sort_word<Limbs> word;
#pragma unroll
    for (int i = 0; i < Limbs; ++i) word.limb[i] = sampled[i];
    if (has_shared_bits_) shared_ = bits_from(word, window_end);
  }

  __device__ __forceinline__ std::uint32_t operator()(const sort_word<Limbs>& word) const {
    if constexpr (Limbs == 2) {
      if (code_ == key_code::magnitude) return magnitude_of<sampled_bins::bits>(pair_of(word, 0));
      if (code_ == key_code::signed_magnitude) {
        constexpr std::uint32_t bits = sampled_bins::bits - 1;
        const std::uint64_t number = pair_of(word, 0);
        const bool is_upper = number >> 63 != 0;
        const std::uint32_t code = magnitude_of<bits>(distance_from_middle(number));
        return is_upper ? 1U << bits | code : ~code & ((1U << bits) - 1);
      }
    }
    const std::uint32_t code = digit_of(word, window_);
    if (!has_shared_bits_) return code;
    // Keys that the sample knows nothing of are less or greater than all of it.
    const std::uint64_t above = bits_from(word, shared_bits_);
    return above == shared_ ? code : above < shared_ ? 0 : last_code;
  }

  /// The bit from which up all keys agree whose codes differ from `code` in the lowest `agreed` bits alone.
  __device__ std::uint32_t digit_end(std::uint32_t code, std::uint32_t agreed, std::uint32_t key_low) const {
    std::uint32_t code_bits = sampled_bins::bits;
    const std::uint32_t last = code | ((1U << agreed) - 1);
    if (code_ == key_code::window) {
      if (has_shared_bits_ && (code == 0 || last == last_code)) return sort_word<Limbs>::bits;
      return shared_bits_ - code_bits + agreed;
    }
    if (code_ == key_code::signed_magnitude) {
      if (agreed == code_bits) return sort_word<Limbs>::bits;  // on both sides of the middle
      --code_bits;
      if (code >> code_bits == 0) code = ~code;
      code &= (1U << code_bits) - 1;
    }
    const std::uint32_t below_bits = code_bits - magnitude_bits;
    // The highest of the codes has the highest magnitude.
    const std::uint32_t magnitude = (code | ((1U << agreed) - 1)) >> below_bits;
    const std::uint32_t end =
        agreed > below_bits ? magnitude + 1 : magnitude + agreed - min(magnitude + agreed, below_bits);
    return max(end, magnitude == 0 ? 1 : key_low);
  }

 private:
  static constexpr std::uint32_t last_code = (1U << sampled_bins::bits) - 1;

  static __device__ __forceinline__ std::uint64_t bits_from(const sort_word<Limbs>& word, std::uint32_t bit) {
    return pair_of(word, 0) >> bit;
  }
  template <std::uint32_t Bits>
  static __device__ __forceinline__ std::uint32_t magnitude_of(std::uint64_t number) {
    constexpr std::uint32_t below_bits = Bits - magnitude_bits;
    const auto zeros = static_cast<std::uint32_t>(__clzll(static_cast<long long>(number | 1)));
    const auto below = static_cast<std::uint32_t>(number << zeros << 1 >> (64 - below_bits));
    return (63 - zeros) << below_bits | below;
  }
  static __device__ __forceinline__ std::uint64_t distance_from_middle(std::uint64_t number) {
    constexpr std::uint64_t middle = std::uint64_t{1} << 63;
    return number >= middle ? number - middle : middle - 1 - number;
  }

  key_code code_;
  bool has_shared_bits_;
  digit_field window_;
  std::uint32_t shared_bits_;  ///< the bit from which up they lie
  std::uint64_t shared_;       ///< these bits of the sample's keys
};

}  // namespace sheaf::cuda
