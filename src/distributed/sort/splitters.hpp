#pragma once

#include <algorithm>
#include <map>

#include "core/context_state.hpp"
#include "core/parallel_tasks.hpp"
#include "distributed/collectives.hpp"
#include "distributed/sort/keys.hpp"

// The keys at which parts of the sorted whole end, exactly: for each position, the key that is there, and how many rows
// of that key lie before it. Histograms of digits narrow the keys down from the highest bits on; once few rows remain
// in question, their keys are gathered on all ranks.
namespace sheaf::distributed {

template <class Key>
struct splitter {
  std::uint64_t position = 0;  ///< in the sorted whole
  Key key{};                   ///< of the row at that position; the key's highest bits while the search goes on
  std::uint64_t less = 0;      ///< rows of lower keys
  std::uint64_t equal = 0;     ///< rows of this key
  bool is_end = false;         ///< the position is behind the last row

  std::uint64_t ties_before() const noexcept { return position - less; }
};

/// Parts of the local rows that threads share: [begin(b), begin(b + 1)).
struct row_blocks {
  std::uint64_t rows;
  std::uint64_t blocks;

  row_blocks(std::uint64_t count, int threads)
      : rows(count), blocks(std::clamp<std::uint64_t>(count >> 15, 1, static_cast<std::uint64_t>(threads))) {}
  std::uint64_t begin(std::uint64_t block) const noexcept {
    return rows / blocks * block + std::min(block, rows % blocks);
  }
  template <class Use>
  void for_each(Use use) const {
    core::for_each_task(blocks, blocks, [&](std::uint64_t b) { use(b, begin(b), begin(b + 1)); });
  }
};

/// The parts of local rows, of which most are known before the splitters' keys are.
template <class Part>
struct parts_of_rows {
  Part* part = nullptr;                          ///< of each row
  bool are_known = false;                        ///< but for the rows that are left
  std::vector<std::vector<std::uint64_t>> left;  ///< rows of each block, ascending
  std::vector<std::uint64_t> counts;             ///< rows of each block that each part has; blocks * parts of them

  /// Calls use(row) for the rows of a block whose parts are not known.
  template <class Use>
  void for_left(std::uint64_t block, std::uint64_t begin, std::uint64_t end, Use use) const {
    if (are_known) {
      for (const std::uint64_t i : left[block]) use(i);
    } else {
      for (std::uint64_t i = begin; i < end; ++i) use(i);
    }
  }
};

/// Counts parts. Of four numbers of each part, because one that was just stored takes long to be read again.
class part_counts {
 public:
  explicit part_counts(std::size_t parts) : parts_(parts), counts_(copies * parts) {}

  template <class Part>
  void add(const Part* part, std::uint64_t count) {
    std::uint64_t* const to = counts_.data();
    std::uint64_t i = 0;
    for (; i + copies <= count; i += copies) {
      for (std::size_t copy = 0; copy < copies; ++copy) ++to[copy * parts_ + part[i + copy]];
    }
    for (; i < count; ++i) ++to[part[i]];
  }
  std::uint64_t of(std::size_t part) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t copy = 0; copy < copies; ++copy) sum += counts_[copy * parts_ + part];
    return sum;
  }

 private:
  static constexpr std::size_t copies = 4;
  std::size_t parts_;
  std::vector<std::uint64_t> counts_;
};

template <class Keys>
class splitter_search {
 public:
  using key = typename Keys::key;
  using splitters = std::vector<splitter<key>>;

  splitter_search(group_state& state, const Keys& keys, std::uint64_t count, std::uint64_t all_rows,
                  std::uint32_t key_bits)
      : state_(state), keys_(keys), blocks_(count, state.ctx.threads()), all_(all_rows), bits_(key_bits) {}

