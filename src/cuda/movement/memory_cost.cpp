#include "cuda/movement/memory_cost.hpp"

#include <cmath>

#include "cuda/device/speeds.hpp"
#include "plan/he2007.hpp"
#include "primitives/movement/multipass.hpp"

namespace sheaf::cuda {
namespace {

using kind = access_pattern::kind;

constexpr double line_bytes = 128;
constexpr double warp_threads = 32;
/// Words that the multiprocessors move in the time in which the L2 cache moves a byte: 2.5 every clock of each.
constexpr double words_issued = 0.0744;
/// Records that they move in that time with one in flight for each thread: 0.85 every clock of each.
constexpr double single_records_issued = 0.0258;
constexpr std::uint64_t in_l1 = 32 << 10;                    ///< a footprint that L1 holds
constexpr std::uint64_t in_l2 = 4 << 20;                     ///< a footprint that L2 holds with ease
constexpr std::uint64_t in_memory = std::uint64_t{1} << 36;  ///< a footprint far past every cache

/// 0 up to `from`, 1 from `to` on, linear in between.
double ramp(double x, double from, double to) { return std::clamp((x - from) / (to - from), 0.0, 1.0); }

// The sizes of one movement, and what accesses of its width cost.
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
    fetches = 1 + std::max(0.0, width - alignment) / fetch;
    sequential_bus = bus(static_cast<double>(p.sequential_bytes() + p.index_bytes()));
    order = p.pattern;
  }

  double bus(double bytes) const { return bytes / m.copy_bytes_per_second; }

  // Seconds of one random access inside `window` bytes, with warm caches.
  double cost(double window) const { return writes ? write_cost(width, window) : read_cost(width, window); }

  // Seconds of one of `n` random accesses that begin with cold caches. The first access to a fetch unit goes to memory.
  // Half of that latency hides, because neighbours ask for the same fetch.
  double cold_cost(double n, double window) const {
    if (writes) return cost(window);
    const double first = plan::he2007::expected_distinct(n * fetches, window / fetch) / (n * fetches);
    return first / 2 * cost(std::max(window, double{in_memory})) + (1 - first / 2) * cost(window);
  }

  // Bytes that n random accesses over the indexed side fetch from memory.
  double fetched_bytes(double n) const {
    const double touched = n * fetches;
    const double distinct = plan::he2007::expected_distinct(touched, footprint / fetch);
    return fetch * touched * plan::he2007::miss_rate(distinct, touched, cache / fetch);
  }

  // Seconds of one random fetch from memory, or of one random write of up to two sectors.
  double miss() const {
    return writes ? m.random_writes(1, static_cast<std::uint64_t>(std::clamp(width, sector, fetch)), in_memory)
                  : m.random_reads(1, m.fetch_bytes, in_memory);
  }

  // Bus time of the indexed side if each record's sectors are touched once, in any order.
  double single_touch_bus() const {
    return bus(footprint < cache ? std::min(count * width, footprint) : count * width);
  }

  double read_cost(double bytes, double window) const {
    // For footprints below those of the profile, L1 serves more than one warp's line at a time.
    const double lines_at_once = window < in_l1 ? std::cbrt(in_l1 / std::max(window, 1024.0)) : 1;
    return m.random_reads(1, static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(window)) / lines_at_once;
  }

  // A wide record that begins or ends inside a sector covers that sector in part. A partial sector costs what a narrow
  // record costs: it is read, changed and written.
  double write_cost(double bytes, double window) const {
    const auto footprint_bytes = static_cast<std::uint64_t>(window);
    if (bytes <= sector || alignment >= sector)
      return m.random_writes(1, static_cast<std::uint64_t>(bytes), footprint_bytes);
    const double partial = partial_sectors();
    const double whole = std::max(0.0, 1 + (bytes - alignment) / sector - partial);
    return partial * m.random_writes(1, m.sector_bytes / 2, footprint_bytes) +
           whole * sector / fetch * m.random_writes(1, m.fetch_bytes, footprint_bytes);
  }

  // Expected number of sectors that a record covers in part.
  double partial_sectors() const {
    if (alignment >= sector) return 0;
    return width < sector ? width / sector : 2 * (1 - alignment / sector);
  }

