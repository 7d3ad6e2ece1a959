#pragma once

#include "distributed/sort/splitters.hpp"

// The parts of local rows: how many splitters lie at or before each of them in the sorted whole.
namespace sheaf::distributed {

/// Keys among whose rows a part ends.
template <class Key>
class tied_keys {
 public:
  struct tie {
    std::size_t first;  ///< of the splitters with this key
    std::size_t last;
  };

  /// @param at  splitters before the end
  explicit tied_keys(std::span<const splitter<Key>> at) {
    for (std::size_t s = 0; s < at.size(); ++s) {
      if (at[s].ties_before() == 0 || (!keys_.empty() && keys_.back() == at[s].key)) continue;
      std::size_t first = s;
      while (first > 0 && at[first - 1].key == at[s].key) --first;
      std::size_t last = s;
      while (last < at.size() && at[last].key == at[s].key) ++last;
      ties_.push_back({first, last});
      keys_.push_back(at[s].key);
    }
  }

  std::size_t count() const noexcept { return ties_.size(); }
  const tie& operator[](std::size_t t) const noexcept { return ties_[t]; }
  /// The number of the key; count() if it is none of them.
  std::size_t number_of(const Key& k) const noexcept {
    const auto found = std::lower_bound(keys_.begin(), keys_.end(), k);
    return found != keys_.end() && *found == k ? static_cast<std::size_t>(found - keys_.begin()) : count();
  }

 private:
  std::vector<tie> ties_;
  std::vector<Key> keys_;
};

/// Collective: rows of each tied key before each local block, in the order of ranks and blocks.
template <class Keys, class Part>
std::vector<std::uint64_t> rows_before_blocks(group_state& state, const Keys& keys, const row_blocks& blocks,
                                              const tied_keys<typename Keys::key>& ties,
                                              const parts_of_rows<Part>& parts) {
  std::vector<std::uint64_t> before(blocks.blocks * ties.count());
  blocks.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
    std::vector<std::uint64_t> mine(ties.count());
    parts.for_left(block, begin, end, [&](std::uint64_t i) {
      const std::size_t t = ties.number_of(keys(i));
      if (t < mine.size()) ++mine[t];
    });
    std::copy(mine.begin(), mine.end(), before.begin() + static_cast<std::ptrdiff_t>(block * mine.size()));
  });
  std::vector<std::uint64_t> mine(ties.count());
  for (std::uint64_t b = 0; b < blocks.blocks; ++b) {
    for (std::size_t t = 0; t < mine.size(); ++t) mine[t] += before[b * mine.size() + t];
  }
  add_lower_ranks(state, mine);
  for (std::size_t t = 0; t < mine.size(); ++t) {
    std::uint64_t rows = mine[t];
    for (std::uint64_t b = 0; b < blocks.blocks; ++b) rows += std::exchange(before[b * mine.size() + t], rows);
  }
  return before;
}

/// By the highest bits of a key: the splitters that rows with these bits may lie between.
template <class Key>
class bins_of_splitters {
 public:
  static constexpr std::uint32_t several = ~std::uint32_t{0};

  bins_of_splitters(std::span<const splitter<Key>> at, std::uint32_t key_bits) {
    constexpr std::uint32_t most_bits = 12;
    const std::uint32_t bits = std::min(key_bits, most_bits);
    low_ = key_bits - bits;
    first_.resize((std::size_t{1} << bits) + 1);
    for (std::size_t s = 0, bin = 0; bin < first_.size(); ++bin) {
      while (s < at.size() && lowest_word(above(at[s].key, low_)) < bin) ++s;
      first_[bin] = static_cast<std::uint32_t>(s);
    }
    only_.resize(first_.size() - 1);
    for (std::size_t bin = 0; bin < only_.size(); ++bin)
      only_[bin] = first_[bin] == first_[bin + 1] ? first_[bin] : several;
  }

  std::uint64_t bin_of(const Key& k) const noexcept { return lowest_word(above(k, low_)); }
  /// The part of all rows of a bin; several if a splitter lies in it.
  std::uint32_t part_of_bin(std::uint64_t bin) const noexcept { return only_[bin]; }
  std::size_t first(std::uint64_t bin) const noexcept { return first_[bin]; }

 private:
  std::uint32_t low_;
  std::vector<std::uint32_t> first_;  // splitter that is not below the bin
  std::vector<std::uint32_t> only_;
};

/// Collective. Writes the part of each local row that is left: the number of splitters at or before it.
template <class Keys, class Part>
void write_parts(group_state& state, const Keys& keys, std::uint64_t count,
                 const std::vector<splitter<typename Keys::key>>& splitters, balance balanced, std::uint32_t key_bits,
                 parts_of_rows<Part>& parts) {
  using key = typename Keys::key;
  const auto end_of_rows = std::find_if(splitters.begin(), splitters.end(), [](const auto& s) { return s.is_end; });
  const std::span<const splitter<key>> at(splitters.begin(), end_of_rows);
  const tied_keys<key> ties(at);
  const row_blocks blocks(count, state.ctx.threads());
  std::vector<std::uint64_t> before(blocks.blocks * ties.count());
  if (ties.count() > 0 && balanced == balance::exact) before = rows_before_blocks(state, keys, blocks, ties, parts);
  const bins_of_splitters<key> bins(at, key_bits);
  const std::size_t part_count = splitters.size() + 1;
  if (!parts.are_known) parts.counts.assign(blocks.blocks * part_count, 0);
  blocks.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
    std::uint64_t* const seen = before.data() + block * ties.count();
    const auto part_among_several = [&](const key& k, std::uint64_t bin) {
      const auto found = std::lower_bound(at.begin() + static_cast<std::ptrdiff_t>(bins.first(bin)),
                                          at.begin() + static_cast<std::ptrdiff_t>(bins.first(bin + 1)), k,
                                          [](const splitter<key>& s, const key& of) { return s.key < of; });
      auto s = static_cast<std::size_t>(found - at.begin());
      if (s == bins.first(bin + 1) || !(at[s].key == k)) return s;
      const std::size_t t = ties.number_of(k);
      if (t == ties.count()) {
        while (s < at.size() && at[s].key == k) ++s;
        return s;
      }
      const std::uint64_t position = balanced == balance::by_key ? 0 : seen[t]++;
      for (s = ties[t].first; s < ties[t].last && at[s].ties_before() <= position; ++s) {
      }
      return s;
    };
    // Copies, because bytes that are stored might be any of it.
    const Keys reader = keys;
    Part* const to = parts.part;
    std::vector<std::uint64_t> counts(part_count);
    std::uint64_t* const mine = counts.data();
    parts.for_left(block, begin, end, [&, reader, to, mine](std::uint64_t i) {
      const key k = reader(i);
      const std::uint64_t bin = bins.bin_of(k);
      std::size_t s = bins.part_of_bin(bin);
      if (s == bins.several) s = part_among_several(k, bin);
      to[i] = static_cast<Part>(s);
      ++mine[s];
    });
    for (std::size_t part = 0; part < part_count; ++part) parts.counts[block * part_count + part] += mine[part];
  });
}

}  // namespace sheaf::distributed
