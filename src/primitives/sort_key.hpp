#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include <sheaf/sort.hpp>

#include "core/host_device.hpp"

// Keys as numbers: the fields of a row become one unsigned number of up to 256 bits whose order is that of the rows.
// Host and device share this.
namespace sheaf::primitives {

/// The fields of a key that was checked, and how many bits they come to.
struct key_layout {
  std::array<key_field, sort_key::most_fields> fields{};
  std::uint32_t field_count = 0;
  std::uint32_t bits = 0;  ///< 1 to 256

  friend bool operator==(const key_layout&, const key_layout&) = default;
};

SHEAF_HOST_DEVICE constexpr std::uint32_t bits_of(const key_field& f) {
  return f.bit_count != 0 ? f.bit_count : f.bytes * 8 - f.first_bit;
}

/// word[0] holds the lowest 64 bits.
struct key_number {
  static constexpr std::uint32_t words = sort_key::most_bits / 64;
  std::uint64_t word[words] = {};

  SHEAF_HOST_DEVICE friend bool operator<(const key_number& a, const key_number& b) {
    for (std::uint32_t w = words - 1; w > 0; --w) {
      if (a.word[w] != b.word[w]) return a.word[w] < b.word[w];
    }
    return a.word[0] < b.word[0];
  }
  SHEAF_HOST_DEVICE friend bool operator==(const key_number& a, const key_number& b) {
    return a.word[0] == b.word[0] && a.word[1] == b.word[1] && a.word[2] == b.word[2] && a.word[3] == b.word[3];
  }
};

/// The whole number that a field says, in an order that ascends, before bits are taken from it.
SHEAF_HOST_DEVICE inline key_number number_of(const std::byte* row, const key_field& f) {
  const std::byte* const first = row + f.offset;
  key_number n;
  for (std::uint32_t b = 0; b < f.bytes; ++b) {
    const std::uint32_t at = f.type == key_type::bytes ? f.bytes - 1 - b : b;
    n.word[b / 8] |= std::uint64_t{static_cast<unsigned char>(first[at])} << (b % 8 * 8);
  }
  const std::uint32_t sign_bit = f.bytes * 8 - 1;
  const std::uint64_t sign = std::uint64_t{1} << (sign_bit % 64);
  bool flips_all = f.descending;
  if (f.type == key_type::signed_integer) n.word[sign_bit / 64] ^= sign;
  if (f.type == key_type::floating) {
    if ((n.word[0] & sign) != 0) {
      flips_all = !flips_all;
    } else {
      n.word[0] ^= sign;
    }
  }
  if (flips_all) {
    for (std::uint32_t w = 0; w < key_number::words; ++w) n.word[w] = ~n.word[w];
  }
  return n;
}

/// Takes `count` bits from bit `low` of a number.
SHEAF_HOST_DEVICE inline key_number bits_from(const key_number& n, std::uint32_t low, std::uint32_t count) {
  key_number out;
  for (std::uint32_t w = 0; w * 64 < count; ++w) {
    const std::uint32_t from = low + w * 64;
    std::uint64_t bits = n.word[from / 64] >> (from % 64);
    if (from % 64 != 0 && from / 64 + 1 < key_number::words) bits |= n.word[from / 64 + 1] << (64 - from % 64);
    const std::uint32_t left = count - w * 64;
    out.word[w] = left < 64 ? bits & ((std::uint64_t{1} << left) - 1) : bits;
  }
  return out;
}

/// Puts a number's bits in at bit `low` of another, where there are zeros.
SHEAF_HOST_DEVICE inline void put_bits(key_number& to, const key_number& n, std::uint32_t low, std::uint32_t count) {
  for (std::uint32_t w = 0; w * 64 < count; ++w) {
    const std::uint32_t at = low + w * 64;
    to.word[at / 64] |= n.word[w] << (at % 64);
    if (at % 64 != 0 && at / 64 + 1 < key_number::words) to.word[at / 64 + 1] |= n.word[w] >> (64 - at % 64);
  }
}

/// The number that the row compares as.
SHEAF_HOST_DEVICE inline key_number key_of(const std::byte* row, const key_layout& key) {
  key_number all;
  std::uint32_t low = 0;
  for (std::uint32_t i = key.field_count; i-- > 0;) {
    const key_field& f = key.fields[i];
    const std::uint32_t bits = bits_of(f);
    put_bits(all, bits_from(number_of(row, f), f.first_bit, bits), low, bits);
    low += bits;
  }
  return all;
}

}  // namespace sheaf::primitives
