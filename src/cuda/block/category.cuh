#pragma once

#include <algorithm>

#include "cuda/block/rank.cuh"
#include "cuda/device/index_guard.cuh"
#include "primitives/split/category.hpp"

// Categories of records on the device: read from a word in a register, or from a key in memory.
namespace sheaf::cuda {

/// A bit field of a word of up to 16 bytes, as a position in the word's 32-bit limbs. If bits are numbered from the
/// left, the bytes of each limb are reversed first.
struct word_field {
  std::uint32_t limb = 0;             ///< limb that holds the lowest bit of the field
  std::uint32_t next_limb = 0;        ///< limb that holds the upper bits, if the field crosses a limb
  std::uint32_t shift = 0;            ///< position of the lowest bit in its limb
  std::uint32_t mask = 0;             ///< a one for each bit of the field, from bit 0 on
  std::uint32_t byte_order = 0x3210;  ///< a selector of __byte_perm
};

inline word_field word_field_of(const bit_field& field, std::uint32_t word_bytes) {
  word_field result;
  result.mask = static_cast<std::uint32_t>((std::uint64_t{1} << field.count) - 1);
  const std::uint32_t limbs = (word_bytes + 3) / 4;
  if (field.order == bit_order::little_endian) {
    result.limb = static_cast<std::uint32_t>(field.first / 32);
    result.next_limb = std::min(result.limb + 1, limbs - 1);
    result.shift = static_cast<std::uint32_t>(field.first % 32);
    return result;
  }
  // In the reversed word, `low` counts from the lowest bit and limbs come in reverse order. A word narrower than a limb
  // then lies in the limb's upper bytes.
  const auto low = static_cast<std::uint32_t>(limbs * 32 - field.first - field.count);
  result.limb = limbs - 1 - low / 32;
  result.next_limb = result.limb == 0 ? 0 : result.limb - 1;
  result.shift = low % 32;
  result.byte_order = 0x0123;
  return result;
}

template <class Word>
__device__ __forceinline__ std::uint32_t category_of(const Word& word, const word_field& field) {
  std::uint32_t low;
  std::uint32_t high;
  if constexpr (sizeof(Word) == 16) {
    low = field.limb < 2 ? (field.limb == 0 ? word.x : word.y) : (field.limb == 2 ? word.z : word.w);
    high = field.next_limb < 2 ? (field.next_limb == 0 ? word.x : word.y) : (field.next_limb == 2 ? word.z : word.w);
  } else if constexpr (sizeof(Word) == 8) {
    low = field.limb == 0 ? word.x : word.y;
    high = field.next_limb == 0 ? word.x : word.y;
  } else {
    low = high = word;
  }
  low = __byte_perm(low, 0, field.byte_order);
  high = __byte_perm(high, 0, field.byte_order);
  return __funnelshift_r(low, high, field.shift) & field.mask;
}

/// The keys that categories are read from. Keys of 1, 2, 4 and 8 bytes are loaded as words, others byte by byte.
struct key_arguments {
  const std::byte* data = nullptr;
  std::uint64_t stride = 0;
  std::uint32_t word_bytes = 0;    ///< 1, 2, 4 or 8: width of the keys' words; 0: keys are read byte by byte
  word_field field;                ///< the category's bits in a key that is loaded as a word
  bit_field bits;                  ///< the category's bits in a key that is read byte by byte
  std::uint64_t categories = 0;    ///< categories from here on are bad
  std::uint32_t checks = 0;        ///< 1 if a category can be bad, so that load_bins has to check
  std::uint32_t bad_bin = no_bin;  ///< bin that load_bins returns for a bad category
  std::uint32_t bin_mask = ~0U;    ///< bits of a checked bin that load_bins returns; unchecked bins are returned whole
  index_guard guard;
};

/// Loads Items keys of one word width and reads their categories. Arguments are those of load_bins; positions past the
/// end of the tile repeat its last key.
template <class Word, int Items>
__device__ __forceinline__ void load_categories_as(const key_arguments& key, std::uint64_t tile, std::uint32_t first,
                                                   std::uint32_t step, std::uint32_t records,
                                                   std::uint32_t (&category)[Items]) {
  Word word[Items];
  if (key.stride == sizeof(Word) && records == Items * step) {
    const Word* const keys = reinterpret_cast<const Word*>(key.data) + tile + first;
#pragma unroll
    for (int k = 0; k < Items; ++k) word[k] = __ldcs(keys + k * step);
  } else {
    const std::byte* const keys = key.data + tile * key.stride;
    const auto stride = static_cast<std::uint32_t>(key.stride);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const std::uint32_t s = min(first + k * step, records - 1);
      word[k] = __ldcs(reinterpret_cast<const Word*>(keys + std::uint64_t{s} * stride));
    }
  }
#pragma unroll
  for (int k = 0; k < Items; ++k) category[k] = category_of(word[k], key.field);
}

