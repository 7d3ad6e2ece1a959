#pragma once

#include <cstdint>

#include "cpu/sort/encoder.hpp"
#include "cpu/sort/encoding.hpp"
#include "cpu/sort/key_reader.hpp"
#include "cpu/sort/words.hpp"
#include "primitives/sort/contract.hpp"

namespace sheaf::cpu {

/// Encodes a key's number in the high bits of a word and a payload, one value or a whole row, in the low bits. Word has
/// 64 bits if key and payload take 4 bytes each, else 128.
template <class Word>
class payload_encoder final : public word_encoder<Word> {
 public:
  payload_encoder(const primitives::sort_problem& p, const primitives::sort_buffers& b,
                  const word_encoding& encoding) noexcept
      : keys_(b.in),
        payload_(encoding.payload_is_row ? b.in : b.columns[0].in),
        payload_out_(encoding.payload_is_row ? b.out : b.columns[0].out),
        keys_out_(!encoding.payload_is_row && p.writes_rows ? b.out : records()),
        key_(p.key, 0, p.key.bits),
        lowest_key_bit_(encoding.lowest_key_bit) {
    if (keys_out_.data == nullptr) return;
    const key_field& f = p.key.fields[0];  // the field is the whole row, and no wider than 8 bytes
    key_order_ = ordered_word<std::uint64_t>(f, 0, f.bytes, true);
    if (f.type == key_type::bytes) key_shift_ = 64 - 8 * f.bytes;
  }

  const Word* read(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    encode(first, count, 0, buffer);
    return buffer;
  }
  void encode(std::uint64_t first, std::uint64_t count, std::uint32_t, Word* to) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t block_count) {
      std::uint64_t numbers[block_words];
      key_.read(keys_.data + begin * keys_.stride_bytes, keys_.stride_bytes, block_count, numbers);
      put_keys(numbers, block_count, to + (begin - first));
      with_unsigned_of(payload_.record_bytes, [&, to = to + (begin - first)](auto number) {
        using value = decltype(number);
        const std::byte* const from = payload_.data + begin * payload_.stride_bytes;
        with_stride<sizeof(value)>(payload_.stride_bytes, [&](auto stride) {
          for (std::uint64_t i = 0; i < block_count; ++i) to[i] |= load_word<value>(from + i * stride);
        });
      });
    });
  }
  const Word* read_keys(std::uint64_t first, std::uint64_t count, Word* buffer) const noexcept override {
    for_each_word_block(first, first + count, [&](std::uint64_t begin, std::uint64_t block_count) {
      std::uint64_t numbers[block_words];
      key_.read(keys_.data + begin * keys_.stride_bytes, keys_.stride_bytes, block_count, numbers);
      put_keys(numbers, block_count, buffer + (begin - first));
    });
    return buffer;
  }
  void write_rows(std::uint64_t first, std::uint64_t count, const Word* words) const noexcept override {
    with_unsigned_of(payload_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = payload_out_.data + first * payload_out_.stride_bytes;
      with_stride<sizeof(value)>(payload_out_.stride_bytes, [&](auto stride) {
        for (std::uint64_t i = 0; i < count; ++i) store_word(to + i * stride, static_cast<value>(words[i]));
      });
    });
    if (keys_out_.data == nullptr) return;
    with_unsigned_of(keys_out_.record_bytes, [&](auto number) {
      using value = decltype(number);
      std::byte* const to = keys_out_.data + first * keys_out_.stride_bytes;
      const ordered_word<std::uint64_t> order = key_order_;
      const std::uint32_t low = lowest_key_bit_, shift = key_shift_;
      with_stride<sizeof(value)>(keys_out_.stride_bytes, [&](auto stride) {
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::uint64_t key = static_cast<std::uint64_t>(words[i] >> low) << shift;
          store_word(to + i * stride, static_cast<value>(order.from_number(key)));
        }
      });
    });
  }

 private:
  void put_keys(const std::uint64_t* numbers, std::uint64_t count, Word* to) const noexcept {
    const std::uint32_t low = lowest_key_bit_;
    for (std::uint64_t i = 0; i < count; ++i) to[i] = static_cast<Word>(Word{numbers[i]} << low);
  }

  const_records keys_;
  const_records payload_;
  records payload_out_;
  records keys_out_;  ///< null if the caller wants no keys, or if rows are the payload
  key_reader key_;
  ordered_word<std::uint64_t> key_order_;  ///< maps numbers back to keys
  std::uint32_t key_shift_ = 0;            ///< bits by which a number is shifted up to be mapped back
  std::uint32_t lowest_key_bit_;
};

}  // namespace sheaf::cpu
