#include "cuda/movement/memory_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "plan/he2007.hpp"
#include "primitives/multipass.hpp"

namespace sheaf::cuda {
namespace {

using kind = access_pattern::kind;

constexpr double line_bytes = 128;
constexpr double warp_threads = 32;
/// Word moves a second and multiprocessor: 2.5 and 0.85 every clock of 1.98 GHz.
constexpr double words_per_second = 4.9e9;
constexpr double single_records_per_second = 1.7e9;
/// Footprints that L1 holds, and that L2 holds with ease.
constexpr std::uint64_t in_l1 = 32 << 10;
constexpr std::uint64_t in_l2 = 4 << 20;
/// A footprint far past every cache.
constexpr std::uint64_t in_memory = std::uint64_t{1} << 36;

double ramp(double x, double from, double to) { return std::clamp((x - from) / (to - from), 0.0, 1.0); }

// One movement's numbers, and what accesses of its width cost.
class accesses {
 public:
  accesses(const primitives::movement& p, const machine& profile, bool indexed_is_written)
      : m(profile), writes(indexed_is_written) {
    const std::uint64_t bits = p.record_bytes | p.indexed_stride_bytes | 64;
    alignment = static_cast<double>(bits & (~bits + 1));
    count = static_cast<double>(p.count);
    width = static_cast<double>(p.record_bytes);
    footprint = static_cast<double>(p.indexed_bytes());
    indexed_count = std::max(1.0, static_cast<double>(p.indexed_count));
    cache = static_cast<double>(m.cache_bytes);
    sector = static_cast<double>(m.sector_bytes);
    fetch = static_cast<double>(m.fetch_bytes);
    blocks = 1 + std::max(0.0, width - alignment) / fetch;
    near = bus(static_cast<double>(p.sequential_bytes() + p.index_bytes()));
    order = p.pattern;
  }

  double bus(double bytes) const { return bytes / m.copy_bytes_per_second; }

  // Seconds of one access at random inside `window` bytes, all caches warm.
  double cost(double window) const { return writes ? write_cost(width, window) : read_cost(width, window); }

  // The same where `n` accesses begin with cold caches: what is touched for the first time comes from memory. Half of
  // that waiting hides, because neighbours ask for the same fetch.
  double cold_cost(double n, double window) const {
    if (writes) return cost(window);
    const double first = plan::he2007::expected_distinct(n * blocks, window / fetch) / (n * blocks);
    return first / 2 * cost(std::max(window, double{in_memory})) + (1 - first / 2) * cost(window);
  }

  // Bytes that n accesses at random over the far side fetch from memory.
  double fetched_bytes(double n) const {
    const double touched = n * blocks;
    const double distinct = plan::he2007::expected_distinct(touched, footprint / fetch);
    return fetch * touched * plan::he2007::miss_rate(distinct, touched, cache / fetch);
  }

  // One fetch at random from memory, or one write of up to two sectors.
  double miss() const {
    return writes ? m.random_writes(1, static_cast<std::uint64_t>(std::clamp(width, sector, fetch)), in_memory)
                  : m.random_reads(1, m.fetch_bytes, in_memory);
  }

  // Far bytes of a movement that touches each of its records' sectors once, in whatever order.
  double once() const { return bus(footprint < cache ? std::min(count * width, footprint) : count * width); }

  double read_cost(double bytes, double window) const {
    // Below the profile's footprints L1 serves more than one warp's line at a time.
    const double crowd = window < in_l1 ? std::cbrt(in_l1 / std::max(window, 1024.0)) : 1;
    return m.random_reads(1, static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(window)) / crowd;
  }

  // A wide record that begins and ends inside sectors writes those as narrow ones are written: read, changed, written.
  double write_cost(double bytes, double window) const {
    const auto far = static_cast<std::uint64_t>(window);
    if (bytes <= sector || alignment >= sector) return m.random_writes(1, static_cast<std::uint64_t>(bytes), far);
    const double partial = partial_sectors();
    const double whole = std::max(0.0, 1 + (bytes - alignment) / sector - partial);
    return partial * m.random_writes(1, m.sector_bytes / 2, far) +
           whole * sector / fetch * m.random_writes(1, m.fetch_bytes, far);
  }