/// A field of a key that is read byte by byte: the bytes that hold it, then a shift and a mask. What does not depend on
/// the key is computed once, so that the code for each key is short.
struct field_of_bytes {
  std::uint64_t first_byte;
  std::uint32_t bytes_touched;  ///< 1 to 5
  std::uint32_t shift;
  std::uint32_t mask;
  bool is_from_left;

  __device__ __forceinline__ explicit field_of_bytes(const bit_field& field)
      : first_byte(field.first / 8),
        bytes_touched(primitives::bytes_touched(field)),
        mask(field.count >= 32 ? ~0U : (1U << field.count) - 1),
        is_from_left(field.order == bit_order::from_left) {
    const auto skipped = static_cast<std::uint32_t>(field.first % 8);
    shift = is_from_left ? 8 * bytes_touched - skipped - field.count : skipped;
  }

  __device__ __forceinline__ std::uint32_t value_of(const std::byte* key) const {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(key + first_byte);
    std::uint32_t byte[5];
#pragma unroll
    for (std::uint32_t b = 0; b < 5; ++b) byte[b] = b < bytes_touched ? bytes[b] : 0;
    std::uint32_t low = byte[0] | byte[1] << 8 | byte[2] << 16 | byte[3] << 24;
    std::uint32_t high = byte[4];
    if (is_from_left) {  // the first byte is the highest: reverse eight bytes, drop those that were not read
      const std::uint64_t reversed =
          (std::uint64_t{__byte_perm(low, 0, 0x0123)} << 32 | high << 24) >> (64 - 8 * bytes_touched);
      low = static_cast<std::uint32_t>(reversed);
      high = static_cast<std::uint32_t>(reversed >> 32);
    }
    return __funnelshift_r(low, high, shift) & mask;
  }
};

/// Loads the categories of keys of one word width; with Word = void, keys are read byte by byte. Arguments are those of
/// load_bins; positions past the end of the tile repeat its last key.
template <class Word>
struct category_loader {
  const key_arguments& key;

  template <int Items>
  __device__ __forceinline__ void operator()(std::uint64_t tile, std::uint32_t first, std::uint32_t step,
                                             std::uint32_t records, std::uint32_t (&category)[Items]) const {
    if constexpr (std::is_void_v<Word>) {
      const field_of_bytes field(key.bits);
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        category[k] = field.value_of(key.data + (tile + min(first + k * step, records - 1)) * key.stride);
      }
    } else {
      load_categories_as<Word>(key, tile, first, step, records, category);
    }
  }
};

/// Turns loaded categories into bins: no_bin past the end of the tile, bad_bin for a bad category, which is reported.
/// Arguments are those of load_bins.
template <int Items>
__device__ __forceinline__ void check_bins(const key_arguments& key, std::uint64_t tile, std::uint32_t first,
                                           std::uint32_t step, std::uint32_t records, std::uint32_t (&bin)[Items]) {
  if (records == Items * step && key.checks == 0) return;
#pragma unroll
  for (int k = 0; k < Items; ++k) {
    const bool is_in_tile = first + k * step < records;
    const bool good = key.checks == 0 || bin[k] < key.categories;
    if (is_in_tile && !good) report_bad_index(key.guard, tile + first + k * step, bin[k]);
    bin[k] = is_in_tile ? (good ? bin[k] : key.bad_bin) & key.bin_mask : no_bin;
  }
}

/// Calls `body` with the category_loader for the keys' width, so that the width is chosen once and not for each key.
template <class Body>
__device__ __forceinline__ void with_key_word(const key_arguments& key, Body body) {
  switch (key.word_bytes) {
    case 1: return body(category_loader<unsigned char>{key});
    case 2: return body(category_loader<unsigned short>{key});
    case 4: return body(category_loader<unsigned>{key});
    case 8: return body(category_loader<uint2>{key});
    default: return body(category_loader<void>{key});
  }
}

/// Loads the bins of the thread's records at positions tile + first, tile + first + step and so on. The tile holds
/// `records` records (at least 1, at most Items * step). A record's bin is its category, no_bin past the tile's end, or
/// bad_bin if the category is bad; bad categories are reported.
template <int Items>
__device__ __forceinline__ void load_bins(const key_arguments& key, std::uint64_t tile, std::uint32_t first,
                                          std::uint32_t step, std::uint32_t records, std::uint32_t (&bin)[Items]) {
  with_key_word(key, [&](auto load) { load(tile, first, step, records, bin); });
  check_bins(key, tile, first, step, records, bin);
}

}  // namespace sheaf::cuda
