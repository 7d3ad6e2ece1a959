#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sheaf::jobs {

/// One step of the hash: the exclusive or of both halves of a 128-bit product.
inline std::uint64_t hash_step(std::uint64_t state, std::uint64_t word) {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(state ^ word) * 0x9e3779b97f4a7c15;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A record's hash: hash_step over its little-endian 8-byte words, the last one padded with zero bytes, then over its
/// length, from a state of 0x243f6a8885a308d3. `--check` prints the sum of these hashes. The function must not change,
/// so that sums of different versions and machines can be compared.
inline std::uint64_t record_hash(const std::byte* record, std::uint64_t bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t state = 0x243f6a8885a308d3;
  std::uint64_t offset = 0;
  for (; offset + 8 <= bytes; offset += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, record + offset, 8);
    state = hash_step(state, word);
  }
  if (offset < bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, record + offset, bytes - offset);
    state = hash_step(state, word);
  }
  return hash_step(hash_step(state, bytes), 0);
}

}  // namespace sheaf::jobs
