#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace sheaf::jobs {

/// The lowest of several keys, one of each list, found again with one comparison a level after it was replaced (Knuth
/// 1973, section 5.4.1). Of equal keys that of the list with the lowest number comes first.
template <class Key>
class loser_tree {
 public:
  /// The first key of each list, 1 or more of them; lists without any are ended after this.
  explicit loser_tree(const std::vector<Key>& firsts)
      : lists_(static_cast<std::uint32_t>(firsts.size())), keys_(firsts), rank_(lists_), losers_(lists_) {
    for (std::uint32_t i = 0; i < lists_; ++i) rank_[i] = i;
    play();
  }

  /// The list whose key is the lowest.
  std::uint32_t winner() const noexcept { return losers_[0]; }
  bool all_ended() const noexcept { return rank_[winner()] >= lists_; }

  /// The winner's list goes on with this key.
  void replace(const Key& key) {
    keys_[winner()] = key;
    replay();
  }
  /// A list has no more keys.
  void end(std::uint32_t list) {
    keys_[list] = Key::highest();
    rank_[list] = list + lists_;  // behind lists whose key is the highest
    list == winner() ? replay() : play();
  }

 private:
  bool before(std::uint32_t a, std::uint32_t b) const noexcept {
    if (keys_[a] < keys_[b]) return true;
    return keys_[a] == keys_[b] && rank_[a] < rank_[b];
  }

  // Node n has the nodes 2 n and 2 n + 1 below it; from lists_ on they are the lists.
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
  std::vector<std::uint32_t> losers_;  ///< of each node; the first is the winner of all
};

}  // namespace sheaf::jobs
