#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/words.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::cpu {

/// Encodes rows that are one word themselves: the word is the row with its field mapped to an ordered number.
template <class Word>
class row_encoder final : public word_encoder<Word> {
 public:
  row_encoder(const primitives::sort_problem& p, const primitives::sort_buffers& b) noexcept
      : in_(b.in),
        out_(b.out),
        order_(p.key.fields[0], static_cast<std::uint32_t>(p.key.fields[0].offset), p.key.fields[0].bytes, true),
        reads_in_place_(order_.changes_nothing() && std::endian::native == std::endian::little &&
                        in_.stride_bytes == sizeof(Word) &&
                        reinterpret_cast<std::uintptr_t>(in_.data) % alignof(Word) == 0) {}

  const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    if (reads_in_place_) return reinterpret_cast<const Word*>(in_.data) + first;
    encode(first, count, 0, buffer);
    return buffer;
  }
  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    const ordered_word<Word> order = order_;
    const std::byte* const from = in_.data + first * in_.stride_bytes;
    if (in_.stride_bytes == sizeof(Word) && order.changes_nothing() && std::endian::native == std::endian::little) {
      std::memcpy(to, from, count * sizeof(Word));
      return;
    }
    with_stride<sizeof(Word)>(in_.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) to[i] = order.to_number(load_word<Word>(from + i * stride));
    });
  }
  /// The row that a word stands for, as it lies in memory.
  Word row_of(Word number) const noexcept {
    Word row;
    store_word(reinterpret_cast<std::byte*>(&row), order_.from_number(number));
    return row;
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    const ordered_word<Word> order = order_;
    std::byte* const to = out_.data + first * out_.stride_bytes;
    if (out_.stride_bytes == sizeof(Word) && order.changes_nothing() && std::endian::native == std::endian::little) {
      if (static_cast<const void*>(to) != words) std::memcpy(to, words, count * sizeof(Word));
      return;
    }
    with_stride<sizeof(Word)>(out_.stride_bytes, [&](auto stride) {
      for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * stride, order.from_number(words[i]));
    });
  }

 private:
  const_records in_;
  records out_;
  ordered_word<Word> order_;
  bool reads_in_place_;
};

}  // namespace sheaf::cpu
