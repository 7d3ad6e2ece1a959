#pragma once

#include <algorithm>
#include <cstdint>

// The lane rule of section 4.1: how many threads move a record together, and how wide their accesses are.
namespace sheaf::papers::patidar2009 {

struct record_lanes {
  std::uint32_t count;         ///< threads that share a record
  std::uint32_t access_bytes;  ///< what each of them reads and writes at once: 1, 2, 4, 8 or 16

  friend constexpr bool operator==(const record_lanes&, const record_lanes&) = default;
};

/// The threads of a block. Above 4096 bytes the rule asks for more than these, and they loop.
constexpr std::uint32_t most_lanes = 256;

/// The lanes of a record. What a thread loads in a single read, an aligned word of up to 16 bytes, has one. Up to 64
/// bytes there is one for every 4 bytes; up to 256 bytes there are 16, with accesses of 8 or 16 bytes, so that one of
/// each lane is enough; above that there is one for every 16 bytes. Where these widths do not divide the record, counts
/// are rounded up, and an access is narrower; lanes then go over the record more than once.
/// @param word_bytes  the widest power of two up to 16 that divides the record, its strides and its addresses
constexpr record_lanes lanes_of_record(std::uint64_t record_bytes, std::uint32_t word_bytes) {
  const auto lanes_of = [&](std::uint64_t bytes_of_lane) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((record_bytes + bytes_of_lane - 1) / bytes_of_lane, most_lanes));
  };
  if (record_bytes == word_bytes) return {1, word_bytes};
  if (record_bytes <= 64) return {lanes_of(4), std::min(word_bytes, 4U)};
  if (record_bytes <= 256) return {16, std::min(word_bytes, record_bytes <= 128 ? 8U : 16U)};
  return {lanes_of(16), word_bytes};
}

}  // namespace sheaf::papers::patidar2009
