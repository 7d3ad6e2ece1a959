#pragma once

#include "cpu/linked_list/node_bits.hpp"
#include "primitives/linked_list/contract.hpp"

// What cpu.sublist decides, and where its arrays lie in the scratch.
namespace sheaf::cpu {

/// Constants of the variant. This folder's README has the figures that decided.
struct sublist_tuning {
  std::uint64_t nodes_per_thread = 8192;  ///< below, a second thread costs more than it saves
  std::uint64_t least_sublist = 32;       ///< nodes of a sublist on average, so that its start costs little
  std::uint64_t longest_walk = 64;        ///< in average sublists; there a walk waits for the next round
  std::uint64_t rounds_of_splitters = 2;  ///< after the first one, as many splitters in each as in the first
  int narrow_bits = 31;                   ///< of a link of 4 bytes, beside the one that says whether it was visited
  std::uint64_t widest_beside_link = 24;  ///< bytes of a value that lies beside its link, and not in the output
  double digits_per_node = 0.8;           ///< instructions of a step of a walk, in digits
  double digits_per_sublist = 10;         ///< to place a splitter and to follow its sublist, both in a core's cache
};
constexpr sublist_tuning sublist_defaults;
/// Walks that a thread interleaves: more than a core of any machine has misses under way, so that no profile has to say
/// how many. A core of an AMD EPYC (family 25) ranks 2^24 nodes at random in 184, 174 and 196 ms with 64, 128 and 256
/// of them, and 2^26 in 814, 843 and 852 ms, which differ by less than its runs do.
constexpr std::uint64_t walks_in_flight = 128;

constexpr std::uint64_t no_node = ~std::uint64_t{0};
constexpr std::uint64_t no_sublist = ~std::uint64_t{0};

/// One sublist: the nodes from a splitter up to the next one, or to the end of its list.
struct sublist {
  std::uint64_t splitter = no_node;   ///< its first node; no_node for one that was cut off another for its ranks
  std::uint64_t successor = no_node;  ///< of the splitter
  std::uint64_t next = no_sublist;    ///< the sublist that follows in the list
  std::uint64_t nodes = 0;            ///< its length
  std::uint32_t is_reached = 0;       ///< a walk has ended at the splitter
  std::uint32_t follows_head = 0;     ///< the walk that did had begun at a head
  std::uint32_t has_base = 0;         ///< there is something before its first node
  std::uint32_t is_rooted = 0;        ///< it follows from a head, along whole sublists
};

/// What plan() decides. A visited node's link holds the number of its sublist, and for ranks the nodes before it there,
/// in the low rank_bits.
struct sublist_decision {
  std::uint64_t splitters;  ///< of the first round, of which sublists 0, 1, ... begin
  std::uint64_t sublists;   ///< at most; number `splitters` stands for all that begin at heads that are not splitters
  std::uint64_t later_splitters;  ///< most splitters of all later rounds together
  std::uint64_t parts;            ///< threads that are worth it
  std::uint32_t link_bytes;       ///< 4 or 8
  std::uint32_t rank_bits;
  std::uint64_t longest_walk;   ///< nodes that a walk visits at most in one round
  std::uint64_t node_bytes;     ///< from one node's link to the next one's
  std::uint64_t running_bytes;  ///< of a walk's value
  bool values_in_output;        ///< values too wide to lie beside links
  bool is_typed;                ///< by code of its own for a type and an operator, and not through function pointers
  std::uint64_t link_at;        ///< of the link in a node
  // Offsets in the scratch.
  std::uint64_t nodes_at;
  std::uint64_t led_at;    ///< a bit for each node
  std::uint64_t twice_at;  ///< another one
  std::uint64_t sublists_at;
  std::uint64_t bases_at;      ///< for each sublist what comes before it: ranks of link_bytes, or values
  std::uint64_t has_base_at;   ///< for each sublist a byte, whether anything comes before it
  std::uint64_t totals_at;     ///< for each sublist its values put together
  std::uint64_t running_at;    ///< for each part and walk its running value
  std::uint64_t unvisited_at;  ///< for each part how many of its nodes no walk has visited

  std::uint64_t most_ranks() const noexcept { return std::uint64_t{1} << rank_bits; }

  void tell(plan::told& to) const { to.add("sublists", sublists).add("parts", parts).add("link_bytes", link_bytes); }
};

/// Calls body with a number of the width of a link.
template <class Body>
auto with_link(const sublist_decision& decided, Body body) {
  return decided.link_bytes == 4 ? body(std::uint32_t{}) : body(std::uint64_t{});
}

/// Lays out the scratch; returns its bytes.
std::uint64_t decide_sublists(const primitives::list_problem& problem, std::uint64_t threads,
                              const sublist_tuning& tuning, sublist_decision& decided);

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
  /// The sublist that stands for all that begin at a head that is not a splitter.
  std::uint64_t of_heads() const noexcept { return decided.splitters; }
  /// The first of those that are numbered while walks go on and between rounds.
  std::uint64_t first_added() const noexcept { return decided.splitters + 1; }
};

/// What walks have found.
struct walked {
  std::atomic<std::uint64_t> nodes = 0;         ///< that were visited
  std::atomic<std::uint64_t> nodes_rooted = 0;  ///< from a head that is not a splitter up to a splitter or an end
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
