#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::cuda {

/// Calls `body` with a value of the word type of 1, 2, 4, 8 or 16 bytes, so that a runtime width becomes a template
/// argument. A word is what one thread loads or stores at once; kernels that move words never interpret them.
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

/// Reads a word that no thread writes during the kernel, through the read-only path.
template <class Word>
__device__ __forceinline__ Word load_word(const std::byte* from) {
  return __ldg(reinterpret_cast<const Word*>(from));
}

/// A record that is its position in the list, and needs no memory: the list's address is null and its stride one byte.
struct row_position {
  std::uint32_t position;
  __device__ __forceinline__ operator std::uint32_t() const { return position; }
};
template <>
__device__ __forceinline__ row_position load_word<row_position>(const std::byte* from) {
  return {static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from))};
}

template <class Word>
__device__ __forceinline__ void store_word(std::byte* to, Word word) {
  *reinterpret_cast<Word*>(to) = word;
}

/// Writes a word that no thread reads soon. The streaming hint leaves the cache to data that is read again.
template <class Word>
__device__ __forceinline__ void store_streamed(std::byte* to, Word word) {
  __stcs(reinterpret_cast<Word*>(to), word);
}

}  // namespace sheaf::cuda
