#pragma once

#include "cpu/linked_list/layout.hpp"
#include "cpu/linked_list/nodes.hpp"

// Step 3 of Wei and JaJa 2010: sublists are walked along, each by one thread, which has many walks in flight.
namespace sheaf::cpu {

/// The walks of one thread.
template <class Nodes>
class walker {
 public:
  using word = typename Nodes::word;

  /// @param numbered  sublists that have numbers already; those of others are their walks' own until the round ends
  walker(const Nodes& nodes, const sublist_table& table, walked& found, std::uint64_t part, std::uint64_t numbered,
         walk_starts& starts)
      : nodes_(nodes),
        table_(table),
        found_(found),
        numbered_(numbered),
        most_ranks_(table.decided.rank_bits == 0 ? no_node : table.decided.most_ranks()),
        starts_(starts) {
    for (std::uint64_t w = 0; w < walks_.size(); ++w) walks_[w].running = nodes.running_of(part, w);
  }

  void run() {
    std::uint64_t active = 0;
    while (active < walks_.size() && begin(walks_[active])) ++active;
    while (active > 0) {
      for (std::uint64_t w = 0; w < active;) {
        if (step(walks_[w]) || begin(walks_[w])) {
          ++w;
        } else {
          std::swap(walks_[w], walks_[--active]);
        }
      }
    }
    found_.nodes += nodes_walked_;
    found_.nodes_rooted += nodes_rooted_;
    found_.ends += ends_;
  }

 private:
  struct walk {
    word at = 0;    // the node that is visited next
    word mark = 0;  // what its link becomes
    typename Nodes::running running{};
    std::uint64_t left = 0;     // nodes up to the next look at the limits
    std::uint64_t allowed = 0;  // what `left` was
    std::uint64_t walked = 0;   // nodes before those
    std::uint64_t sublist = 0;
  };

  word mark_of(std::uint64_t sublist) const noexcept {
    return visited_bit<word> | static_cast<word>(sublist << table_.decided.rank_bits);
  }

  /// Begins another walk, with its first node behind it; false if there is none to begin.
  bool begin(walk& current) {
    walk_start from;
    do {
      if (!starts_(from)) return false;
    } while (!begin_at(current, from));
    current.mark += Nodes::visits_per_mark;
    --current.left;
    nodes_.prefetch(current.at);
    return true;
  }

  bool begin_at(walk& current, const walk_start& from) {
    current.sublist = from.sublist;
    current.mark = mark_of(from.sublist);
    current.walked = 0;
    allow(current);
    if (!from.is_head) {
      nodes_.begin(current.running, from.node);
      current.at = static_cast<word>(table_.entries[from.sublist].successor);
      return true;
    }
    const word link = load_link(nodes_.link(from.node));
    if ((link & visited_bit<word>) != 0 || !nodes_.claim(from.node, link, current.mark)) {
      found_.is_no_list = true;
      return false;
    }
    nodes_.begin_list(current.running, from.node);
    current.at = link;
    return true;
  }

  void allow(walk& w) const noexcept {
    w.left = w.allowed = std::min(table_.decided.longest_walk - w.walked, most_ranks_);
  }

  /// Visits a node; false if the walk is over.
  bool step(walk& current) {
    if (current.left == 0 && !go_on(current)) return false;
    const word link = load_link(nodes_.link(current.at));
    if ((link & visited_bit<word>) != 0) {
      arrive(current, link);
      return false;
    }
    if (!nodes_.claim(current.at, link, current.mark)) {
      found_.is_no_list = true;
      return false;
    }
    nodes_.visit(current.running, current.at);
    current.mark += Nodes::visits_per_mark;
    --current.left;
    current.at = link;
    nodes_.prefetch(link);
    return true;
  }

  /// The walk has met a node that was visited: a splitter or the end of all lists, if these are lists.
  void arrive(walk& current, word link) {
    std::uint64_t next = no_sublist;
    if (current.at != table_.count) {
      next = (link & ~visited_bit<word>) >> table_.decided.rank_bits;
      if (next >= numbered_ || table_.entries[next].splitter != current.at ||
          std::atomic_ref(table_.entries[next].is_reached).exchange(1, std::memory_order_relaxed) != 0) {
        found_.is_no_list = true;
        return;
      }
    }
    end(current, next);
  }

  /// The walk's sublist is complete, and `next` follows it.
  void end(walk& current, std::uint64_t next) {
    const std::uint64_t nodes = current.allowed - current.left;
    nodes_walked_ += nodes;
    ends_ += next == no_sublist ? 1 : 0;
    if (current.sublist != table_.of_heads()) {
      table_.entries[current.sublist].next = next;
      table_.entries[current.sublist].nodes = nodes;
      nodes_.keep(current.running, table_.total(current.sublist));
      return;
    }
    nodes_rooted_ += nodes;
    if (next == no_sublist) return;
    table_.entries[next].follows_head = 1;
    table_.entries[next].has_base = 1;
    if (table_.value_bytes == 0) {
      table_.template rank_base<word>(next) = static_cast<word>(nodes);
    } else {
      nodes_.keep(current.running, table_.base(next));
    }
  }

  /// A walk has come to a limit: ranks no longer fit beside the sublist's number, or a walk may not be longer. The rest
  /// becomes a sublist of its own, along which this walk goes on, or another one in the next round; false then.
  [[gnu::noinline]] bool go_on(walk& current) {
    if (found_.is_no_list.load(std::memory_order_relaxed)) return false;
    const word link = load_link(nodes_.link(current.at));
    if ((link & visited_bit<word>) != 0) {
      arrive(current, link);
      return false;
    }
    const std::uint64_t rest = table_.first_added() + found_.added++;
    if (rest >= table_.decided.sublists) {
      found_.is_no_list = true;  // lists have numbers enough
      return false;
    }
    table_.entries[rest] = {};
    end(current, rest);
    current.walked += current.allowed;
    if (current.walked >= table_.decided.longest_walk) {
      leave_to_next_round(rest, current.at, link);
      return false;
    }
    current.sublist = rest;
    current.mark = mark_of(rest);
    allow(current);
    return true;
  }

  /// The node becomes a splitter, which one walk has reached.
  void leave_to_next_round(std::uint64_t rest, word node, word link) {
    sublist& at = table_.entries[rest];
    at.splitter = node;
    at.successor = link;
    at.is_reached = 1;
    found_.has_cut_walks.store(true, std::memory_order_relaxed);
    if (!nodes_.claim(node, link, mark_of(rest))) found_.is_no_list = true;
  }

  const Nodes& nodes_;
  const sublist_table& table_;
  walked& found_;
  const std::uint64_t numbered_;
  const std::uint64_t most_ranks_;
  walk_starts& starts_;
  std::uint64_t nodes_walked_ = 0;
  std::uint64_t nodes_rooted_ = 0;
  std::uint64_t ends_ = 0;
  std::array<walk, walks_in_flight> walks_;
};

}  // namespace sheaf::cpu
