#pragma once

#include <bit>
#include <cstring>

#include "primitives/sort/key.hpp"

// Keys of rows as numbers of up to 64 or up to 256 bits, for the search of splitters.
namespace sheaf::distributed {

using primitives::key_layout;
using primitives::key_number;

inline std::uint64_t above(std::uint64_t key, std::uint32_t low) noexcept { return low >= 64 ? 0 : key >> low; }
inline key_number above(const key_number& key, std::uint32_t low) noexcept {
  return low >= 256 ? key_number{} : primitives::shifted_right(key, low);
}
inline std::uint64_t with_digit(std::uint64_t high, std::uint32_t bits, std::uint64_t digit) noexcept {
  return (bits >= 64 ? 0 : high << bits) | digit;
}
inline key_number with_digit(const key_number& high, std::uint32_t bits, std::uint64_t digit) noexcept {
  key_number out = primitives::shifted_left(high, bits);
  out.word[0] |= digit;
  return out;
}
inline std::uint64_t lowest_word(std::uint64_t key) noexcept { return key; }
inline std::uint64_t lowest_word(const key_number& key) noexcept { return key.word[0]; }

/// Rows whose key is an unsigned number of 4 or 8 bytes that ascends.
template <class Word>
class plain_keys {
 public:
  using key = std::uint64_t;

  plain_keys(const_records rows, const key_field& field)
      : data_(rows.data + field.offset), stride_(rows.stride_bytes) {}
  std::uint64_t operator()(std::uint64_t i) const noexcept {
    Word word;
    std::memcpy(&word, data_ + i * stride_, sizeof word);
    return word;
  }

 private:
  const std::byte* data_;
  std::uint64_t stride_;
};

/// Rows whose key is another number of 4 or 8 bytes, compared by all of its bits.
template <class Word>
class word_keys {
 public:
  using key = std::uint64_t;

  word_keys(const_records rows, const key_field& field) : data_(rows.data + field.offset), stride_(rows.stride_bytes) {
    constexpr Word sign = Word{1} << (sizeof(Word) * 8 - 1);
    if (field.type == key_type::signed_integer) flip_ = sign;
    is_float_ = field.type == key_type::floating;
    is_big_ = field.type == key_type::bytes;
    is_descending_ = field.descending;
  }
  std::uint64_t operator()(std::uint64_t i) const noexcept {
    Word word;
    std::memcpy(&word, data_ + i * stride_, sizeof word);
    if (is_big_)
      word = sizeof(Word) == 4 ? static_cast<Word>(__builtin_bswap32(static_cast<std::uint32_t>(word)))
                               : static_cast<Word>(__builtin_bswap64(word));
    word ^= flip_;
    if (is_float_) {
      constexpr int last = sizeof(Word) * 8 - 1;
      const Word negative = static_cast<Word>(Word{0} - (word >> last));
      word ^= negative | Word{1} << last;
    }
    return is_descending_ ? static_cast<Word>(~word) : word;
  }

 private:
  const std::byte* data_;
  std::uint64_t stride_;
  Word flip_ = 0;
  bool is_float_ = false;
  bool is_big_ = false;
  bool is_descending_ = false;
};

class narrow_keys {
 public:
  using key = std::uint64_t;

  narrow_keys(const_records rows, const key_layout& layout) : rows_(rows), layout_(layout) {}
  std::uint64_t operator()(std::uint64_t i) const noexcept {
    return primitives::narrow_key_of(rows_.data + i * rows_.stride_bytes, layout_);
  }

 private:
  const_records rows_;
  key_layout layout_;
};

class wide_keys {
 public:
  using key = key_number;

  wide_keys(const_records rows, const key_layout& layout) : rows_(rows), layout_(layout) {}
  key_number operator()(std::uint64_t i) const noexcept {
    return primitives::key_of(rows_.data + i * rows_.stride_bytes, layout_);
  }

 private:
  const_records rows_;
  key_layout layout_;
};

/// A checked key.
inline key_layout layout_of(const sort_key& key) {
  key_layout layout;
  for (std::size_t i = 0; i < key.count; ++i) {
    layout.fields[layout.field_count++] = key.fields[i];
    layout.bits += primitives::bits_of(key.fields[i]);
  }
  return layout;
}

/// Calls use(keys) with the fastest reader of these keys.
template <class Use>
auto with_keys(const_records rows, const key_layout& layout, Use use) {
  const key_field& first = layout.fields[0];
  const bool is_whole = layout.field_count == 1 && primitives::bits_of(first) == first.bytes * 8;
  const bool is_plain = is_whole && first.type == key_type::unsigned_integer && !first.descending;
  if (is_plain && first.bytes == 8) return use(plain_keys<std::uint64_t>(rows, first));
  if (is_plain && first.bytes == 4) return use(plain_keys<std::uint32_t>(rows, first));
  if (is_whole && first.bytes == 8) return use(word_keys<std::uint64_t>(rows, first));
  if (is_whole && first.bytes == 4) return use(word_keys<std::uint32_t>(rows, first));
  if (primitives::is_narrow(layout)) return use(narrow_keys(rows, layout));
  return use(wide_keys(rows, layout));
}

}  // namespace sheaf::distributed
