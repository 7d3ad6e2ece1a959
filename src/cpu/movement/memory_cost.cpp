#include "cpu/movement/memory_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/threads/cache_hints.hpp"
#include "plan/he2007.hpp"

namespace sheaf::cpu {
namespace {

using kind = access_pattern::kind;

constexpr std::uint64_t in_l1 = 32 << 10;
constexpr std::uint64_t narrow = 4;  ///< bytes below which many records share a line
constexpr double line = line_bytes;
/// How far work that fits the second cache overlaps with what streams past it.
constexpr double overlap_in_cache = 2;

/// Streams side by side that the second cache holds with what is asked for ahead of them.
constexpr std::uint64_t few_streams = 1024;

class accesses {
 public:
  accesses(const primitives::movement& p, const machine& profile, bool indexed_is_written)
      : m(profile), writes(indexed_is_written), order(p.pattern) {
    count = static_cast<double>(p.count);
    width = static_cast<double>(p.record_bytes);
    indexed_count = std::max(1.0, static_cast<double>(p.indexed_count));
    footprint = static_cast<double>(p.indexed_bytes());
    // A cache line is read before it is written in parts; what is past the last cache is written without.
    const bool past_cache = p.sequential_bytes() > m.cache_bytes;
    const double sequential_bytes = static_cast<double>(p.sequential_bytes()) * (writes || past_cache ? 1 : 2);
    all_bytes = p.sequential_bytes() + p.index_bytes() + p.indexed_bytes();
    near = streamed(sequential_bytes + static_cast<double>(p.index_bytes()));
    own_cache = static_cast<double>(m.cache_levels.size() > 1 ? m.cache_levels[1] : std::uint64_t{1} << 20);
  }

  // In order, from memory: whoever calls has not just touched the same arrays.
  double streamed(double bytes) const { return bytes / m.copy_bytes_per_second; }
  // In order, again and again over `window` bytes.
  double swept(double bytes, double window) const {
    return m.streamed(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(window));
  }

  double read(double window) const {
    return m.random_reads(1, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(window));
  }
  double write(double window) const {
    return m.random_writes(1, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(window));
  }
  double cost(double window) const { return writes ? write(window) : read(window); }

  // The far side once through. Written lines are read first.
  double once() const { return streamed(std::min(count * width, footprint) * (writes ? 2 : 1)); }

  const machine& m;
  bool writes;
  access_pattern order;
  std::uint64_t all_bytes = 0;
  double count = 0, width = 0, indexed_count = 0, footprint = 0, near = 0, own_cache = 0;
};

void at_random(const accesses& a, memory_cost& t) {
  t.access = a.count * a.cost(a.footprint);
  // Below the last cache the profile's lines are warm, a caller's are not.
  if (a.footprint < static_cast<double>(a.m.cache_bytes) / 4) t.far = a.streamed(std::min(a.count * line, a.footprint));
}

// The c most wanted of n records take log(c) / log(n) of the accesses; each lies alone on its line.
void skewed(const accesses& a, memory_cost& t) {
  const double all = std::log(std::max(2.0, a.indexed_count));
  const double held = std::log(std::clamp(a.own_cache / 4 / std::max(a.width, line), 1.0, a.indexed_count)) / all;
  const double sequential_cost = a.read(a.own_cache / 2);
  t.access = a.count * (held * sequential_cost + (1 - held) * std::max(sequential_cost, a.cost(a.footprint)));
}

void strided(const accesses& a, memory_cost& t) {
  const double step = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width;
  const double span = std::min(step, std::max(line, a.width));
  t.far = a.swept(a.count * span * (a.writes ? 2 : 1), a.footprint);
  t.access = a.count * a.read(in_l1);
}

// Some streams stay in the first cache. Some hundred fall on the same few sets of the first two where their distance is
// a power of two; some thousand cost more than chance does, as none of their lines is there for the second record.
void partitioned(const accesses& a, memory_cost& t) {
  const auto streams = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter));
  if (streams <= 32) {
    t.far = a.once();
    t.access = a.count * a.read(in_l1);
    t.overlap_exponent = overlap_in_cache;
  } else if (streams <= 1024) {
    t.access = a.count * a.cost(a.writes ? 16e6 : std::min(a.footprint, 4e6));
  } else {
    t.access = a.count * a.cost(2 * a.footprint);
  }
}

