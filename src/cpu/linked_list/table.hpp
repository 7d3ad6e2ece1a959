#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cpu/linked_list/layout.hpp"

namespace sheaf::cpu {

/// The sublists of a call, with what comes before each and what its values are together.
struct sublist_table {
  const sublist_decision& decided;
  std::uint64_t count;  ///< nodes
  sublist* entries;
  std::byte* bases;
  std::byte* totals;
  std::uint64_t value_bytes;  ///< 0 for ranks

  std::byte* base(std::uint64_t s) const noexcept { return bases + s * value_bytes; }
  std::byte* total(std::uint64_t s) const noexcept { return totals + s * value_bytes; }
  template <class Word>
  Word& rank_base(std::uint64_t s) const noexcept {
    return reinterpret_cast<Word*>(bases)[s];
  }
  /// The sublist that stands for all which begin at a head that is no splitter.
  std::uint64_t of_heads() const noexcept { return decided.splitters; }
  /// The first of those that are numbered while walks go on and between rounds.
  std::uint64_t first_added() const noexcept { return decided.splitters + 1; }
};

/// What walks have found.
struct walked {
  std::atomic<std::uint64_t> nodes = 0;         ///< that were visited
  std::atomic<std::uint64_t> nodes_rooted = 0;  ///< from a head that is no splitter up to a splitter or an end
  std::atomic<std::uint64_t> ends = 0;          ///< walks that have ended at the last node of a list
  std::atomic<std::uint64_t> added = 0;         ///< sublists beside those of the first splitters and of heads
  std::atomic<bool> is_no_list = false;         ///< walks have met
  std::atomic<bool> has_cut_walks = false;      ///< a walk of this round was as long as walks may be
};

/// Where a walk begins.
struct walk_start {
  std::uint64_t node = 0;
  std::uint64_t sublist = 0;
  bool is_head = false;  ///< else a splitter, which is marked already
};

}  // namespace sheaf::cpu