  /// Collective. @param positions  ascending; the same on all ranks
  /// @param parts  receives what can be known of the rows' parts on the way
  template <class Part>
  splitters find(std::span<const std::uint64_t> positions, parts_of_rows<Part>& parts) {
    splitters found;
    for (const std::uint64_t p : positions) found.push_back({.position = p, .is_end = p >= all_});
    std::uint64_t in_question = all_;
    const std::uint64_t few = std::max<std::uint64_t>(4096, all_ / static_cast<std::uint64_t>(state_.size) / 8);
    std::uint32_t known = 0;
    if (all_ > few) {
      known = start(found, in_question);
      if (known == 0) {
        known = take_common_bits(found);
      } else if (known < bits_ && in_question <= few) {
        take_parts(found, parts);
        finish_with_keys(found, bits_ - known, [&](const auto& use) {
          for (const auto& rows : parts.left) {
            for (const std::uint64_t i : rows) use(keys_(i));
          }
        });
        return found;
      }
    }
    while (known < bits_) {
      const std::vector<key> prefixes = prefixes_of(found);
      if (prefixes.empty()) break;
      if (in_question <= few) {
        const known_prefixes prefix_of(prefixes, bits_ - known, bits_);
        finish_with_keys(found, bits_ - known, [&](const auto& use) {
          for_rows(prefix_of, 0, blocks_.rows, [&](std::uint64_t, const key& k) { use(k); });
        });
        break;
      }
      const std::uint32_t digit_bits =
          std::min(bits_ - known, prefixes.size() == 1 ? first_bits(found.size()) : bits_for(prefixes.size()));
      in_question = narrow(found, prefixes, known, digit_bits);
      known += digit_bits;
    }
    return found;
  }