  // Sectors of a record that it covers in part.
  double partial_sectors() const {
    if (alignment >= sector) return 0;
    return width < sector ? width / sector : 2 * (1 - alignment / sector);
  }

  const machine& m;
  bool writes;
  access_pattern order;
  double count, width, alignment, footprint, indexed_count, cache, sector, fetch, blocks, near;
};

// ---- patterns, one function each; near and issue are the caller's

void at_random(const accesses& a, memory_cost& t) {
  t.access = a.count * a.cold_cost(a.count, a.footprint);
  if (!a.writes) {
    t.far = a.bus(a.fetched_bytes(a.count));
    // A table of the cache's size fits it in the profile, where nothing else passes through.
    const double octaves = std::abs(std::log2(std::max(1.0, a.footprint) / a.cache));
    t.access *= 1 + 0.2 * std::max(0.0, 1 - octaves);
    return;
  }
  // Past L2 the rate has the bytes in it. Partial sectors leave L2 before they are whole once the output takes more
  // than a tenth of it, and come back; narrow records are so many to a sector that this does not show.
  const bool fits = a.footprint < a.cache;
  t.far = fits ? a.bus(a.footprint) : 0;
  t.overlap_exponent = a.footprint > a.cache / 4 ? 1 : 2;
  constexpr double evicted_seconds = 0.75;  // of a write far past L2
  if (fits && a.width > 2) {
    t.access += a.count * a.partial_sectors() * ramp(a.footprint / a.cache, 0.1, 0.25) * evicted_seconds *
                a.m.random_writes(1, 8, in_memory);
  }
}

// The r-th most wanted record is wanted 1/r as often as the first: the c most wanted take log(c) / log(n) of all
// accesses. Each lies alone in its fetch; near side and index push it out of all but a third of L2.
void skewed(const accesses& a, memory_cost& t) {
  const double all = std::log(std::max(2.0, a.indexed_count));
  const double in_first = std::log(std::clamp(64e3 / std::max(a.width, a.sector), 1.0, a.indexed_count)) / all;
  const double in_last = std::log(std::clamp(a.cache / 3 / std::max(a.width, a.fetch), 1.0, a.indexed_count)) / all;
  const double missed = a.count * (1 - in_last);
  constexpr double same_line = 1.5;  // lanes that want one line are served together
  t.access = a.count * (in_first / same_line * a.cost(in_l1) + (in_last - in_first) * a.cost(in_l2)) +
             missed * a.cost(std::max(a.footprint, a.fetch));
  t.far = a.bus(a.fetch * a.blocks * std::min(1.15 * missed, a.count));
  if (a.footprint < a.cache) t.far = std::min(t.far, a.bus(a.footprint));
}

// Sweep after sweep over the whole far side. A sweep that passes L2 fetches all that it spans, in order; what one
// record leaves of a sector is gone when the next sweep comes for it.
void strided(const accesses& a, memory_cost& t) {
  const double step = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width;
  const double span = std::min(a.fetch * a.blocks, step);
  const double sweep = a.indexed_count / static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * span;
  const double sectors = std::min(1.0, step / a.sector);
  const double cached = a.cost(std::min(a.footprint, double{in_l2}));
  if (!a.writes) {
    const double refetched = ramp(sweep / a.cache, 0.6, 1.3);
    t.far = refetched * a.bus(a.count * span) * (a.width >= 16 ? 1.1 : 1.0) + (1 - refetched) * a.once();
    t.access = a.count * sectors * (a.width < 8 ? 0.75 : 1.0) * cached;  // even steps, no two lanes in one bank
    if (step < a.sector) t.access = a.count * a.cost(in_l1) / 2;
    return;
  }
  const double share = std::min(1.0, step / line_bytes);
  const double past = share * ramp((a.width >= 8 ? a.footprint : sweep) / a.cache, 0.15, 0.55);
  const double in_order = a.width < 8          ? 0.5
                          : a.width < 16       ? 0.63
                          : a.width < a.sector ? 0.8
                                               : 1.0;  // of writes at random
  t.access = a.count * (past * in_order * a.cost(std::max(a.footprint, a.cache)) +
                        (1 - past) * sectors * cached * (a.width < 8 ? 0.7 : 1));
  t.far = past > 0.9 ? 0 : a.once();
  t.overlap_exponent = past > 0.3 ? 1 : 2;
}

// Each warp falls into runs, one for each stream it meets; a run costs its sectors. Far streams are fetched piece by
// piece where a run does not fill a fetch, and reading some thousand of them at once costs as much as chance does.
void partitioned(const accesses& a, memory_cost& t) {
  const auto streams = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter));
  const double runs = std::min(warp_threads, streams);
  const double run_bytes = warp_threads / runs * a.width;
  const bool whole = run_bytes >= a.sector;
  const double asked =
      std::min(1.0, runs * std::max(1.0, run_bytes / a.sector) / warp_threads / std::max(1.0, a.width / a.sector));
  t.far = a.once();
  if (!a.writes) {
    if (runs == warp_threads && a.width <= a.fetch) t.far = 0.4 * t.far + 0.6 * a.count * a.width / a.fetch * a.miss();
    const double from_l2 = std::min(1.0, a.width / a.sector);  // the next step's record lies in a sector already here
    t.access = a.count * asked * (from_l2 + 0.55 * (1 - from_l2)) * a.cost(in_l2) * (whole ? 0.5 : 1.0);
    const double many = a.width > 16 ? 0 : ramp(std::log2(streams), 8, 12) / 2;
    t.access = (1 - many) * t.access + many * a.count * a.cost(a.footprint / 4);
    return;
  }
  const bool ragged = a.alignment < a.sector && a.width > a.sector;
  t.access = a.count * (ragged ? 1 : asked) * a.cost(in_l2);
  if (ragged) t.access *= runs < warp_threads ? 1.0 : 2.4;
  if (runs < warp_threads) t.access *= whole ? 0.5 : run_bytes >= a.sector / 2 ? 0.2 : 0.4;
  if (a.width < a.sector && !whole) {
    t.overlap_exponent = 1;
    if (a.width == 16) t.access *= 1.4;
  }
}

