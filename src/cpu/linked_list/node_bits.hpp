#pragma once

#include <bit>
#include <cstring>

#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {

/// Those of the 64 bits of word w that stand for one of `count` nodes.
inline std::uint64_t nodes_of_word(std::uint64_t w, std::uint64_t count) noexcept {
  if (count >= w * 64 + 64) return ~std::uint64_t{0};
  return count <= w * 64 ? 0 : (std::uint64_t{1} << (count - w * 64)) - 1;
}

/// A bit for each node, set by several threads at once.
class node_bits {
 public:
  node_bits(std::byte* memory, std::uint64_t count) noexcept
      : words_(reinterpret_cast<std::uint64_t*>(memory)), count_(count) {}

  std::uint64_t word_count() const noexcept { return count_ / 64 + 1; }
  std::uint64_t word(std::uint64_t w) const noexcept { return words_[w]; }

  void clear(std::uint64_t parts) const {
    for_each_range(word_count(), parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
      std::memset(words_ + begin, 0, sizeof(std::uint64_t) * (end - begin));
    });
  }
  /// Sets bit i; returns whether it was set before.
  bool set(std::uint64_t i) const noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    return (std::atomic_ref(words_[i / 64]).fetch_or(bit, std::memory_order_relaxed) & bit) != 0;
  }

  /// Sets those of the 64 bits of a word.
  void set_word(std::uint64_t w, std::uint64_t bits) const noexcept {
    if (bits != 0) std::atomic_ref(words_[w]).fetch_or(bits, std::memory_order_relaxed);
  }

  /// The lowest node in [from, end) whose bit is `wanted`; end if there is none.
  std::uint64_t find(bool wanted, std::uint64_t from, std::uint64_t end) const noexcept {
    for (std::uint64_t i = from; i < end; i = (i / 64 + 1) * 64) {
      const std::uint64_t word = (wanted ? words_[i / 64] : ~words_[i / 64]) >> (i % 64);
      if (word != 0) return std::min(end, i + static_cast<std::uint64_t>(std::countr_zero(word)));
    }
    return end;
  }

 private:
  std::uint64_t* words_;
  std::uint64_t count_;
};

}  // namespace sheaf::cpu
