#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/checked_parts.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {

/// What plan decides for run.
struct scatter_in_order_decision {
  bool prefetches;  ///< whether lines of the output are prefetched
  bool streams;     ///< whether whole lines are written by streaming stores
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

/// Scatters the whole input in the order of the list, by all threads: cpu.direct, and the way of other variants for a
/// list that is not scattered.
inline void scatter_in_order(const context& ctx, const primitives::scatter_problem& p,
                             const primitives::scatter_buffers& b, bool prefetches, bool streams) {
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_checked_part(ctx, p, p.count, b.index, primitives::scatter_words,
                            [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                              first_bad bad =
                                  scatter_range(layout, index + begin, b.in.data + layout.sequential_offset(begin),
                                                b.out.data, end - begin, p.index_limit(), prefetches, streams);
                              if (bad.found()) bad.position += begin;
                              return bad;
                            });
    });
  });
}

}  // namespace sheaf::cpu