// Random inside a window that moves on, in order outside. Wide windows lose the order of memory's pages; writes share
// L2 with the input, and with sectors on their way out.
void clustered(const accesses& a, memory_cost& t) {
  const double window =
      std::min(a.footprint, static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width);
  t.far = a.once();
  if (!a.writes) {
    const double lost = a.width > a.fetch ? 0 : ramp(std::log2(window), 17, 23) / 2;
    t.far = (1 - lost) * t.far + lost * a.count * a.width / a.fetch * a.miss();
    t.access = a.count * a.cost(window) * (a.width >= line_bytes ? 0.85 : 1.0);
    return;
  }
  constexpr double crowded = 5;  // times the window
  const bool ragged = a.alignment < a.sector && a.width > a.sector;
  t.access = a.count * (ragged && window < in_l2 ? a.m.random_writes(1, a.m.fetch_bytes, in_l2)
                                                 : a.cost(std::max(window * crowded, 1e6)));
}

memory_cost memory_cost_of(const accesses& a, const primitives::movement& p) {
  memory_cost t;
  t.near = a.near;
  if (a.writes) t.overlap_exponent = a.width < a.sector ? 2 : 4;
  if (p.record_bytes > 16) {
    t.issue = issue_seconds(a.count * a.width / static_cast<double>(p.word_bytes), a.m);
  }
  switch (p.pattern.shape) {
    case kind::unknown:
    case kind::random: at_random(a, t); break;
    case kind::sequential: t.far = a.once(); break;
    case kind::partitioned: partitioned(a, t); break;
    case kind::clustered: clustered(a, t); break;
    case kind::strided: strided(a, t); break;
    case kind::skewed: skewed(a, t); break;
    case kind::repeated:
      if (p.pattern.parameter > 1) t.access = a.count * a.cost(static_cast<double>(p.pattern.parameter) * a.width);
      break;
  }
  if (t.overlap_exponent == 1) {  // what waits for sectors does not wait for words
    t.access = std::max(t.access, t.issue);
    t.issue = 0;
  }
  return t;
}