  const machine& m;
  bool writes;
  access_pattern order;
  double count, width, indexed_count;
  double alignment;             // greatest power of two, up to 64, that divides stride and width
  double footprint;             // bytes of the indexed side
  double cache, sector, fetch;  // bytes of L2, of a sector, of a fetch from memory
  double fetches;               // fetches that one record touches
  double sequential_bus;
};

// ---- one function for each access pattern; the caller sets sequential_bus and issue

void at_random(const accesses& a, memory_cost& t) {
  t.access = a.count * a.cold_cost(a.count, a.footprint);
  if (!a.writes) {
    t.indexed_bus = a.bus(a.fetched_bytes(a.count));
    // In the profile, a table of L2's size fits L2, because nothing else passes through. Here it does not quite.
    const double octaves = std::abs(std::log2(std::max(1.0, a.footprint) / a.cache));
    t.access *= 1 + 0.2 * std::max(0.0, 1 - octaves);
    return;
  }
  // Past L2 the measured rate of writes includes the bytes. Once the output takes more than a tenth of L2, partial
  // sectors are evicted before they are whole, and are fetched again. Records of 1 and 2 bytes are so many to a
  // sector that this does not show.
  const bool fits = a.footprint < a.cache;
  t.indexed_bus = fits ? a.bus(a.footprint) : 0;
  t.overlap_exponent = a.footprint > a.cache / 4 ? 1 : 2;
  constexpr double evicted_writes = 0.75;  // cost of an eviction, in writes far past L2
  if (fits && a.width > 2) {
    t.access += a.count * a.partial_sectors() * ramp(a.footprint / a.cache, 0.1, 0.25) * evicted_writes *
                a.m.random_writes(1, 8, in_memory);
  }
}

// Zipf's distribution: the r-th most frequent record is named 1/r as often as the first, so the c most frequent records
// take log(c) / log(n) of all accesses. Each lies alone in its fetch. The sequential side and the index leave a third
// of L2 to them.
void skewed(const accesses& a, memory_cost& t) {
  const double all = std::log(std::max(2.0, a.indexed_count));
  const double l1_share = std::log(std::clamp(64e3 / std::max(a.width, a.sector), 1.0, a.indexed_count)) / all;
  const double l2_share = std::log(std::clamp(a.cache / 3 / std::max(a.width, a.fetch), 1.0, a.indexed_count)) / all;
  const double missed = a.count * (1 - l2_share);
  constexpr double same_line = 1.5;  // lanes that read one line are served together
  t.access = a.count * (l1_share / same_line * a.cost(in_l1) + (l2_share - l1_share) * a.cost(in_l2)) +
             missed * a.cost(std::max(a.footprint, a.fetch));
  t.indexed_bus = a.bus(a.fetch * a.fetches * std::min(1.15 * missed, a.count));
  if (a.footprint < a.cache) t.indexed_bus = std::min(t.indexed_bus, a.bus(a.footprint));
}

// A strided list sweeps over the whole indexed side again and again. A sweep larger than L2 fetches all that it spans,
// in order. The rest of a sector that one record touched has left L2 when the next sweep reads it.
void strided(const accesses& a, memory_cost& t) {
  const double step = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width;
  const double span = std::min(a.fetch * a.fetches, step);
  const double sweep = a.indexed_count / static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * span;
  const double sectors = std::min(1.0, step / a.sector);
  const double cached = a.cost(std::min(a.footprint, double{in_l2}));
  if (!a.writes) {
    const double refetched = ramp(sweep / a.cache, 0.6, 1.3);
    t.indexed_bus =
        refetched * a.bus(a.count * span) * (a.width >= 16 ? 1.1 : 1.0) + (1 - refetched) * a.single_touch_bus();
    t.access = a.count * sectors * (a.width < 8 ? 0.75 : 1.0) * cached;  // even steps cause no bank conflicts
    if (step < a.sector) t.access = a.count * a.cost(in_l1) / 2;
    return;
  }
  const double share = std::min(1.0, step / line_bytes);
  const double past = share * ramp((a.width >= 8 ? a.footprint : sweep) / a.cache, 0.15, 0.55);
  const double in_order = a.width < 8          ? 0.5
                          : a.width < 16       ? 0.63
                          : a.width < a.sector ? 0.8
                                               : 1.0;  // cost over that of a random write
  t.access = a.count * (past * in_order * a.cost(std::max(a.footprint, a.cache)) +
                        (1 - past) * sectors * cached * (a.width < 8 ? 0.7 : 1));
  t.indexed_bus = past > 0.9 ? 0 : a.single_touch_bus();
  t.overlap_exponent = past > 0.3 ? 1 : 2;
}

