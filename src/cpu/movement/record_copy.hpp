#pragma once

#include <type_traits>

#include "cpu/movement/wide_records.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/checked_parts.hpp"

namespace sheaf::cpu {

// Layouts: where records lie on the sequential and on the indexed side of a movement, and how one record is copied.
// Movement goes by width, never by type.

/// Records without gaps on both sides, of a width that is known at compile time.
template <std::size_t Bytes>
struct dense_layout {
  static constexpr std::uint64_t record_bytes = Bytes;

  static constexpr std::uint64_t sequential_offset(std::uint64_t i) noexcept { return i * Bytes; }
  static constexpr std::uint64_t indexed_offset(std::uint64_t i) noexcept { return i * Bytes; }
  static void copy(std::byte* to, const std::byte* from) noexcept { std::memcpy(to, from, Bytes); }
  static void stream(std::byte* to, const std::byte* from) noexcept { stream_lines(to, from, Bytes); }
  static void clear(std::byte* to) noexcept { std::memset(to, 0, Bytes); }
};

/// Copies up to 15 bytes as two words that overlap. 2^24 records of 12 bytes are split by 8 bits in 156 ms, with a call
/// of memcpy for each record in 302 ms.
inline void copy_narrow(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  const auto copy_words = [=](auto word) {
    auto last = word;
    std::memcpy(&word, from, sizeof word);
    std::memcpy(&last, from + bytes - sizeof word, sizeof word);
    std::memcpy(to, &word, sizeof word);
    std::memcpy(to + bytes - sizeof word, &last, sizeof word);
  };
  if (bytes >= 8) return copy_words(std::uint64_t{});
  if (bytes >= 4) return copy_words(std::uint32_t{});
  if (bytes >= 2) return copy_words(std::uint16_t{});
  *to = *from;
}

/// Records of any width at any stride. They are copied in words of 16 bytes, the last of which may overlap the one
/// before it, or in blocks of 64 bytes: faster than a call of memcpy. 2^14 records of 1024 bytes in order, in the
/// third-level cache of an EPYC of family 25: 53 to 59 ns a record by such words, 63 to 146 by glibc's memcpy,
/// depending on where the arrays lie. Blocks of 128 bytes in a function for AVX2 take 1.2 times as long. Records from
/// least_wide_bytes on have wide_layout where the processor has vectors of 64 bytes.
struct any_layout {
  std::uint64_t record_bytes;
  std::uint64_t sequential_stride_bytes;
  std::uint64_t indexed_stride_bytes;

