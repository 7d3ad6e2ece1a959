#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/parallel.hpp"
#include "primitives/gather.hpp"

namespace sheaf::cpu {

/// What run gets from plan, in planned::parameters.
enum gather_parameter : std::size_t { gather_asks_ahead, gather_streams };

/// Gathers a part of the output. `index` and `out` begin at the part; positions of bad indices are counted from there.
template <class Layout, class Index>
class gather_range {
 public:
  gather_range(Layout layout, const Index* index, const std::byte* table, std::byte* out, std::uint64_t limit)
      : layout_(layout), index_(index), table_(table), out_(out), limit_(limit) {}

  first_bad run(std::uint64_t count, bool asks_ahead, bool streams) {
    if (streams && is_stageable()) {
      stream_staged(count);
    } else if (streams && are_whole_lines(out_, layout_.record_bytes, layout_.near(1))) {
      stream_records(count);
    } else {
      move(0, count, asks_ahead ? count : 0, out_);
    }
    return bad_;
  }

 private:
  static constexpr std::uint64_t block_records = 64;  // fill whole lines, whatever their width
  static constexpr bool is_dense = !requires(Layout l) { l.indexed_stride_bytes; };

  // Records [first, last) to `to`, which is where record `first` goes; asks ahead for those below ahead_end. Works on
  // copies of the members: bytes that are written could be theirs, as far as the compiler knows.
  void move(std::uint64_t first, std::uint64_t last, std::uint64_t ahead_end, std::byte* to) {
    const Layout layout = layout_;
    const Index* const index = index_;
    const std::byte* const table = table_;
    const std::uint64_t limit = limit_;
    first_bad bad = bad_;
    const auto move_one = [&](std::uint64_t i) {
      std::byte* const record = to + layout.near(i - first);
      if (index[i] < limit) {
        layout.copy(record, table + layout.far(index[i]));
      } else {
        layout.clear(record);
        bad.see(i);
      }
    };
    std::uint64_t i = first;
    if (const std::uint64_t distance = prefetch_distance_of(layout.record_bytes); ahead_end > distance) {
      for (const std::uint64_t end = std::min(last, ahead_end - distance); i < end; ++i) {
        prefetch(table, layout.far(index[i + distance]), layout.record_bytes);
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

  // A block at a time in the first cache, then whole lines past it.
  void stream_staged(std::uint64_t count) {
    if constexpr (is_stageable()) {
      constexpr std::uint64_t width = Layout::record_bytes;
      alignas(line_bytes) std::byte staged[block_records * width];
      const std::uint64_t gap = (line_bytes - reinterpret_cast<std::uintptr_t>(out_) % line_bytes) % line_bytes;
      std::uint64_t i = gap % width == 0 ? std::min(count, gap / width) : count;  // never aligned: never streamed
      move(0, i, count, out_);
      for (; i + block_records <= count; i += block_records) {
        move(i, i + block_records, count, staged);
        stream_lines(out_ + i * width, staged, sizeof staged);
      }
      finish_streaming();
      move(i, count, 0, out_ + i * width);
    }
  }

  // Records that are whole lines need no stage.
  void stream_records(std::uint64_t count) {
    const std::uint64_t distance = prefetch_distance_of(layout_.record_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i + distance < count) prefetch(table_, layout_.far(index_[i + distance]), layout_.record_bytes);
      if (index_[i] < limit_) {
        stream_lines(out_ + layout_.near(i), table_ + layout_.far(index_[i]), layout_.record_bytes);
      } else {
        move(i, i + 1, 0, out_ + layout_.near(i));
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

/// Gathers all of the output in its order: cpu.direct, and what others do with a list that is in order already.
inline void gather_in_order(const context& ctx, const primitives::gather_problem& p,
                            const primitives::gather_buffers& b, bool asks_ahead, bool streams) {
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_chunk(ctx, p, p.count, b.index, core::index_role::gather_index,
                     [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                       gather_range range(layout, index + begin, b.table.data, b.out.data + layout.near(begin),
                                          p.index_limit());
                       first_bad bad = range.run(end - begin, asks_ahead, streams);
                       if (bad.found()) bad.position += begin;
                       return bad;
                     });
    });
  });
}

}  // namespace sheaf::cpu
