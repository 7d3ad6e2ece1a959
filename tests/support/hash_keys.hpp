#pragma once

#include <cstdint>

// Keys with the hashes that a test wants: the hash function of src/primitives/hash/function.hpp, backwards.
namespace sheaf::tests {

/// The inverse of an odd number modulo 2^bits, by Newton's iteration.
template <class Word>
constexpr Word inverse_of(Word odd) {
  Word inverse = odd;
  for (int round = 0; round < 6; ++round) inverse *= static_cast<Word>(2 - odd * inverse);
  return inverse;
}

/// The inverse of x ^= x >> shift.
template <class Word>
constexpr Word unshifted(Word x, int shift) {
  Word result = x;
  for (int bits = shift; bits < static_cast<int>(8 * sizeof(Word)); bits += shift) {
    result = static_cast<Word>(x ^ (result >> shift));
  }
  return result;
}

constexpr std::uint64_t key_with_hash(std::uint64_t hash) {
  std::uint64_t key = unshifted(hash, 33) * inverse_of<std::uint64_t>(0xc4ceb9fe1a85ec53U);
  key = unshifted(key, 33) * inverse_of<std::uint64_t>(0xff51afd7ed558ccdU);
  return unshifted(key, 33);
}
constexpr std::uint32_t key_with_hash(std::uint32_t hash) {
  std::uint32_t key = unshifted(hash, 16) * inverse_of<std::uint32_t>(0xc2b2ae35U);
  key = unshifted(key, 13) * inverse_of<std::uint32_t>(0x85ebca6bU);
  return unshifted(key, 16);
}

}  // namespace sheaf::tests
