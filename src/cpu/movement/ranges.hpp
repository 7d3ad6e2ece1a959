#pragma once

#include <bit>
#include <limits>

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/highest_entry.hpp"

// Loops over one part of a list, in its order. They look at a block of entries first, by vector instructions, and then
// move its records without a check of each.
namespace sheaf::cpu {

/// Entries of a block. Those of a narrow record are many, so that looking at them costs little for each, and those of a
/// wide one so few that the hardware still sees a stream in what lies between two looks.
constexpr std::uint64_t block_entries_of(std::uint64_t record_bytes) noexcept {
  return std::clamp<std::uint64_t>(4096 / record_bytes, 16, 512);
}

/// Records of a list that are moved in one turn of a loop.
constexpr std::uint64_t unrolled_records(std::uint64_t record_bytes) noexcept {
  return record_bytes <= 8 ? 8 : record_bytes <= 64 ? 4 : 2;
}

/// Those of a layout; of one whose width the compiler does not know, few.
template <class Layout>
constexpr std::uint64_t unrolled_of = 2;
template <std::size_t Bytes>
constexpr std::uint64_t unrolled_of<dense_layout<Bytes>> = unrolled_records(Bytes);

/// Two neighbours of a list. Narrow ones are loaded as one word: the loads of a record and of its entry are what loops
/// over data in cache wait for.
struct entry_pair {
  std::uint64_t first;
  std::uint64_t second;
};

template <class Index>
[[gnu::always_inline]] inline entry_pair pair_at(const Index* index) noexcept {
  if constexpr (sizeof(Index) == 4 && std::endian::native == std::endian::little) {
    std::uint64_t word = 0;
    std::memcpy(&word, index, sizeof word);
    return {word & 0xffffffffU, word >> 32};
  } else {
    return {index[0], index[1]};
  }
}

/// Calls move(i, k, entry) for the entry at i + k, for each of [first, last); k is known to the compiler, so that it
/// knows how far apart records of the sequential side lie. Before that it prefetches the record of the entry that lies
/// `distance` further, where i < ahead_end: record i lies at base + layout.indexed_offset(i).
template <std::uint64_t Unrolled, class Layout, class Index, class Move>
[[gnu::always_inline]] inline void for_each_entry(const Index* index, std::uint64_t first, std::uint64_t last,
                                                  std::uint64_t ahead_end, std::uint64_t distance,
                                                  const std::byte* base, Layout layout, Move move) {
  static_assert(Unrolled % 2 == 0);
  std::uint64_t i = first;
  for (const std::uint64_t end = std::min(last, ahead_end); i + Unrolled <= end; i += Unrolled) {
#pragma GCC unroll 8
    for (std::uint64_t k = 0; k < Unrolled; k += 2) {
      const entry_pair ahead = pair_at(index + i + distance + k);
      prefetch_lines(base, layout.indexed_offset(ahead.first), layout.record_bytes, most_prefetched_bytes);
      prefetch_lines(base, layout.indexed_offset(ahead.second), layout.record_bytes, most_prefetched_bytes);
      const entry_pair here = pair_at(index + i + k);
      move(i, k, here.first);
      move(i, k + 1, here.second);
    }
  }
  for (; i + Unrolled <= last; i += Unrolled) {
#pragma GCC unroll 8
    for (std::uint64_t k = 0; k < Unrolled; k += 2) {
      const entry_pair here = pair_at(index + i + k);
      move(i, k, here.first);
      move(i, k + 1, here.second);
    }
  }
  for (; i < last; ++i) move(i, 0, index[i]);
}

/// Whether the records of a block lie so close, as samples say, that prefetching them does not pay: the hardware
/// follows them, or several share a line and the first-level cache holds them all.
template <class Layout, class Index>
[[gnu::always_inline]] inline bool is_close(Layout layout, const Index* index, std::uint64_t count) noexcept {
  constexpr std::uint64_t samples = 8;
  constexpr std::uint64_t most_bytes = std::uint64_t{64} << 10;
  Index lowest = index[count - 1];
  Index highest = lowest;
  for (std::uint64_t s = 0; s < samples; ++s) {
    const Index entry = index[count * s / samples];
    lowest = std::min(lowest, entry);
    highest = std::max(highest, entry);
  }
  const std::uint64_t span = highest - lowest;
  return span < 4 * count || (layout.record_bytes < line_bytes / 2 && layout.indexed_offset(span) < most_bytes);
}

/// Calls good(begin, end, prefetches) for each block of entries that all name a record, and each(begin, end) for one
/// that holds a bad index.
template <class Layout, class Index, class Good, class Each>
[[gnu::always_inline]] inline void for_each_checked_block(Layout layout, const Index* index, std::uint64_t first,
                                                          std::uint64_t last, std::uint64_t limit, bool prefetches,
                                                          Good good, Each each) {
  const std::uint64_t block = block_entries_of(layout.record_bytes);
  constexpr std::uint64_t highest = std::numeric_limits<Index>::max();
  const bool are_all_good = limit >= std::max(highest, highest + 1);  // ~0 stands for no limit
  for (std::uint64_t begin = first; begin < last;) {
    const std::uint64_t end = std::min(last, begin + block);
    if (are_all_good || highest_of(index + begin, end - begin) < limit) {
      good(begin, end, prefetches && !is_close(layout, index + begin, end - begin));
    } else {
      each(begin, end);
    }
    begin = end;
  }
}

/// Gathers a part of the output in the order of the list. `index` and `out` begin at the part, and the position of a
/// bad index is counted from there.
template <class Layout, class Index>
class gather_range {
 public:
  gather_range(Layout layout, const Index* index, const std::byte* table, std::byte* out, std::uint64_t limit)
      : layout_(layout), index_(index), table_(table), out_(out), limit_(limit) {}