// A warp's records fall into runs, one for each stream of the list, and a run costs its sectors. Streams of the indexed
// side are fetched piece by piece where a run does not fill a fetch. Reading some thousand streams at once costs as
// much as reading at random.
void partitioned(const accesses& a, memory_cost& t) {
  const auto streams = static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter));
  const double runs = std::min(warp_threads, streams);
  const double run_bytes = warp_threads / runs * a.width;
  const bool fills_sectors = run_bytes >= a.sector;
  const double requests_per_record =
      std::min(1.0, runs * std::max(1.0, run_bytes / a.sector) / warp_threads / std::max(1.0, a.width / a.sector));
  t.indexed_bus = a.single_touch_bus();
  if (!a.writes) {
    if (runs == warp_threads && a.width <= a.fetch)
      t.indexed_bus = 0.4 * t.indexed_bus + 0.6 * a.count * a.width / a.fetch * a.miss();
    const double from_l2 =
        std::min(1.0, a.width / a.sector);  // the stream's next record lies in a sector that was fetched
    t.access =
        a.count * requests_per_record * (from_l2 + 0.55 * (1 - from_l2)) * a.cost(in_l2) * (fills_sectors ? 0.5 : 1.0);
    const double random_share = a.width > 16 ? 0 : ramp(std::log2(streams), 8, 12) / 2;
    t.access = (1 - random_share) * t.access + random_share * a.count * a.cost(a.footprint / 4);
    return;
  }
  const bool ragged = a.alignment < a.sector && a.width > a.sector;
  t.access = a.count * (ragged ? 1 : requests_per_record) * a.cost(in_l2);
  if (ragged) t.access *= runs < warp_threads ? 1.0 : 2.4;
  if (runs < warp_threads) t.access *= fills_sectors ? 0.5 : run_bytes >= a.sector / 2 ? 0.2 : 0.4;
  if (a.width < a.sector && !fills_sectors) {
    t.overlap_exponent = 1;
    if (a.width == 16) t.access *= 1.4;
  }
}

// A clustered list is random inside a window that moves on in order. A wide window loses the order of memory's pages.
// Writes share L2 with the input and with sectors that are being evicted.
void clustered(const accesses& a, memory_cost& t) {
  const double window =
      std::min(a.footprint, static_cast<double>(std::max<std::uint64_t>(1, a.order.parameter)) * a.width);
  t.indexed_bus = a.single_touch_bus();
  if (!a.writes) {
    const double out_of_order = a.width > a.fetch ? 0 : ramp(std::log2(window), 17, 23) / 2;
    t.indexed_bus = (1 - out_of_order) * t.indexed_bus + out_of_order * a.count * a.width / a.fetch * a.miss();
    t.access = a.count * a.cost(window) * (a.width >= line_bytes ? 0.85 : 1.0);
    return;
  }
  constexpr double shared_l2 = 5;  // L2 that a window takes, in sizes of the window
  const bool ragged = a.alignment < a.sector && a.width > a.sector;
  t.access = a.count * (ragged && window < in_l2 ? a.m.random_writes(1, a.m.fetch_bytes, in_l2)
                                                 : a.cost(std::max(window * shared_l2, 1e6)));
}

