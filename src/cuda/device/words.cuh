#pragma once

#include <cstdint>

namespace sheaf::cuda {

/// Calls body with a value of the unsigned type of this many bytes, 1, 2, 4, 8 or 16. Records move as words; what they
/// mean is nobody's business here.
template <class Body>
void with_word(std::uint32_t word_bytes, Body body) {
  switch (word_bytes) {
    case 1: return body(std::uint8_t{});
    case 2: return body(std::uint16_t{});
    case 4: return body(std::uint32_t{});
    case 8: return body(uint2{});
    default: return body(uint4{});
  }
}

/// Reads a word that no thread writes during the kernel.
template <class Word>
__device__ __forceinline__ Word load_word(const std::byte* from) {
  return __ldg(reinterpret_cast<const Word*>(from));
}

template <class Word>
__device__ __forceinline__ void store_word(std::byte* to, Word word) {
  *reinterpret_cast<Word*>(to) = word;
}

/// Writes a word that nobody reads soon: the table keeps the cache.
template <class Word>
__device__ __forceinline__ void store_streamed(std::byte* to, Word word) {
  __stcs(reinterpret_cast<Word*>(to), word);
}

}  // namespace sheaf::cuda
