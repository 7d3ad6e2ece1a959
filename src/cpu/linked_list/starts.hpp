#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cpu/linked_list/node_bits.hpp"
#include "cpu/linked_list/table.hpp"

namespace sheaf::cpu {

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