  first_bad run(std::uint64_t count, bool prefetches, bool streams) {
    if (streams && is_stageable()) {
      stream_staged(count);
    } else if (streams && are_whole_lines(out_, layout_.record_bytes, layout_.sequential_offset(1))) {
      stream_records(count);
    } else {
      move(0, count, prefetches ? count : 0, out_);
    }
    return bad_;
  }

 private:
  static constexpr std::uint64_t block_records = 64;  // whole cache lines at every width
  static constexpr bool is_dense = !requires(Layout l) { l.indexed_stride_bytes; };

  // Gathers records [first, last) to `to`, which receives record `first`, and prefetches the records before
  // prefetch_end. The loops work on copies of the members, since the compiler must assume that stores of bytes change
  // the members themselves.
  void move(std::uint64_t first, std::uint64_t last, std::uint64_t prefetch_end, std::byte* to) {
    const Layout layout = layout_;
    const Index* const index = index_;
    const std::byte* const table = table_;
    const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
    for_each_checked_block(
        layout, index, first, last, limit_, prefetch_end > distance,
        [=](std::uint64_t begin, std::uint64_t end, bool prefetches) {
          for_each_entry<unrolled_of<Layout>>(
              index, begin, end, prefetches ? prefetch_end - distance : 0, distance, table, layout,
              [=](std::uint64_t i, std::uint64_t k, std::uint64_t entry) {
                layout.copy(to + layout.sequential_offset(i - first) + layout.sequential_offset(k),
                            table + layout.indexed_offset(entry));
              });
        },
        [&](std::uint64_t begin, std::uint64_t end) {
          move_each(begin, end, to + layout.sequential_offset(begin - first));
        });
  }

  void move_each(std::uint64_t first, std::uint64_t last, std::byte* to) {
    for (std::uint64_t i = first; i < last; ++i) {
      std::byte* const record = to + layout_.sequential_offset(i - first);
      if (index_[i] < limit_) {
        layout_.copy(record, table_ + layout_.indexed_offset(index_[i]));
      } else {
        layout_.clear(record);
        bad_.note(i);
      }
    }
  }

  static constexpr bool is_stageable() noexcept {
    if constexpr (is_dense) {
      return Layout::record_bytes < line_bytes;
    } else {
      return false;
    }
  }

