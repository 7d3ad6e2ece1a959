#pragma once

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/scatter.hpp"

// Movements in the order of the list: cpu.direct, and the way of other variants for a list that is not scattered.
namespace sheaf::cpu {

/// What plan decides for run.
struct in_order_decision {
  bool prefetches;  ///< whether records of the indexed side are prefetched
  bool streams;     ///< whether the output is written by streaming stores; that of a scatter where records are lines

  void tell(plan::told& to) const { to.add("prefetches", prefetches).add("streams", streams); }
};

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
  // prefetch_end. The loop works on copies of the members, since the compiler must assume that stores of bytes change
  // the members themselves.
  void move(std::uint64_t first, std::uint64_t last, std::uint64_t prefetch_end, std::byte* to) {
    const Layout layout = layout_;
    const Index* const index = index_;
    const std::byte* const table = table_;
    const std::uint64_t limit = limit_;
    first_bad bad = bad_;
    const auto move_one = [&](std::uint64_t i) {
      std::byte* const record = to + layout.sequential_offset(i - first);
      if (index[i] < limit) {
        layout.copy(record, table + layout.indexed_offset(index[i]));
      } else {
        layout.clear(record);
        bad.note(i);
      }
    };
    std::uint64_t i = first;
    if (const std::uint64_t distance = prefetch_distance_of(layout.record_bytes); prefetch_end > distance) {
      for (const std::uint64_t end = std::min(last, prefetch_end - distance); i < end; ++i) {
        prefetch(table, layout.indexed_offset(index[i + distance]), layout.record_bytes);
        move_one(i);
      }
    }
    for (; i < last; ++i) move_one(i);
    bad_ = bad;
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

  // Streams records that are whole lines straight from the table.
  void stream_records(std::uint64_t count) {
    const std::uint64_t distance = prefetch_distance_of(layout_.record_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) prefetch(table_, layout_.indexed_offset(index_[i + distance]), layout_.record_bytes);
      if (index_[i] < limit_) {
        stream_lines(out_ + layout_.sequential_offset(i), table_ + layout_.indexed_offset(index_[i]),
                     layout_.record_bytes);
      } else {
        move(i, i + 1, 0, out_ + layout_.sequential_offset(i));
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
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  first_bad bad;
  const auto move = [&](std::uint64_t first, std::uint64_t last, auto put) {
    for (std::uint64_t i = first; i < last; ++i) {
      if (index[i] < limit) {
        put(i, out + layout.indexed_offset(index[i]), in + layout.sequential_offset(i));
      } else {
        bad.note(i);
      }
    }
  };
  if (streams && are_whole_lines(out, layout.record_bytes, layout.indexed_offset(1))) {
    move(0, count,
         [&](std::uint64_t, std::byte* to, const std::byte* from) { stream_lines(to, from, layout.record_bytes); });
    finish_streaming();
    return bad;
  }
  const auto copy = [&](std::uint64_t, std::byte* to, const std::byte* from) { layout.copy(to, from); };
  const auto prefetch_and_copy = [&](std::uint64_t i, std::byte* to, const std::byte* from) {
    prefetch(out, layout.indexed_offset(index[i + distance]), layout.record_bytes);
    layout.copy(to, from);
  };
  const std::uint64_t prefetch_end = prefetches && count > distance ? count - distance : 0;
  move(0, prefetch_end, prefetch_and_copy);
  move(prefetch_end, count, copy);
  return bad;
}

/// Gathers the whole output by all threads.
inline void gather_in_order(const context& ctx, const primitives::gather_problem& problem,
                            const primitives::gather_buffers& b, in_order_decision how) {
  move_parts(ctx, problem, problem.count, b.index, primitives::gather_wording,
             [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               gather_range range(layout, index + begin, b.table.data, b.out.data + layout.sequential_offset(begin),
                                  problem.index_limit());
               return range.run(end - begin, how.prefetches, how.streams).behind(begin);
             });
}

/// Scatters the whole input by all threads.
inline void scatter_in_order(const context& ctx, const primitives::scatter_problem& problem,
                             const primitives::scatter_buffers& b, in_order_decision how) {
  move_parts(ctx, problem, problem.count, b.index, primitives::scatter_wording,
             [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t end, std::uint64_t) {
               return scatter_range(layout, index + begin, b.in.data + layout.sequential_offset(begin), b.out.data,
                                    end - begin, problem.index_limit(), how.prefetches, how.streams)
                   .behind(begin);
             });
}

}  // namespace sheaf::cpu
