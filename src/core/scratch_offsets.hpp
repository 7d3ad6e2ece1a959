#pragma once

#include <cstdint>

namespace sheaf::core {

/// Scratch of a call, and every array in it, begins at a multiple of these bytes.
constexpr std::uint64_t scratch_alignment = 256;

/// Bytes that an array takes in scratch, up to where the next may begin.
constexpr std::uint64_t scratch_aligned(std::uint64_t bytes) {
  return (bytes + scratch_alignment - 1) / scratch_alignment * scratch_alignment;
}

/// Lays arrays one behind the other in scratch.
class scratch_offsets {
 public:
  /// Where an array of so many bytes begins.
  constexpr std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t begin = bytes_;
    bytes_ += scratch_aligned(bytes);
    return begin;
  }
  /// Bytes of all arrays, and where the next would begin.
  constexpr std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

}  // namespace sheaf::core
