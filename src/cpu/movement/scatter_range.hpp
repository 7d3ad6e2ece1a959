#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/parallel.hpp"
#include "primitives/scatter.hpp"

namespace sheaf::cpu {

/// What run gets from plan, in planned::parameters.
enum scatter_parameter : std::size_t { scatter_asks_ahead, scatter_streams };

/// Scatters a part of the input. `index` and `in` begin at the part; positions of bad indices are counted from there.
template <class Layout, class Index>
first_bad scatter_range(Layout layout, const Index* index, const std::byte* in, std::byte* out, std::uint64_t count,
                        std::uint64_t limit, bool asks_ahead, bool streams) {
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  first_bad bad;
  const auto move = [&](std::uint64_t first, std::uint64_t last, auto put) {
    for (std::uint64_t i = first; i < last; ++i) {
      if (index[i] < limit) {
        put(i, out + layout.far(index[i]), in + layout.near(i));
      } else {
        bad.see(i);
      }
    }
  };
  if (streams && are_whole_lines(out, layout.record_bytes, layout.far(1))) {
    move(0, count,
         [&](std::uint64_t, std::byte* to, const std::byte* from) { stream_lines(to, from, layout.record_bytes); });
    finish_streaming();
    return bad;
  }
  const auto copy = [&](std::uint64_t, std::byte* to, const std::byte* from) { layout.copy(to, from); };
  const auto ask_and_copy = [&](std::uint64_t i, std::byte* to, const std::byte* from) {
    prefetch(out, layout.far(index[i + distance]), layout.record_bytes);
    layout.copy(to, from);
  };
  const std::uint64_t ahead_end = asks_ahead && count > distance ? count - distance : 0;
  move(0, ahead_end, ask_and_copy);
  move(ahead_end, count, copy);
  return bad;
}

/// Scatters all of the input in its order: cpu.direct, and what others do with a list that is in order already.
inline void scatter_in_order(const context& ctx, const primitives::scatter_problem& p,
                             const primitives::scatter_buffers& b, bool asks_ahead, bool streams) {
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_chunk(ctx, p, p.count, b.index, core::index_role::scatter_index,
                     [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                       first_bad bad = scatter_range(layout, index + begin, b.in.data + layout.near(begin), b.out.data,
                                                     end - begin, p.index_limit(), asks_ahead, streams);
                       if (bad.found()) bad.position += begin;
                       return bad;
                     });
    });
  });
}

}  // namespace sheaf::cpu
