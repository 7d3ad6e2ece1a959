#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/block/rank.cuh"
#include "cuda/device/index_guard.cuh"
#include "primitives/category.hpp"

// A record's category on the device: from a word that is in a register, or from a key in memory.
namespace sheaf::cuda {

/// A bit field of a word of up to 16 bytes: where it lies in the 32-bit parts of the word, whose bytes are turned round
/// first if bits are numbered from the left.
struct word_field {
  std::uint32_t part = 0;       ///< that its lowest bit lies in
  std::uint32_t next_part = 0;  ///< that it goes on in, if it does
  std::uint32_t shift = 0;
  std::uint32_t mask = 0;
  std::uint32_t byte_order = 0x3210;  ///< a selector of __byte_perm
};

inline word_field word_field_of(const bit_field& f, std::uint32_t word_bytes) {
  word_field w;
  w.mask = static_cast<std::uint32_t>((std::uint64_t{1} << f.count) - 1);
  const std::uint32_t parts = (word_bytes + 3) / 4;
  if (f.order == bit_order::little_endian) {
    w.part = static_cast<std::uint32_t>(f.first / 32);
    w.next_part = std::min(w.part + 1, parts - 1);
    w.shift = static_cast<std::uint32_t>(f.first % 32);
    return w;
  }
  // Counted from the lowest bit of the word turned round, whose parts come the other way; narrow words lie in the upper
  // bytes then.
  const auto low = static_cast<std::uint32_t>(parts * 32 - f.first - f.count);
  w.part = parts - 1 - low / 32;
  w.next_part = w.part == 0 ? 0 : w.part - 1;
  w.shift = low % 32;
  w.byte_order = 0x0123;
  return w;
}

/// Whether a field lies in one part of a word whose bytes stay as they are; then it is read off in half the
/// instructions.
inline bool is_simple(const word_field& f) {
  const std::uint64_t past = std::uint64_t{f.mask} << f.shift;
  return f.byte_order == 0x3210 && past <= ~std::uint32_t{0};
}

template <class Word>
__device__ __forceinline__ std::uint32_t simple_category_of(const Word& word, const word_field& f) {
  if constexpr (sizeof(Word) == 8) {
    return (f.part == 0 ? word.x : word.y) >> f.shift & f.mask;
  } else {
    return static_cast<std::uint32_t>(word) >> f.shift & f.mask;
  }
}

template <class Word>
__device__ __forceinline__ std::uint32_t category_of(const Word& word, const word_field& f) {
  std::uint32_t low;
  std::uint32_t high;
  if constexpr (sizeof(Word) == 16) {
    low = f.part < 2 ? (f.part == 0 ? word.x : word.y) : (f.part == 2 ? word.z : word.w);
    high = f.next_part < 2 ? (f.next_part == 0 ? word.x : word.y) : (f.next_part == 2 ? word.z : word.w);
  } else if constexpr (sizeof(Word) == 8) {
    low = f.part == 0 ? word.x : word.y;
    high = f.next_part == 0 ? word.x : word.y;
  } else {
    low = high = word;
  }
  low = __byte_perm(low, 0, f.byte_order);
  high = __byte_perm(high, 0, f.byte_order);
  return __funnelshift_r(low, high, f.shift) & f.mask;
}

/// Where categories are read from. Narrow words are loaded whole; other keys byte by byte.
struct key_arguments {
  const std::byte* data = nullptr;
  std::uint64_t stride = 0;
  std::uint32_t word_bytes = 0;  ///< 1, 2, 4 or 8; 0: byte by byte
  word_field field;
  bit_field bits;
  std::uint64_t categories = 0;    ///< categories from here on are bad
  std::uint32_t checks = 0;        ///< whether any can be
  std::uint32_t bad_bin = no_bin;  ///< what load_bins says of a bad one
  std::uint32_t bin_mask = ~0U;    ///< of what it says where checks are made; elsewhere the field says it all
  index_guard guard;
};

/// The category of record i, or a number past every category if it is bad.
__device__ __forceinline__ std::uint64_t category_at(const key_arguments& key, std::uint64_t i) {
  const std::byte* const at = key.data + i * key.stride;
  switch (key.word_bytes) {
    case 1: return category_of(__ldcs(reinterpret_cast<const unsigned char*>(at)), key.field);
    case 2: return category_of(__ldcs(reinterpret_cast<const unsigned short*>(at)), key.field);
    case 4: return category_of(__ldcs(reinterpret_cast<const unsigned*>(at)), key.field);
    case 8: return category_of(__ldcs(reinterpret_cast<const uint2*>(at)), key.field);
    default: return primitives::field_of(at, key.bits);
  }
}

template <class Word, int Items>
__device__ __forceinline__ void load_bins_as(const key_arguments& key, std::uint64_t tile, std::uint32_t first,
                                             std::uint32_t step, std::uint32_t left, std::uint32_t (&bin)[Items]) {
  Word word[Items];
  if (key.stride == sizeof(Word) && left == Items * step) {
    const Word* const keys = reinterpret_cast<const Word*>(key.data) + tile + first;
#pragma unroll
    for (int k = 0; k < Items; ++k) word[k] = __ldcs(keys + k * step);
  } else {
    const std::byte* const keys = key.data + tile * key.stride;
    const auto stride = static_cast<std::uint32_t>(key.stride);
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const std::uint32_t s = min(first + k * step, left - 1);
      word[k] = __ldcs(reinterpret_cast<const Word*>(keys + std::uint64_t{s} * stride));
    }
  }
#pragma unroll
  for (int k = 0; k < Items; ++k) bin[k] = category_of(word[k], key.field);
}

