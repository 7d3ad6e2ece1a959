#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace sheaf::jobs {

/// A tournament tree for a k-way merge (Knuth 1973, section 5.4.1). It holds one key of each list and knows the lowest;
/// after that key is replaced, it takes one comparison a level to find the lowest again. Among equal keys the list with
/// the lowest number wins.
template <class Key>
class loser_tree {
 public:
  /// @param firsts  the first key of each list, at least one; call end() for a list that is empty.
  explicit loser_tree(const std::vector<Key>& firsts)
      : lists_(static_cast<std::uint32_t>(firsts.size())), keys_(firsts), rank_(lists_), losers_(lists_) {
    for (std::uint32_t i = 0; i < lists_; ++i) rank_[i] = i;
    play();
  }

  /// The list whose key is the lowest.
  std::uint32_t winner() const noexcept { return losers_[0]; }
  bool all_ended() const noexcept { return rank_[winner()] >= lists_; }

  /// Replaces the winner's key by the next key of its list.
  void replace(const Key& key) {
    keys_[winner()] = key;
    replay();
  }
  /// Says that a list has no more keys.
  void end(std::uint32_t list) {
    keys_[list] = Key::highest();
    rank_[list] = list + lists_;  // sorts behind lists whose key equals the highest
    list == winner() ? replay() : play();
  }

 private:
  bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    if (keys_[a] < keys_[b]) return true;
    return keys_[a] == keys_[b] && rank_[a] < rank_[b];
  }

  // The children of node n are 2 n and 2 n + 1; nodes from lists_ on are the lists.
  void play() {
    std::vector<std::uint32_t> winners(2 * std::size_t{lists_});
    for (std::uint32_t i = 0; i < lists_; ++i) winners[lists_ + i] = i;
    for (std::uint32_t node = lists_ - 1; node > 0; --node) {
      std::uint32_t left = winners[2 * node];
      std::uint32_t right = winners[2 * node + 1];
      if (before(right, left)) std::swap(left, right);
      winners[node] = left;
      losers_[node] = right;
    }
    losers_[0] = winners[1];
  }

  void replay() {
    std::uint32_t best = winner();
    for (std::uint32_t node = (best + lists_) / 2; node > 0; node /= 2) {
      if (before(losers_[node], best)) std::swap(losers_[node], best);
    }
    losers_[0] = best;
  }

  std::uint32_t lists_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> rank_;
  std::vector<std::uint32_t> losers_;  ///< the list that lost at each node; entry 0 is the winner of all
};

}  // namespace sheaf::jobs
