#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/context_state.hpp"
#include "cpu/threads/huge_pages.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"
#include "plan/variant.hpp"
#include "primitives/movement.hpp"

// Indices by window of the far side, with what belongs to them: one pass of a split by the top bits of the index. A
// window fits the second cache, so that what happens inside it costs no memory access. Order inside a window is the
// caller's, and windows are as large as their indices are many, so no list is too skewed.
namespace sheaf::cpu {

/// What run gets from plan, in planned::parameters.
enum cluster_parameter : std::size_t { cluster_shift, cluster_parts, cluster_streams };

/// How the far side is cut, and where the parts of the scratch begin, in bytes.
struct cluster_room {
  std::uint64_t windows;
  std::uint64_t starts;  ///< a bucket_table
  std::uint64_t next;    ///< the same size
  std::uint64_t bad;     ///< first bad position of each part
  std::uint64_t lines;   ///< write-combining buckets of each part: of indices, then of values
  std::uint64_t local;   ///< indices from the beginning of their window on, 4 bytes each
  std::uint64_t values;
  std::uint64_t bytes;

  cluster_room(const primitives::movement& p, const plan::planned& plan, std::uint64_t value_bytes) noexcept
      : windows(p.indexed_count == 0 ? 1 : ((p.indexed_count - 1) >> plan.parameters[cluster_shift]) + 1) {
    const auto aligned = [](std::uint64_t b) { return (b + bucket_bytes - 1) / bucket_bytes * bucket_bytes; };
    const std::uint64_t parts = plan.parameters[cluster_parts];
    const std::uint64_t table = aligned(bucket_table::bytes(parts, windows));
    starts = 0;
    next = table;
    bad = 2 * table;
    lines = bad + aligned(parts * sizeof(std::uint64_t));
    local = lines + 2 * parts * windows * bucket_bytes;
    values = local + aligned(p.count * sizeof(std::uint32_t));
    bytes = values + aligned(p.count * value_bytes);
  }
};

/// Sets the parameters, for windows of at most `window_records`.
inline void plan_clusters(const primitives::movement& p, const machine& m, std::uint64_t window_records,
                          plan::planned& plan) {
  constexpr std::uint64_t most_windows = 4096;
  auto shift = static_cast<std::uint64_t>(std::bit_width(std::max<std::uint64_t>(1, window_records))) - 1;
  while (p.indexed_count > 0 && (p.indexed_count - 1) >> shift >= most_windows) ++shift;
  const std::uint64_t windows = p.indexed_count == 0 ? 1 : ((p.indexed_count - 1) >> shift) + 1;
  plan.parameters[cluster_shift] = shift;
  plan.parameters[cluster_parts] = std::min(parts_worth(2 * p.sequential_bytes() + p.index_bytes(), m.parallelism),
                                            std::max<std::uint64_t>(1, p.count / windows));
  plan.parameters[cluster_streams] = p.sequential_bytes() + p.index_bytes() > m.cache_bytes;
}

/// Records of a window that fits half of the second cache, which is each thread's own.
inline std::uint64_t cached_window_records(const primitives::movement& p, const machine& m) noexcept {
  const std::uint64_t cache = m.cache_levels.size() > 1 ? m.cache_levels[1] : std::uint64_t{1} << 20;
  return std::max<std::uint64_t>(1, cache / 2 / p.indexed_stride_bytes);
}

/// Prices a clustered movement that streams so many bytes beside its accesses inside the windows, on scratch that the
/// context has kept: the first call takes 1.2 to 2.3 times as long, 2^26 records of 8 bytes, Xeon of family 6 model
/// 207.
inline void price_clusters(const primitives::movement& p, const machine& m, std::uint64_t streamed_bytes,
                           std::uint64_t value_bytes, bool writes, plan::planned& plan) {
  const std::uint64_t window_bytes = p.indexed_stride_bytes << plan.parameters[cluster_shift];
  plan.add("latency", m.launch_seconds + 3 * m.step_seconds);
  plan.add("streamed", static_cast<double>(streamed_bytes) / m.copy_bytes_per_second);
  plan.add(writes ? "random write" : "random read", writes ? m.random_writes(p.count, value_bytes, window_bytes)
                                                           : m.random_reads(p.count, value_bytes, window_bytes));
  // Instructions for a record, which a gather's three phases have more of; beside wide records they do not show.
  constexpr std::uint64_t wide_bytes = 16;
  const double gathers = value_bytes < 8 ? 3.6e-9 : 4.6e-9;
  const double seconds_each = !writes ? gathers : value_bytes < wide_bytes ? 1.5e-9 : 0;
  plan.add("ordering", static_cast<double>(p.count) * seconds_each / m.parallelism);
}

/// The indices of one list by window.
template <class Index>
class clusters {
 public:
  clusters(const context& ctx, const primitives::movement& p, const plan::planned& plan, std::uint64_t value_bytes,
           const Index* index)
      : room_(p, plan, value_bytes),
        scratch_(ctx.state(), room_.bytes),
        index_(index),
        count_(p.count),
        limit_(p.indexed_count),
        shift_(plan.parameters[cluster_shift]),
        parts_(plan.parameters[cluster_parts]),
        streams_(plan.parameters[cluster_streams] != 0),
        starts_(at<std::uint64_t>(room_.starts), parts_, room_.windows) {
    ask_for_huge_pages(scratch_.as<void>(), room_.bytes);
  }