 private:
  /// A histogram of the bits below the highest ones, which a sample of the keys has alike. Returns how many bits are
  /// known then; 0 if a splitter lies among rows that the sample tells nothing of.
  std::uint32_t start(splitters& found, std::uint64_t& in_question) {
    constexpr std::uint64_t most_samples = 1024;
    const std::uint64_t samples = std::min(most_samples, blocks_.rows);
    std::vector<key> ends;  // the least and the largest key of the sample
    for (std::uint64_t i = 0; i < samples; ++i) {
      // Not evenly spaced: rows may repeat after a number of them.
      const std::uint64_t step = blocks_.rows / samples;
      const key k = keys_(i * step + (i * 0x9e3779b97f4a7c15U >> 33) % step);
      if (ends.empty()) ends.assign(2, k);
      if (k < ends[0]) ends[0] = k;
      if (ends[1] < k) ends[1] = k;
    }
    const gathered_bytes all = all_gather_parts(state_, std::as_bytes(std::span(ends)));
    ends.resize(all.data.size() / sizeof(key));
    std::memcpy(ends.data(), all.data.data(), all.data.size());
    const key least = *std::min_element(ends.begin(), ends.end());
    const key most = *std::max_element(ends.begin(), ends.end());
    std::uint32_t low = 0;  // bits from which on all are alike
    while (low < bits_ && !(above(least, low) == above(most, low))) ++low;
    first_.low = low;
    first_.alike = above(least, low);
    const std::uint32_t digit_bits = std::min(low, first_bits(found.size()));
    first_.shift = low - digit_bits;
    first_.bins = std::uint64_t{1} << digit_bits;
    const first_digits at = first_;
    const std::uint64_t bins = at.bins;
    std::vector<std::vector<std::uint64_t>> counts(blocks_.blocks);
    blocks_.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      std::vector<std::uint64_t> mine(bins + 2);  // rows of each digit, and of lower and higher keys
      std::vector<std::uint32_t> some(bins + 2);  // the same of so many rows, in half of the cache
      const Keys keys = keys_;
      constexpr std::uint64_t counted_at_once = std::uint64_t{1} << 31;
      for (std::uint64_t i = begin; i < end;) {
        std::uint32_t* const to = some.data();
        for (const std::uint64_t last = std::min(end, i + counted_at_once); i < last; ++i) ++to[at.digit_of(keys(i))];
        for (std::uint64_t bin = 0; bin < bins + 2; ++bin) mine[bin] += std::exchange(some[bin], 0);
      }
      counts[block] = std::move(mine);
    });
    const std::vector<std::uint64_t> sums = added_up(counts);
    const std::uint64_t lower = sums[bins];
    const std::uint64_t higher = sums[bins + 1];
    for (const auto& s : found) {
      if (!s.is_end && (s.position < lower || s.position >= all_ - higher)) return 0;
    }
    in_question = 0;
    std::uint64_t last_bin = ~std::uint64_t{0};
    for (auto& s : found) {
      if (s.is_end) continue;
      s.less = lower;
      std::uint64_t bin = 0;
      for (; s.less + sums[bin] <= s.position; ++bin) s.less += sums[bin];
      s.key = with_digit(at.alike, digit_bits, bin);
      s.equal = sums[bin];
      if (bin != last_bin) in_question += s.equal;
      last_bin = bin;
    }
    return bits_ - at.shift;
  }

  /// What of the rows' parts the first digits tell: the parts of rows in whose bins no splitter lies.
  template <class Part>
  void take_parts(const splitters& found, parts_of_rows<Part>& parts) const {
    const first_digits at = first_;
    constexpr std::uint32_t several = ~std::uint32_t{0};
    std::vector<std::uint32_t> part_of_bin(at.bins + 2);
    std::uint32_t used = 0;
    std::uint64_t bin = 0;
    for (const auto& s : found) {
      if (s.is_end) continue;
      const std::uint64_t of_splitter = lowest_word(s.key) & (at.bins - 1);
      for (; bin < of_splitter; ++bin) part_of_bin[bin] = used;
      part_of_bin[of_splitter] = several;
      bin = of_splitter + 1;
      ++used;
    }
    for (; bin < at.bins; ++bin) part_of_bin[bin] = used;
    part_of_bin[at.bins] = 0;  // lower than all of them
    part_of_bin[at.bins + 1] = used;
    const std::size_t part_count = found.size() + 1;
    parts.counts.assign(blocks_.blocks * part_count, 0);
    parts.left.resize(blocks_.blocks);
    blocks_.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      // Copies, because bytes that are stored might be any of it.
      const Keys keys = keys_;
      const std::uint32_t* const table = part_of_bin.data();
      Part* const to = parts.part;
      part_counts counts(part_count);
      std::vector<std::uint64_t> left;
      constexpr std::uint64_t rows_at_once = 4096;
      while (begin < end) {
        const std::uint64_t last = std::min(end, begin + rows_at_once);
        for (std::uint64_t i = begin; i < last; ++i) {
          const std::uint32_t part = table[at.digit_of(keys(i))];
          to[i] = static_cast<Part>(part);
          if (part == several) {
            to[i] = 0;
            left.push_back(i);
          }
        }
        counts.add(to + begin, last - begin);
        begin = last;
      }
      std::uint64_t* const mine = parts.counts.data() + block * part_count;
      for (std::size_t part = 0; part < part_count; ++part) mine[part] = counts.of(part);
      mine[0] -= left.size();
      parts.left[block] = std::move(left);
    });
    parts.are_known = true;
  }

  /// What the blocks of all ranks have counted.
  std::vector<std::uint64_t> added_up(std::vector<std::vector<std::uint64_t>>& counts) const {
    std::vector<std::uint64_t> sums = std::move(counts.front());
    for (std::uint64_t b = 1; b < counts.size(); ++b) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += counts[b][i];
    }
    all_add(state_, sums);
    return sums;
  }

  /// The highest bits that all keys have alike, which need no histogram: small numbers in wide keys have many.
  std::uint32_t take_common_bits(splitters& found) {
    std::vector<key> ends(2 * blocks_.blocks);  // the least and the largest key of each block
    blocks_.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      if (begin == end) return;
      key least = keys_(begin);
      key most = least;
      for (std::uint64_t i = begin + 1; i < end; ++i) {
        const key k = keys_(i);
        least = k < least ? k : least;
        most = most < k ? k : most;
      }
      ends[2 * block] = least;
      ends[2 * block + 1] = most;
    });
    // A rank without rows has none.
    const gathered_bytes all =
        all_gather_parts(state_, std::as_bytes(std::span(ends).first(blocks_.rows == 0 ? 0 : ends.size())));
    ends.resize(all.data.size() / sizeof(key));
    std::memcpy(ends.data(), all.data.data(), all.data.size());
    const key least = *std::min_element(ends.begin(), ends.end());
    const key most = *std::max_element(ends.begin(), ends.end());
    std::uint32_t low = 0;
    while (low < bits_ && !(above(least, low) == above(most, low))) ++low;
    if (low == bits_) return 0;
    const std::uint32_t known = bits_ - low;
    // The last bit is left to a histogram, which counts rows, where all keys are equal.
    const std::uint32_t taken = low == 0 ? known - 1 : known;
    for (auto& s : found) s.key = s.is_end ? s.key : above(least, bits_ - taken);
    return taken;
  }

  /// One histogram over many bins saves a pass where there are rows for it: so many bins that some 2^16 rows stay in
  /// question, but no more than a few for each square root of a rank's rows, because the histogram travels.
  std::uint32_t first_bits(std::uint64_t parts) const noexcept {
    constexpr std::uint32_t in_question = 16;
    const auto bits = static_cast<std::uint32_t>(std::bit_width(all_) + std::bit_width(parts));
    const std::uint64_t share = all_ / static_cast<std::uint64_t>(state_.size);
    const std::uint32_t most =
        std::clamp<std::uint32_t>(static_cast<std::uint32_t>(std::bit_width(share)) / 2 + 3, 8, 14);
    return std::clamp<std::uint32_t>(bits - std::min(bits, in_question), 8, most);
  }

  /// Histograms travel too: an eighth of a rank's rows in numbers, and no more; less where sums take many messages.
  std::uint32_t bits_for(std::uint64_t prefixes) const noexcept {
    const std::uint64_t share = all_ / static_cast<std::uint64_t>(state_.size);
    const std::uint64_t part = state_.size >= state_.bounds.two_level_ranks ? 64 : 8;
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(std::bit_width(share / (part * prefixes))), 2, 8);
  }

  static std::vector<key> prefixes_of(const splitters& found) {
    std::vector<key> prefixes;
    for (const auto& s : found) {
      if (!s.is_end && (prefixes.empty() || !(prefixes.back() == s.key))) prefixes.push_back(s.key);
    }
    return prefixes;
  }

  /// Prefixes of keys, of which all bits from `low` on are known, by their highest bits: few keys get as far as the
  /// search, whose branches nobody can predict.
  struct known_prefixes {
    const std::vector<key>& prefixes;
    std::uint32_t low;
    bool all_count;
    std::uint32_t highest;
    std::vector<char> may_be;

    known_prefixes(const std::vector<key>& of, std::uint32_t from_bit, std::uint32_t bits)
        : prefixes(of), low(from_bit), all_count(from_bit >= bits) {
      constexpr std::uint32_t most_bits = 14;
      const std::uint32_t table_bits = all_count ? 0 : std::min(bits - low, most_bits);
      highest = bits - table_bits;
      may_be.resize(std::size_t{1} << table_bits);
      if (all_count) return;
      for (const key& p : prefixes) may_be[lowest_word(above(p, highest - low))] = 1;
    }
    /// The number of the key's prefix; that of prefixes if it has none.
    std::uint64_t operator()(const key& k) const noexcept {
      if (all_count) return 0;
      if (may_be[lowest_word(above(k, highest))] == 0) return prefixes.size();
      const key high = above(k, low);
      const auto at = std::lower_bound(prefixes.begin(), prefixes.end(), high);
      return at != prefixes.end() && *at == high ? static_cast<std::uint64_t>(at - prefixes.begin()) : prefixes.size();
    }
  };

  /// Calls use(which prefix, key) for the rows of a block whose keys are in question.
  template <class Use>
  void for_rows(const known_prefixes& prefix_of, std::uint64_t begin, std::uint64_t end, Use use) const {
    for (std::uint64_t i = begin; i < end; ++i) {
      const key k = keys_(i);
      const std::uint64_t prefix = prefix_of(k);
      if (prefix < prefix_of.prefixes.size()) use(prefix, k);
    }
  }

  std::uint64_t narrow(splitters& found, const std::vector<key>& prefixes, std::uint32_t known,
                       std::uint32_t digit_bits) {
    const std::uint32_t low = bits_ - known - digit_bits;
    const std::uint64_t bins = std::uint64_t{1} << digit_bits;
    const known_prefixes prefix_of(prefixes, low + digit_bits, bits_);
    std::vector<std::vector<std::uint64_t>> counts(blocks_.blocks);
    blocks_.for_each([&](std::uint64_t block, std::uint64_t begin, std::uint64_t end) {
      std::vector<std::uint64_t> mine(prefixes.size() * bins);
      for_rows(prefix_of, begin, end, [&](std::uint64_t prefix, const key& k) {
        ++mine[prefix * bins + (lowest_word(above(k, low)) & (bins - 1))];
      });
      counts[block] = std::move(mine);
    });
    const std::vector<std::uint64_t> sums = added_up(counts);
    std::uint64_t in_question = 0;
    std::uint64_t prefix = 0;
    std::uint64_t last_bin = ~std::uint64_t{0};
    for (auto& s : found) {
      if (s.is_end) continue;
      while (!(prefixes[prefix] == s.key)) ++prefix;
      std::uint64_t bin = 0;
      for (const std::uint64_t* const of = sums.data() + prefix * bins; s.less + of[bin] <= s.position; ++bin)
        s.less += of[bin];
      s.key = with_digit(s.key, digit_bits, bin);
      s.equal = sums[prefix * bins + bin];
      if (prefix * bins + bin != last_bin) in_question += s.equal;
      last_bin = prefix * bins + bin;
    }
    return in_question;
  }

  /// @param for_keys  calls what it is given for each local key in question
  template <class ForKeys>
  void finish_with_keys(splitters& found, std::uint32_t low, ForKeys for_keys) {
    std::vector<key> mine;
    for_keys([&](const key& k) { mine.push_back(k); });
    const gathered_bytes all = all_gather_parts(state_, std::as_bytes(std::span(mine)));
    std::vector<key> keys(all.data.size() / sizeof(key));
    if (!keys.empty()) std::memcpy(keys.data(), all.data.data(), all.data.size());
    std::sort(keys.begin(), keys.end());
    const auto high_below = [low](const key& k, const key& high) { return above(k, low) < high; };
    for (auto& s : found) {
      if (s.is_end) continue;
      const auto first = low >= bits_ ? keys.begin() : std::lower_bound(keys.begin(), keys.end(), s.key, high_below);
      const auto at = first + static_cast<std::ptrdiff_t>(s.ties_before());
      s.key = *at;
      const auto range = std::equal_range(first, keys.end(), s.key);
      s.less += static_cast<std::uint64_t>(range.first - first);
      s.equal = static_cast<std::uint64_t>(range.second - range.first);
    }
  }

  /// The digits of the first histogram: bins for keys whose bits from `low` on are `alike`, one for lower keys and one
  /// for higher ones.
  struct first_digits {
    std::uint32_t low = 0;
    std::uint32_t shift = 0;  ///< bits below the digit
    key alike{};
    std::uint64_t bins = 1;

    std::uint64_t digit_of(const key& k) const noexcept {
      const key high = above(k, low);
      if (!(high == alike)) return high < alike ? bins : bins + 1;
      return lowest_word(above(k, shift)) & (bins - 1);
    }
  };

  group_state& state_;
  const Keys& keys_;
  row_blocks blocks_;
  first_digits first_;
  std::uint64_t all_;
  std::uint32_t bits_;
};

}  // namespace sheaf::distributed