  // Gathers a block of records into the first-level cache, then streams it to the output in whole lines.
  void stream_staged(std::uint64_t count) {
    if constexpr (is_stageable()) {
      constexpr std::uint64_t width = Layout::record_bytes;
      alignas(line_bytes) std::byte staged[block_records * width];
      const std::uint64_t gap = (line_bytes - reinterpret_cast<std::uintptr_t>(out_) % line_bytes) % line_bytes;
      // Records that reach no line boundary are never streamed.
      std::uint64_t i = gap % width == 0 ? std::min(count, gap / width) : count;
      move(0, i, count, out_);
      for (; i + block_records <= count; i += block_records) {
        move(i, i + block_records, count, staged);
        stream_lines(out_ + i * width, staged, sizeof staged);
      }
      finish_streaming();
      move(i, count, 0, out_ + i * width);
    }
  }

  // Streams records that are whole lines straight from the table. Blocks that are scattered have all lines of a record
  // prefetched; with others the hardware follows.
  void stream_records(std::uint64_t count) {
    const std::uint64_t distance = prefetch_distance_of(layout_.record_bytes);
    const std::uint64_t block = block_entries_of(layout_.record_bytes);
    for (std::uint64_t begin = 0; begin < count; begin += block) {
      const std::uint64_t end = std::min(count, begin + block);
      const std::uint64_t ahead_bytes =
          is_close(layout_, index_ + begin, end - begin) ? 2 * line_bytes : most_streamed_ahead;
      for (std::uint64_t i = begin; i < end; ++i) {
        if (i + distance < count) {
          const std::uint64_t ahead = layout_.indexed_offset(index_[i + distance]);
          prefetch_lines(table_, ahead, layout_.record_bytes, ahead_bytes);
        }
        std::byte* const to = out_ + layout_.sequential_offset(i);
        if (index_[i] < limit_) {
          layout_.stream(to, table_ + layout_.indexed_offset(index_[i]));
        } else {
          move(i, i + 1, 0, to);
        }
      }
    }
    finish_streaming();
  }

  Layout layout_;
  const Index* index_;
  const std::byte* table_;
  std::byte* out_;
  std::uint64_t limit_;
  first_bad bad_;
};

/// Scatters a part of the input in the order of the list. `index` and `in` begin at the part, and the position of a bad
/// index is counted from there.
template <class Layout, class Index>
first_bad scatter_range(Layout layout, const Index* index, const std::byte* in, std::byte* out, std::uint64_t count,
                        std::uint64_t limit, bool prefetches, bool streams) {
  first_bad bad;
  const auto move_each = [&](std::uint64_t first, std::uint64_t last, auto put) {
    for (std::uint64_t i = first; i < last; ++i) {
      if (index[i] < limit) {
        put(out + layout.indexed_offset(index[i]), in + layout.sequential_offset(i));
      } else {
        bad.note(i);
      }
    }
  };
  if (streams && are_whole_lines(out, layout.record_bytes, layout.indexed_offset(1))) {
    move_each(0, count, [&](std::byte* to, const std::byte* from) { layout.stream(to, from); });
    finish_streaming();
    return bad;
  }
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  const bool looks_ahead = prefetches && count > distance;
  for_each_checked_block(
      layout, index, 0, count, limit, looks_ahead,
      [=](std::uint64_t first, std::uint64_t last, bool is_scattered) {
        for_each_entry<unrolled_of<Layout>>(index, first, last, is_scattered ? count - distance : 0, distance, out,
                                            layout, [=](std::uint64_t i, std::uint64_t k, std::uint64_t entry) {
                                              layout.copy(
                                                  out + layout.indexed_offset(entry),
                                                  in + layout.sequential_offset(i) + layout.sequential_offset(k));
                                            });
      },
      [&](std::uint64_t first, std::uint64_t last) {
        move_each(first, last, [&](std::byte* to, const std::byte* from) { layout.copy(to, from); });
      });
  return bad;
}

}  // namespace sheaf::cpu
