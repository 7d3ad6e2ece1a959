#pragma once

#include "cpu/sort/words.hpp"

namespace sheaf::cpu {

/// Reads a range of a key's bits, counted from the highest, as a number. The constructor decomposes the key's fields
/// into pieces of up to 8 bytes of the row.
class key_reader {
 public:
  static constexpr std::uint32_t most_bits = 128;

  key_reader() = default;
  /// Reads bits [from, from + bits) of the key, which the key must have; bits is at most most_bits.
  key_reader(const primitives::key_layout& key, std::uint32_t from, std::uint32_t bits) noexcept;

  /// The number of those bits in a row. Word must be wide enough for it.
  template <class Word>
  Word of(const std::byte* row) const noexcept {
    Word number = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const piece& p = pieces_[i];
      number = static_cast<Word>(shifted_up(number, p.bits) | p.of(row));
    }
    return number;
  }

  /// The numbers of `count` rows at any stride.
  template <class Word>
  void read(const std::byte* rows, std::uint64_t stride_bytes, std::uint64_t count, Word* to) const noexcept {
    if (count_ == 1) {
      switch (pieces_[0].bytes) {
        case 1: return read_piece<std::uint8_t>(rows, stride_bytes, count, to);
        case 2: return read_piece<std::uint16_t>(rows, stride_bytes, count, to);
        case 4: return read_piece<std::uint32_t>(rows, stride_bytes, count, to);
        case 8: return read_piece<std::uint64_t>(rows, stride_bytes, count, to);
        default: break;
      }
    }
    for (std::uint64_t i = 0; i < count; ++i) to[i] = of<Word>(rows + i * stride_bytes);
  }

 private:
  struct piece {
    std::uint64_t offset = 0;
    std::uint32_t bytes = 0;
    std::uint32_t bits = 0;
    std::uint32_t shift = 0;
    std::uint64_t mask = 0;
    ordered_word<std::uint64_t> order;

    std::uint64_t of(const std::byte* row) const noexcept { return number(load(row + offset)); }
    std::uint64_t number(std::uint64_t word) const noexcept { return order.to_number(word) >> shift & mask; }
    // Widths that no word has are read as two words that overlap, so that nothing outside the field is read.
    std::uint64_t load(const std::byte* from) const noexcept {
      switch (bytes) {
        case 1: return load_word<std::uint8_t>(from);
        case 2: return load_word<std::uint16_t>(from);
        case 3: return load_word<std::uint16_t>(from) | std::uint64_t{load_word<std::uint8_t>(from + 2)} << 16;
        case 8: return load_word<std::uint64_t>(from);
        default: {
          const std::uint32_t second = bytes - 4;
          return load_word<std::uint32_t>(from) | std::uint64_t{load_word<std::uint32_t>(from + second)}
                                                      << (8 * second);
        }
      }
    }
  };
  /// Most pieces of a key: a field touches at most two, and one more for each further 64 bits.
  static constexpr std::size_t most_pieces = 2 * sort_key::most_fields + most_bits / 64;

  template <class Word>
  static Word shifted_up(Word number, std::uint32_t bits) noexcept {
    return bits < bits_in<Word> ? static_cast<Word>(number << bits) : Word{0};
  }

  template <class Part, class Word>
  void read_piece(const std::byte* rows, std::uint64_t stride, std::uint64_t count, Word* to) const noexcept {
    const piece p = pieces_[0];
    const std::byte* const from = rows + p.offset;
    with_stride<sizeof(Part)>(stride, [&](auto step) {
      for (std::uint64_t i = 0; i < count; ++i) to[i] = p.number(load_word<Part>(from + i * step));
    });
  }

  void add_field(const key_field& field, std::uint32_t field_from, std::uint32_t from, std::uint32_t to) noexcept;

  std::array<piece, most_pieces> pieces_{};
  std::uint32_t count_ = 0;
};

}  // namespace sheaf::cpu
