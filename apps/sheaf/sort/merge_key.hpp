#pragma once

#include <algorithm>
#include <cstring>

#include "primitives/sort/key.hpp"

namespace sheaf::jobs {

/// A key as words, the most significant first.
template <std::uint32_t Words>
struct merge_key {
  std::uint64_t word[Words] = {};

  friend bool operator<(const merge_key& a, const merge_key& b) {
    for (std::uint32_t w = 0; w + 1 < Words; ++w) {
      if (a.word[w] != b.word[w]) return a.word[w] < b.word[w];
    }
    return a.word[Words - 1] < b.word[Words - 1];
  }
  friend bool operator==(const merge_key&, const merge_key&) = default;

  static merge_key highest() {
    merge_key key;
    std::fill_n(key.word, Words, ~std::uint64_t{0});
    return key;
  }
};

/// Reads the keys of rows. A key that is one string is read by whole words, if the row is long enough for that.
template <std::uint32_t Words>
class merge_key_reader {
 public:
  merge_key_reader(const primitives::key_layout& layout, std::uint64_t record_bytes)
      : layout_(layout), first_(layout.fields[0].offset), bytes_(layout.fields[0].bytes) {
    const key_field& f = layout.fields[0];
    by_words_ = layout.field_count == 1 && f.type == key_type::bytes && layout.bits == f.bytes * 8 &&
                f.offset + sizeof(merge_key<Words>) <= record_bytes;
    flip_ = f.descending ? ~std::uint64_t{0} : 0;
  }

  merge_key<Words> operator()(const std::byte* row) const {
    merge_key<Words> key;
    if (by_words_) {
      for (std::uint32_t w = 0; w < Words; ++w) {
        std::memcpy(&key.word[w], row + first_ + w * 8, 8);
        key.word[w] = __builtin_bswap64(key.word[w]) ^ flip_;
      }
      const std::uint32_t unused = Words * 64 - bytes_ * 8;  // bits of the last word that are not the key's
      key.word[Words - 1] = key.word[Words - 1] >> unused << unused;
      return key;
    }
    const primitives::key_number number = primitives::key_of(row, layout_);
    for (std::uint32_t w = 0; w < Words; ++w) key.word[w] = number.word[Words - 1 - w];
    return key;
  }

 private:
  static_assert(std::endian::native == std::endian::little);
  primitives::key_layout layout_;
  std::uint64_t first_;
  std::uint32_t bytes_;
  bool by_words_ = false;
  std::uint64_t flip_ = 0;
};

}  // namespace sheaf::jobs