// A window that the own cache holds costs what its first touch costs. Threads write windows of their own: the profile's
// small footprints are written by all at once.
void clustered(const accesses& a, memory_cost& t) {
  const double window =
      std::min(a.footprint, static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width);
  if (window >= a.footprint) return at_random(a, t);
  const bool fits = window < a.own_cache / 2;
  t.far = a.once();
  t.access = a.count * (fits || !a.writes ? a.read(window) : a.write(std::max(window, a.own_cache)) / 2);
  if (fits) t.overlap_exponent = overlap_in_cache;
}

memory_cost memory_cost_of(const accesses& a) {
  memory_cost t;
  t.near = a.near;
  switch (a.order.shape) {
    case kind::unknown:
    case kind::random: at_random(a, t); break;
    case kind::partitioned: partitioned(a, t); break;
    case kind::clustered: clustered(a, t); break;
    case kind::strided: strided(a, t); break;
    case kind::skewed: skewed(a, t); break;
    case kind::sequential:
      t.far = a.once();
      t.access = a.count * a.read(in_l1);
      t.overlap_exponent = overlap_in_cache;
      break;
    case kind::repeated: {
      const double held = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width;
      t.access = a.count * a.read(held);
      t.overlap_exponent = held < a.own_cache ? overlap_in_cache : 1;
      break;
    }
  }
  return t;
}

}  // namespace

memory_cost reads_of(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, false}); }
memory_cost writes_of(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, true}); }

plan::planned priced(const memory_cost& t, const machine& m, bool writes) {
  plan::planned plan;
  plan.add("latency", m.launch_seconds + m.step_seconds);
  plan.add_overlapped(t.overlap_exponent,
                      {{"streamed", t.near + t.far}, {writes ? "random write" : "random read", t.access}});
  return plan;
}

void add_sharing(const primitives::movement& p, const machine& m, plan::planned& plan) {
  constexpr std::uint64_t shared_span = 4 * line_bytes;  // lines come with their neighbours
  const double seconds_for_a_line = p.record_bytes < 2 * narrow ? 2e-9 : 8e-9;
  const std::uint64_t caches = m.cache_levels.size() > 1 ? m.cache_levels[1] * m.parallelism : std::uint64_t{2} << 20;
  if (p.pattern.shape != kind::strided || m.parallelism == 1 || p.indexed_bytes() > caches) return;
  if (p.record_bytes < narrow || p.pattern.parameter * p.indexed_stride_bytes > shared_span) return;
  plan.add("shared lines", static_cast<double>(p.count) * seconds_for_a_line / m.parallelism);
}

void add_lines_read(const primitives::movement& p, const machine& m, bool writes, plan::planned& plan) {
  const bool in_order = p.pattern.shape == kind::sequential || p.pattern.shape == kind::repeated;
  if (in_order || p.sequential_bytes() <= m.cache_bytes || p.record_bytes % line_bytes != 0) return;
  const std::uint64_t written = writes ? std::min(p.indexed_bytes(), p.sequential_bytes()) : p.sequential_bytes();
  plan.add("lines read to be written", static_cast<double>(written) / m.copy_bytes_per_second);
}

bool reads_ahead(const primitives::movement& p) noexcept {
  const bool narrower_than_line = p.record_bytes < line_bytes;
  std::uint64_t from = p.record_bytes < narrow ? prefetch_from_bytes : prefetch_from_bytes / 4;
  switch (p.pattern.shape) {
    case kind::partitioned:
      if (p.pattern.parameter <= few_streams && narrower_than_line) return false;
      from = prefetch_from_bytes;
      break;
    case kind::strided:
      if (!narrower_than_line) return false;
      from = prefetch_from_bytes;
      break;
    case kind::skewed: from = prefetch_from_bytes / 8; break;
    default: break;
  }
  return p.indexed_bytes() > from;
}

bool writes_ahead(const primitives::movement& p) noexcept {
  constexpr std::uint64_t most_streamed_bytes = 32 * prefetch_from_bytes;
  constexpr std::uint64_t seen_streams = 32;  // the machine follows them by itself
  const bool single = p.record_bytes == 1;
  switch (p.pattern.shape) {
    case kind::partitioned:
      if (p.record_bytes >= line_bytes) break;
      if (p.pattern.parameter <= seen_streams) return false;
      if (p.pattern.parameter > few_streams && (single || p.indexed_bytes() > most_streamed_bytes)) return false;
      break;
    case kind::sequential:
      if (single) return false;
      break;
    case kind::strided:
    case kind::clustered: return p.indexed_bytes() > in_l1;
    default: break;
  }
  return p.indexed_bytes() > (single ? prefetch_from_bytes / 4 : in_l1);
}

}  // namespace sheaf::cpu