  /// Orders the indices, and with each value_of(position) where a Value is not void. Returns the first bad index.
  template <class Value, class ValueOf>
  first_bad order(ValueOf value_of) {
    const first_bad bad = count();
    good_ = starts_.scan();
    for_each_part(parts_, [&](std::uint64_t part) { move<Value>(part, value_of); });
    return bad;
  }

  std::uint64_t windows() const noexcept { return room_.windows; }
  std::uint64_t parts() const noexcept { return parts_; }
  std::uint64_t window_begin(std::uint64_t window) const noexcept { return window << shift_; }
  std::uint64_t window_of(std::uint64_t index) const noexcept { return index >> shift_; }
  /// Where a window's entries begin among the ordered ones.
  std::uint64_t begin(std::uint64_t window) const noexcept {
    return window == room_.windows ? good_ : starts_.of(0)[window];
  }
  const std::uint32_t* local() const noexcept { return at<std::uint32_t>(room_.local); }
  template <class Value>
  Value* values() const noexcept {
    return at<Value>(room_.values);
  }
  /// A part's counters, set to where its entries of each window begin.
  std::uint64_t* next(std::uint64_t part) const noexcept {
    std::uint64_t* const next = at<std::uint64_t>(room_.next) + part * room_.windows;
    std::copy_n(starts_.of(part), room_.windows, next);
    return next;
  }

 private:
  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch_.as<std::byte>() + offset);
  }

  first_bad count() {
    auto* const bad = at<std::uint64_t>(room_.bad);
    for_each_part(parts_, [&](std::uint64_t part) {
      std::uint64_t* const counts = starts_.of(part);
      std::fill_n(counts, room_.windows, std::uint64_t{0});
      first_bad first;
      const Index* const index = index_;
      const std::uint64_t limit = limit_;
      const std::uint64_t shift = shift_;
      const std::uint64_t end = part_begin(count_, parts_, part + 1);
      for (std::uint64_t i = part_begin(count_, parts_, part); i < end; ++i) {
        if (index[i] < limit) {
          ++counts[index[i] >> shift];
        } else {
          first.see(i);
        }
      }
      bad[part] = first.position;
    });
    first_bad all;
    for (std::uint64_t part = 0; part < parts_; ++part) all.see(bad[part]);
    return all;
  }

  template <class Value, class ValueOf>
  void move(std::uint64_t part, ValueOf value_of) const {
    constexpr bool has_values = !std::is_void_v<Value>;
    using value = std::conditional_t<has_values, Value, std::uint32_t>;
    std::uint64_t* const next = this->next(part);
    std::byte* const lines = at<std::byte>(room_.lines) + 2 * part * room_.windows * bucket_bytes;
    line_buckets<std::uint32_t> indices(lines, next, starts_.of(part), at<void>(room_.local), streams_);
    line_buckets<value> values(lines + room_.windows * bucket_bytes, next, starts_.of(part), at<void>(room_.values),
                               streams_);
    const Index* const index = index_;
    const std::uint64_t limit = limit_;
    const std::uint64_t shift = shift_;
    const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
    const std::uint64_t end = part_begin(count_, parts_, part + 1);
    for (std::uint64_t i = part_begin(count_, parts_, part); i < end; ++i) {
      const std::uint64_t far = index[i];
      if (far >= limit) continue;
      const std::uint64_t window = far >> shift;
      const std::uint64_t to = next[window]++;
      indices.put_at(window, to, static_cast<std::uint32_t>(far & mask));
      if constexpr (has_values) values.put_at(window, to, value_of(i));
    }
    indices.finish(room_.windows);
    if constexpr (has_values) values.finish(room_.windows);
  }

  cluster_room room_;
  core::scratch scratch_;
  const Index* index_;
  std::uint64_t count_;
  std::uint64_t limit_;
  std::uint64_t shift_;
  std::uint64_t parts_;
  bool streams_;
  bucket_table starts_;
  std::uint64_t good_ = 0;
};

}  // namespace sheaf::cpu
