#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cpu/list/node_bits.hpp"
#include "cpu/list/table.hpp"

namespace sheaf::cpu {

/// What threads share that take walks from one supply: first the splitters and the head, where it is known, or the
/// heads among nodes that the splitters' walks have not visited.
struct walk_supply {
  std::uint64_t splitters = 0;
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
    const std::uint64_t drawn = supply_.drawn.fetch_add(1, std::memory_order_relaxed);
    // The head comes first, whose sublist may be as long as any.
    const std::uint64_t heads = supply_.head == no_node ? 0 : 1;
    if (drawn >= supply_.splitters + heads) return false;
    if (drawn < heads) {
      from = {supply_.head, table_.of_heads(), true};
    } else {
      from = {table_.entries[drawn - heads].splitter, drawn - heads, false};
    }
    return true;
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
