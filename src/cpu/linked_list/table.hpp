#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cpu/linked_list/layout.hpp"
#include "cpu/linked_list/node_bits.hpp"

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

/// What threads share that take walks from one supply: the head, where it is known, and the splitters of one round, or
/// the heads among nodes that the splitters' walks have not visited.
struct walk_supply {
  std::uint64_t first = 0;  ///< sublists [first, last) begin at the round's splitters, but those that have none
  std::uint64_t last = 0;
  std::uint64_t head = no_node;
  const node_bits* led = nullptr;  ///< not null: walks begin at the nodes whose bit is not set
  std::atomic<std::uint64_t> drawn = 0;
};

/// Gives a thread one walk after the other.
class walk_starts {
 public:
  walk_starts(const sublist_table& table, walk_supply& supply) : table_(table), supply_(supply) {}

  bool operator()(walk_start& from) { return supply_.led == nullptr ? splitter(from) : head(from); }

 private:
  static constexpr std::uint64_t drawn_nodes = 4096;

  bool splitter(walk_start& from) {
    // The head comes first, whose sublist may be as long as any.
    const std::uint64_t heads = supply_.head == no_node ? 0 : 1;
    while (true) {
      const std::uint64_t drawn = supply_.drawn.fetch_add(1, std::memory_order_relaxed);
      if (drawn < heads) {
        from = {supply_.head, table_.of_heads(), true};
        return true;
      }
      const std::uint64_t s = supply_.first + drawn - heads;
      if (s >= supply_.last) return false;
      if (table_.entries[s].splitter == no_node) continue;
      from = {table_.entries[s].splitter, s, false};
      return true;
    }
  }

  bool head(walk_start& from) {
    while (true) {
      at_ = supply_.led->find(false, at_, end_);
      if (at_ < end_) {
        from = {at_++, table_.of_heads(), true};
        return true;
      }
      at_ = supply_.drawn.fetch_add(drawn_nodes, std::memory_order_relaxed);
      if (at_ >= table_.count) return false;
      end_ = std::min(table_.count, at_ + drawn_nodes);
    }
  }

  const sublist_table& table_;
  walk_supply& supply_;
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace sheaf::cpu