memory_cost memory_cost_of(const accesses& a, const primitives::movement& p) {
  memory_cost t;
  t.sequential_bus = a.sequential_bus;
  if (a.writes) t.overlap_exponent = a.width < a.sector ? 2 : 4;
  if (p.record_bytes > 16) {
    t.issue = issue_seconds(a.count * a.width / static_cast<double>(p.word_bytes), a.m);
  }
  switch (p.pattern.shape) {
    case kind::unknown:
    case kind::random: at_random(a, t); break;
    case kind::sequential: t.indexed_bus = a.single_touch_bus(); break;
    case kind::partitioned: partitioned(a, t); break;
    case kind::clustered: clustered(a, t); break;
    case kind::strided: strided(a, t); break;
    case kind::skewed: skewed(a, t); break;
    case kind::repeated:
      if (p.pattern.parameter > 1) t.access = a.count * a.cost(static_cast<double>(p.pattern.parameter) * a.width);
      break;
  }
  if (t.overlap_exponent == 1) {  // requests that wait for sectors hide the issue of words
    t.access = std::max(t.access, t.issue);
    t.issue = 0;
  }
  return t;
}

}  // namespace

memory_cost gather_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, false}, p); }
memory_cost scatter_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, true}, p); }

// Every pass reads the index and the sectors of the sequential side that hold one of its records; a gather also writes
// them. Accesses to the indexed side fall on one region at a time. What a pass streams through L2 evicts partial
// sectors of the region. A share of the streamed bytes does so, and each sector that comes back costs one write far
// past L2.
memory_cost multipass_cost(const primitives::movement& p, const machine& m, std::uint64_t passes, bool writes) {
  const accesses a(p, m, writes);
  memory_cost t = memory_cost_of(a, p);
  const auto pass_count = static_cast<double>(passes);
  const double index = static_cast<double>(p.index_bytes());
  const auto moved = static_cast<double>(primitives::sequential_bytes_moved(p, passes, m.sector_bytes));
  t.sequential_bus = a.bus(pass_count * index + moved * (writes || passes == 1 ? 1 : 2));
  t.issue += issue_seconds(pass_count * a.count, m);
  if (!is_scattered(p.pattern)) {
    t.sequential_bus *= 1.1;  // tiles are filtered before they move
    return t;
  }
  const double region = a.footprint / pass_count;
  constexpr double shared_l2 = 1.35;  // L2 that a region takes, in sizes of the region
  t.indexed_bus = a.single_touch_bus();
  t.sequential_bus = std::max(t.sequential_bus, t.issue);
  t.issue = 0;
  t.overlap_exponent = writes ? 1 : 1.05;
  if (!writes) {
    t.access = a.count * a.cost(region > a.cache / 2 ? 2 * region : region);  // streamed lines evict the rest
    return t;
  }
  const double streamed = index + moved / pass_count;
  const double evicting_share = a.width < 8 ? 0.1 : a.width < 16 ? 0.38 : 0.75;
  const double evictions = (evicting_share * streamed + region) / a.cache;
  const double evicted = std::clamp(evictions * a.partial_sectors(), 0.0, 1.0);
  const double rewrite = p.record_bytes < m.sector_bytes ? m.random_writes(1, 8, in_memory) : a.cost(in_memory);
  t.access = a.count * ((1 - evicted) * a.cost(in_l2) + evicted * rewrite);
  if (a.partial_sectors() == 0) t.access = a.count * a.cost(region);
  t.access = std::max(t.access, a.count * a.cost(shared_l2 * region));
  return t;
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

memory_cost uncoalesced_cost(memory_cost cost, const primitives::movement& p, const machine& m) {
  const double words = static_cast<double>(p.count) * static_cast<double>(p.record_bytes / p.word_bytes);
  const double both = words * (m.random_reads(1, p.word_bytes, in_l2) + m.random_writes(1, p.word_bytes, in_l2));
  cost.access = std::max(cost.access, both);
  return cost;
}

double issue_seconds(double words, const machine& m) { return instruction_seconds(words, words_issued, m); }

double single_issue_seconds(double records, const machine& m) {
  return instruction_seconds(records, single_records_issued, m);
}

plan::planned to_plan(const memory_cost& cost, const machine& m, bool writes) {
  plan::planned plan;
  plan.add("latency", m.launch_seconds + m.access_seconds);
  plan.add_overlapped(cost.overlap_exponent, {{"streamed", cost.sequential_bus + cost.indexed_bus},
                                              {writes ? "random write" : "random read", cost.access},
                                              {"issue", cost.issue}});
  return plan;
}

}  // namespace sheaf::cuda
