#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/split.hpp>

#include "core/host_device.hpp"

// A record's category, read from its key. Host and device share this.
namespace sheaf::primitives {

/// Bytes that a bit field touches, 1 to 5.
constexpr std::uint32_t bytes_touched(const bit_field& f) {
  return static_cast<std::uint32_t>((f.first % 8 + f.count + 7) / 8);
}

/// The field of the record that begins at `record`, reading only the bytes that hold it.
SHEAF_HOST_DEVICE inline std::uint32_t field_of(const std::byte* record, const bit_field& f) {
  const std::byte* const first = record + f.first / 8;
  const auto skipped = static_cast<std::uint32_t>(f.first % 8);
  const std::uint32_t touched = (skipped + f.count + 7) / 8;
  std::uint64_t word = 0;
  if (f.order == bit_order::little_endian) {
    for (std::uint32_t b = 0; b < touched; ++b) word |= std::uint64_t{static_cast<unsigned char>(first[b])} << (8 * b);
    word >>= skipped;
  } else {
    for (std::uint32_t b = 0; b < touched; ++b) word = word << 8 | static_cast<unsigned char>(first[b]);
    word >>= 8 * touched - skipped - f.count;
  }
  return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << f.count) - 1));
}

/// The part [low, low + count) of a field's bits, counted from its lowest: a field of its own.
constexpr bit_field part_of(const bit_field& f, std::uint32_t low, std::uint32_t count) {
  const std::uint64_t first = f.order == bit_order::little_endian ? f.first + low : f.first + f.count - low - count;
  return {first, count, f.order};
}

/// Bits that category numbers below `categories` take; 0 for one category.
constexpr std::uint32_t category_bits(std::uint64_t categories) {
  std::uint32_t bits = 0;
  while (bits < 33 && (std::uint64_t{1} << bits) < categories) ++bits;
  return bits;
}

}  // namespace sheaf::primitives