  std::uint64_t sequential_offset(std::uint64_t i) const noexcept { return i * sequential_stride_bytes; }
  std::uint64_t indexed_offset(std::uint64_t i) const noexcept { return i * indexed_stride_bytes; }
  void copy(std::byte* to, const std::byte* from) const noexcept {
    if (record_bytes >= 128) {
      for (std::uint64_t b = 0; b + 64 < record_bytes; b += 64) std::memcpy(to + b, from + b, 64);
      std::memcpy(to + record_bytes - 64, from + record_bytes - 64, 64);
      return;
    }
    if (record_bytes < 16) return copy_narrow(to, from, record_bytes);
    for (std::uint64_t b = 0; b + 16 < record_bytes; b += 16) std::memcpy(to + b, from + b, 16);
    std::memcpy(to + record_bytes - 16, from + record_bytes - 16, 16);
  }
  /// Copies a record of whole lines by streaming stores.
  void stream(std::byte* to, const std::byte* from) const noexcept { stream_lines(to, from, record_bytes); }
  void clear(std::byte* to) const noexcept { std::memset(to, 0, record_bytes); }
};

/// Records at any stride whose width is more than Words - 1 words and at most Words. The last word may overlap the one
/// before it, so that the compiler knows how many there are.
template <std::size_t WordBytes, std::size_t Words>
struct words_layout : any_layout {
  void copy(std::byte* to, const std::byte* from) const noexcept {
#pragma GCC unroll 8
    for (std::size_t w = 0; w + 1 < Words; ++w) std::memcpy(to + w * WordBytes, from + w * WordBytes, WordBytes);
    const std::uint64_t last = record_bytes - WordBytes;
    std::memcpy(to + last, from + last, WordBytes);
  }
};

/// Wide records at any stride, where the processor copies them by vectors of 64 bytes.
struct wide_layout : any_layout {
  void copy(std::byte* to, const std::byte* from) const noexcept { copy_wide_record(to, from, record_bytes); }
  void stream(std::byte* to, const std::byte* from) const noexcept { stream_wide_record(to, from, record_bytes); }
};

/// Calls body(layout) with the layout of the movement's records.
template <class Body>
void with_layout(const primitives::movement& movement, Body body) {
  if (movement.sequential_stride_bytes == movement.record_bytes &&
      movement.indexed_stride_bytes == movement.record_bytes) {
    switch (movement.record_bytes) {
      case 1: return body(dense_layout<1>{});
      case 2: return body(dense_layout<2>{});
      case 4: return body(dense_layout<4>{});
      case 8: return body(dense_layout<8>{});
      case 16: return body(dense_layout<16>{});
      case 32: return body(dense_layout<32>{});
      case 64: return body(dense_layout<64>{});
      case 128: return body(dense_layout<128>{});
      default: break;
    }
  }
  body(any_layout{movement.record_bytes, movement.sequential_stride_bytes, movement.indexed_stride_bytes});
}

/// with_layout(), with code of their own for more widths: for loops that wait for nothing but their instructions.
template <class Body>
void with_own_layout(const primitives::movement& movement, Body body) {
  with_layout(movement, [&](auto layout) {
    if constexpr (std::is_same_v<decltype(layout), any_layout>) {
      const std::uint64_t width = layout.record_bytes;
      if (layout.sequential_stride_bytes == width && layout.indexed_stride_bytes == width) {
        switch (width) {
          case 12: return body(dense_layout<12>{});
          case 24: return body(dense_layout<24>{});
          case 48: return body(dense_layout<48>{});
          case 100: return body(dense_layout<100>{});
          default: break;
        }
      }
      // One store for records that any writer is to win whole.
      switch (width) {
        case 4: return body(words_layout<4, 1>{layout});
        case 8: return body(words_layout<8, 1>{layout});
        case 16: return body(words_layout<16, 1>{layout});
        default: break;
      }
      if (width >= least_wide_bytes && copies_wide_records()) return body(wide_layout{layout});
      if (width >= 2 && width <= 4) return body(words_layout<2, 2>{layout});
      if (width > 4 && width <= 8) return body(words_layout<4, 2>{layout});
      if (width > 8 && width <= 16) return body(words_layout<8, 2>{layout});
      if (width > 16 && width <= 32) return body(words_layout<16, 2>{layout});
      if (width > 32 && width <= 48) return body(words_layout<16, 3>{layout});
      if (width > 48 && width <= 64) return body(words_layout<16, 4>{layout});
    }
    body(layout);
  });
}

/// Calls body(index) with the list as unsigned numbers of its width. A negative index is then beyond every limit.
template <class Body>
void with_index(index_span index, Body body) {
  if (bytes(index.type) == 4) {
    body(static_cast<const std::uint32_t*>(index.data));
  } else {
    body(static_cast<const std::uint64_t*>(index.data));
  }
}

/// for_each_checked_part() over items of a movement, by an index whose errors have this wording: calls
/// move(layout, index, begin, end, part) -> first_bad.
template <class Move>
void move_parts(const context& ctx, const primitives::movement& m, std::uint64_t items, index_span list,
                const core::index_wording& wording, Move move) {
  with_index(list, [&](const auto* index) {
    with_layout(m, [&](auto layout) {
      for_each_checked_part(ctx, m, items, list, wording, threads_worth(ctx, m),
                            [&](std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
                              return move(layout, index, begin, end, part);
                            });
    });
  });
}

}  // namespace sheaf::cpu