// Every pass reads the index and the near sectors that hold one of its records; a gather's are read and written. Far
// accesses fall on one region at a time. What a pass streams through L2 pushes out sectors that are written in parts:
// a part of it counts, and each sector that comes back costs one write far past L2.
memory_cost in_passes(const primitives::movement& p, const machine& m, std::uint64_t passes, bool writes) {
  const accesses a(p, m, writes);
  memory_cost t = memory_cost_of(a, p);
  const auto rounds = static_cast<double>(passes);
  const double index = static_cast<double>(p.index_bytes());
  const auto moved = static_cast<double>(primitives::sequential_bytes_moved(p, passes, m.sector_bytes));
  t.near = a.bus(rounds * index + moved * (writes || passes == 1 ? 1 : 2));
  t.issue += issue_seconds(rounds * a.count, m);
  if (!is_scattered(p.pattern)) {
    t.near *= 1.1;  // tiles are filtered before they move
    return t;
  }
  const double region = a.footprint / rounds;
  constexpr double crowded = 1.35;  // times the region
  t.far = a.once();
  t.near = std::max(t.near, t.issue);
  t.issue = 0;
  t.overlap_exponent = writes ? 1 : 1.05;
  if (!writes) {
    t.access = a.count * a.cost(region > a.cache / 2 ? 2 * region : region);  // what streams by pushes out the rest
    return t;
  }
  const double through = index + moved / rounds;
  const double pushing = a.width < 8 ? 0.1 : a.width < 16 ? 0.38 : 0.75;
  const double returns = (pushing * through + region) / a.cache;
  const double lost = std::clamp(returns * a.partial_sectors(), 0.0, 1.0);
  const double back = p.record_bytes < m.sector_bytes ? m.random_writes(1, 8, in_memory) : a.cost(in_memory);
  t.access = a.count * ((1 - lost) * a.cost(in_l2) + lost * back);
  if (a.partial_sectors() == 0) t.access = a.count * a.cost(region);
  t.access = std::max(t.access, a.count * a.cost(crowded * region));
  return t;
}

}  // namespace

memory_cost gather_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, false}, p); }
memory_cost scatter_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, true}, p); }

memory_cost multipass_gather_cost(const primitives::movement& p, const machine& m, std::uint64_t passes) {
  return in_passes(p, m, passes, false);
}
memory_cost multipass_scatter_cost(const primitives::movement& p, const machine& m, std::uint64_t passes) {
  return in_passes(p, m, passes, true);
}

memory_cost atomic_add_cost(const primitives::movement& p, const machine& m) {
  memory_cost t = scatter_cost(p, m);
  std::uint64_t window = p.indexed_bytes();
  if (p.pattern.shape == kind::clustered) window = std::min(window, p.pattern.parameter * p.indexed_stride_bytes);
  if (p.pattern.shape == kind::repeated) window = std::min(window, p.pattern.parameter * p.indexed_stride_bytes);
  if (p.pattern.shape == kind::sequential || p.pattern.shape == kind::skewed)
    window = std::min<std::uint64_t>(window, in_l2);
  t.access = m.atomic_adds(p.count, p.record_bytes, window);
  return t;
}

memory_cost uncoalesced(memory_cost t, const primitives::movement& p, const machine& m) {
  const double words = static_cast<double>(p.count) * static_cast<double>(p.record_bytes / p.word_bytes);
  const double both = words * (m.random_reads(1, p.word_bytes, in_l2) + m.random_writes(1, p.word_bytes, in_l2));
  t.access = std::max(t.access, both);
  return t;
}

double issue_seconds(double words, const machine& m) { return words / (words_per_second * m.parallelism); }

double single_issue_seconds(double records, const machine& m) {
  return records / (single_records_per_second * m.parallelism);
}

plan::planned to_plan(const memory_cost& t, const machine& m, bool writes) {
  plan::planned plan;
  plan.add("latency", m.launch_seconds + m.access_seconds);
  plan.add_overlapped(
      t.overlap_exponent,
      {{"streamed", t.near + t.far}, {writes ? "random write" : "random read", t.access}, {"issue", t.issue}});
  return plan;
}

}  // namespace sheaf::cuda