/// What load_bins does for keys of one width; Word void: byte by byte.
template <class Word>
struct key_loader {
  const key_arguments& key;

  template <int Items>
  __device__ __forceinline__ void operator()(std::uint64_t tile, std::uint32_t first, std::uint32_t step,
                                             std::uint32_t left, std::uint32_t (&bin)[Items]) const {
    if constexpr (std::is_void_v<Word>) {
#pragma unroll
      for (int k = 0; k < Items; ++k) {
        bin[k] = primitives::field_of(key.data + (tile + min(first + k * step, left - 1)) * key.stride, key.bits);
      }
    } else {
      load_bins_as<Word>(key, tile, first, step, left, bin);
    }
    if (left == Items * step && key.checks == 0) return;
#pragma unroll
    for (int k = 0; k < Items; ++k) {
      const bool here = first + k * step < left;
      const bool good = key.checks == 0 || bin[k] < key.categories;
      if (here && !good) report_bad_index(key.guard, tile + first + k * step, bin[k]);
      bin[k] = here ? (good ? bin[k] : key.bad_bin) & key.bin_mask : no_bin;
    }
  }
};

/// Calls body with the loader of the keys' width.
template <class Body>
__device__ __forceinline__ void with_key_word(const key_arguments& key, Body body) {
  switch (key.word_bytes) {
    case 1: return body(key_loader<unsigned char>{key});
    case 2: return body(key_loader<unsigned short>{key});
    case 4: return body(key_loader<unsigned>{key});
    case 8: return body(key_loader<uint2>{key});
    default: return body(key_loader<void>{key});
  }
}

/// The bins of the thread's records at tile + first, tile + first + step, and so on below tile + left (more than 0, at
/// most Items * step): their categories, no_bin past the end, bad_bin for bad ones, which are reported.
template <int Items>
__device__ __forceinline__ void load_bins(const key_arguments& key, std::uint64_t tile, std::uint32_t first,
                                          std::uint32_t step, std::uint32_t left, std::uint32_t (&bin)[Items]) {
  with_key_word(key, [&](auto loads) { loads(tile, first, step, left, bin); });
}

}  // namespace sheaf::cuda
