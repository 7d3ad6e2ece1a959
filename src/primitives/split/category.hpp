#pragma once

#include <algorithm>
#include <compare>

#include <sheaf/split.hpp>

#include "core/host_device.hpp"

// Reads the category of a record from its key, on host and device.
namespace sheaf::primitives {

/// Number of bytes in which the bits of a field lie, 1 to 5, or up to 13 where the field has more than 32 bits.
constexpr std::uint32_t bytes_touched(const bit_field& f) {
  return static_cast<std::uint32_t>((f.first % 8 + f.count + 7) / 8);
}

/// The value of a field of up to 32 bits of the record that begins at `record`. Reads only the bytes that hold it.
SHEAF_HOST_DEVICE inline std::uint32_t field_of(const std::byte* record, const bit_field& field) {
  const std::byte* const first = record + field.first / 8;
  const auto skipped = static_cast<std::uint32_t>(field.first % 8);
  const std::uint32_t touched = (skipped + field.count + 7) / 8;
  std::uint64_t word = 0;
  if (field.order == bit_order::little_endian) {
    for (std::uint32_t b = 0; b < touched; ++b) word |= std::uint64_t{static_cast<unsigned char>(first[b])} << (8 * b);
    word >>= skipped;
  } else {
    for (std::uint32_t b = 0; b < touched; ++b) word = word << 8 | static_cast<unsigned char>(first[b]);
    word >>= 8 * touched - skipped - field.count;
  }
  return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << field.count) - 1));
}

/// The field of `count` bits of `f` that begins at its bit `low`, counted from the lowest bit of its value.
constexpr bit_field part_of(const bit_field& f, std::uint32_t low, std::uint32_t count) {
  const std::uint64_t first = f.order == bit_order::little_endian ? f.first + low : f.first + f.count - low - count;
  return {first, count, f.order};
}

/// The value of a field of up to 96 bits.
struct wide_category {
  std::uint64_t high = 0;  ///< bits 64 and up
  std::uint64_t low = 0;

  friend constexpr bool operator==(const wide_category&, const wide_category&) = default;
  friend constexpr bool operator<(const wide_category& a, const wide_category& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }
};

/// The value of a field of any width, on the host.
inline wide_category wide_field_of(const std::byte* record, const bit_field& field) {
  const auto part_from = [&](std::uint32_t low) -> std::uint64_t {
    if (low >= field.count) return 0;
    return field_of(record, part_of(field, low, std::min(std::uint32_t{32}, field.count - low)));
  };
  return {part_from(64), part_from(32) << 32 | part_from(0)};
}

/// Number of bits that hold every number below `categories`; 0 for one category.
constexpr std::uint32_t category_bits(std::uint64_t categories) {
  std::uint32_t bits = 0;
  while (bits < 33 && (std::uint64_t{1} << bits) < categories) ++bits;
  return bits;
}

}  // namespace sheaf::primitives
