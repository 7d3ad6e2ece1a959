#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include <sheaf/sort.hpp>

namespace sheaf::distributed {

/// Columns that are collected one by one and then numbered in ascending order. Where many entries may name few columns,
/// the set has a bit for each column, and counts of those before: a number then costs two reads, where a search in a
/// list of a million columns costs twenty. Else it is that list.
class column_set {
 public:
  /// @param columns  that there are: the set has numbers below this
  /// @param entries  that may name one
  column_set(std::uint64_t columns, std::uint64_t entries) {
    constexpr std::uint64_t columns_of_entry = 32;  // whose bits and counts take the 8 bytes of a list's entry
    if (columns / columns_of_entry <= entries) bits_.resize(columns / word_bits + 1);
  }

  void add(std::uint64_t column) {
    if (!bits_.empty()) {
      bits_[column / word_bits] |= std::uint64_t{1} << column % word_bits;
    } else if (list_.empty() || list_.back() != column) {
      list_.push_back(column);
    }
  }

  /// Ends the collection.
  void finish(const context& host) {
    if (bits_.empty()) return sort_unique(host);
    before_.resize(bits_.size());
    std::uint64_t count = 0;
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      before_[word] = count;
      count += static_cast<std::uint64_t>(std::popcount(bits_[word]));
    }
    list_.reserve(count);
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1)
        list_.push_back(word * word_bits + static_cast<std::uint64_t>(std::countr_zero(bits)));
    }
  }

  // After finish().
  /// Ascending, without repetition.
  const std::vector<std::uint64_t>& list() const noexcept { return list_; }
  std::uint64_t size() const noexcept { return list_.size(); }
  /// Columns of the set below `column`.
  std::uint64_t number(std::uint64_t column) const noexcept {
    if (bits_.empty())
      return static_cast<std::uint64_t>(std::lower_bound(list_.begin(), list_.end(), column) - list_.begin());
    const std::uint64_t lower = bits_[column / word_bits] & ((std::uint64_t{1} << column % word_bits) - 1);
    return before_[column / word_bits] + static_cast<std::uint64_t>(std::popcount(lower));
  }
  /// Gives back what numbers need beside the list.
  void keep_list_alone() noexcept {
    bits_ = {};
    before_ = {};
  }

 private:
  static constexpr std::uint64_t word_bits = 64;

  void sort_unique(const context& host) {
    if (!std::is_sorted(list_.begin(), list_.end())) {
      std::vector<std::uint64_t> sorted(list_.size());
      sheaf::sort_keys(host, list_, sorted);
      list_.swap(sorted);
    }
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
  }

  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> before_;  ///< columns of the set before each word
  std::vector<std::uint64_t> list_;
};

}  // namespace sheaf::distributed
