#include "cuda/movement/memory_cost.hpp"

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
  accesses(const primitives::movement& problem, const machine& profile, bool indexed_is_written)
      : rates(profile), writes(indexed_is_written) {
    const std::uint64_t bits = problem.record_bytes | problem.indexed_stride_bytes | 64;
    alignment = static_cast<double>(bits & (~bits + 1));
    count = static_cast<double>(problem.count);
    width = static_cast<double>(problem.record_bytes);
    footprint = static_cast<double>(problem.indexed_bytes());
    indexed_count = std::max(1.0, static_cast<double>(problem.indexed_count));
    cache = static_cast<double>(rates.cache_bytes);
    sector = static_cast<double>(rates.sector_bytes);
    fetch = static_cast<double>(rates.fetch_bytes);
    fetches = 1 + std::max(0.0, width - alignment) / fetch;
    sequential_bus = bus(static_cast<double>(problem.sequential_bytes() + problem.index_bytes()));
    order = problem.pattern;
  }

  double bus(double bytes) const { return bytes / rates.copy_bytes_per_second; }

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
    return writes ? rates.random_writes(1, static_cast<std::uint64_t>(std::clamp(width, sector, fetch)), in_memory)
                  : rates.random_reads(1, rates.fetch_bytes, in_memory);
  }

  // Bus time of the indexed side if each record's sectors are touched once, in any order.
  double single_touch_bus() const {
    return bus(footprint < cache ? std::min(count * width, footprint) : count * width);
  }

  double read_cost(double bytes, double window) const {
    // For footprints below those of the profile, L1 serves more than one warp's line at a time.
    const double lines_at_once = window < in_l1 ? std::cbrt(in_l1 / std::max(window, 1024.0)) : 1;
    return rates.random_reads(1, static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(window)) / lines_at_once;
  }

  // A wide record that begins or ends inside a sector covers that sector in part. A partial sector costs what a narrow
  // record costs: it is read, changed and written.
  double write_cost(double bytes, double window) const {
    const auto footprint_bytes = static_cast<std::uint64_t>(window);
    if (bytes <= sector || alignment >= sector)
      return rates.random_writes(1, static_cast<std::uint64_t>(bytes), footprint_bytes);
    const double partial = partial_sectors();
    const double whole = std::max(0.0, 1 + (bytes - alignment) / sector - partial);
    return partial * rates.random_writes(1, rates.sector_bytes / 2, footprint_bytes) +
           whole * sector / fetch * rates.random_writes(1, rates.fetch_bytes, footprint_bytes);
  }

  // Expected number of sectors that a record covers in part.
  double partial_sectors() const {
    if (alignment >= sector) return 0;
    return width < sector ? width / sector : 2 * (1 - alignment / sector);
  }

  const machine& rates;
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

void at_random(const accesses& accesses, memory_cost& cost) {
  cost.access = accesses.count * accesses.cold_cost(accesses.count, accesses.footprint);
  if (!accesses.writes) {
    cost.indexed_bus = accesses.bus(accesses.fetched_bytes(accesses.count));
    // In the profile, a table of L2's size fits L2, because nothing else passes through. Here it does not quite.
    const double octaves = std::abs(std::log2(std::max(1.0, accesses.footprint) / accesses.cache));
    cost.access *= 1 + 0.2 * std::max(0.0, 1 - octaves);
    return;
  }
  // Past L2 the measured rate of writes includes the bytes. Once the output takes more than a tenth of L2, partial
  // sectors are evicted before they are whole, and are fetched again. Records of 1 and 2 bytes are so many to a
  // sector that this does not show.
  const bool fits = accesses.footprint < accesses.cache;
  cost.indexed_bus = fits ? accesses.bus(accesses.footprint) : 0;
  cost.overlap_exponent = accesses.footprint > accesses.cache / 4 ? 1 : 2;
  constexpr double evicted_writes = 0.75;  // cost of an eviction, in writes far past L2
  if (fits && accesses.width > 2) {
    cost.access += accesses.count * accesses.partial_sectors() * ramp(accesses.footprint / accesses.cache, 0.1, 0.25) *
                   evicted_writes * accesses.rates.random_writes(1, 8, in_memory);
  }
}

// Zipf's distribution: the r-th most frequent record is named 1/r as often as the first, so the c most frequent records
// take log(c) / log(n) of all accesses. Each lies alone in its fetch. The sequential side and the index leave a third
// of L2 to them.
void skewed(const accesses& accesses, memory_cost& cost) {
  const double all = std::log(std::max(2.0, accesses.indexed_count));
  const double l1_share =
      std::log(std::clamp(64e3 / std::max(accesses.width, accesses.sector), 1.0, accesses.indexed_count)) / all;
  const double l2_share =
      std::log(std::clamp(accesses.cache / 3 / std::max(accesses.width, accesses.fetch), 1.0, accesses.indexed_count)) /
      all;
  const double missed = accesses.count * (1 - l2_share);
  constexpr double same_line = 1.5;  // lanes that read one line are served together
  cost.access =
      accesses.count * (l1_share / same_line * accesses.cost(in_l1) + (l2_share - l1_share) * accesses.cost(in_l2)) +
      missed * accesses.cost(std::max(accesses.footprint, accesses.fetch));
  cost.indexed_bus = accesses.bus(accesses.fetch * accesses.fetches * std::min(1.15 * missed, accesses.count));
  if (accesses.footprint < accesses.cache)
    cost.indexed_bus = std::min(cost.indexed_bus, accesses.bus(accesses.footprint));
}

// A strided list sweeps over the whole indexed side again and again. A sweep larger than L2 fetches all that it spans,
// in order. The rest of a sector that one record touched has left L2 when the next sweep reads it.
void strided(const accesses& accesses, memory_cost& cost) {
  const double step = static_cast<double>(std::max<std::uint64_t>(1, accesses.order.parameter)) * accesses.width;
  const double span = std::min(accesses.fetch * accesses.fetches, step);
  const double sweep =
      accesses.indexed_count / static_cast<double>(std::max<std::uint64_t>(1, accesses.order.parameter)) * span;
  const double sectors = std::min(1.0, step / accesses.sector);
  const double cached = accesses.cost(std::min(accesses.footprint, double{in_l2}));
  if (!accesses.writes) {
    const double refetched = ramp(sweep / accesses.cache, 0.6, 1.3);
    cost.indexed_bus = refetched * accesses.bus(accesses.count * span) * (accesses.width >= 16 ? 1.1 : 1.0) +
                       (1 - refetched) * accesses.single_touch_bus();
    cost.access =
        accesses.count * sectors * (accesses.width < 8 ? 0.75 : 1.0) * cached;  // even steps cause no bank conflicts
    if (step < accesses.sector) cost.access = accesses.count * accesses.cost(in_l1) / 2;
    return;
  }
  const double share = std::min(1.0, step / line_bytes);
  const double past = share * ramp((accesses.width >= 8 ? accesses.footprint : sweep) / accesses.cache, 0.15, 0.55);
  const double in_order = accesses.width < 8                 ? 0.5
                          : accesses.width < 16              ? 0.63
                          : accesses.width < accesses.sector ? 0.8
                                                             : 1.0;  // cost over that of a random write
  cost.access = accesses.count * (past * in_order * accesses.cost(std::max(accesses.footprint, accesses.cache)) +
                                  (1 - past) * sectors * cached * (accesses.width < 8 ? 0.7 : 1));
  cost.indexed_bus = past > 0.9 ? 0 : accesses.single_touch_bus();
  cost.overlap_exponent = past > 0.3 ? 1 : 2;
}

// A warp's records fall into runs, one for each stream of the list, and a run costs its sectors. Streams of the indexed
// side are fetched piece by piece where a run does not fill a fetch. Reading some thousand streams at once costs as
// much as reading at random.
void partitioned(const accesses& accesses, memory_cost& cost) {
  const auto streams = static_cast<double>(std::max<std::uint64_t>(1, accesses.order.parameter));
  const double runs = std::min(warp_threads, streams);
  const double run_bytes = warp_threads / runs * accesses.width;
  const bool fills_sectors = run_bytes >= accesses.sector;
  const double requests_per_record = std::min(1.0, runs * std::max(1.0, run_bytes / accesses.sector) / warp_threads /
                                                       std::max(1.0, accesses.width / accesses.sector));
  cost.indexed_bus = accesses.single_touch_bus();
  if (!accesses.writes) {
    if (runs == warp_threads && accesses.width <= accesses.fetch)
      cost.indexed_bus =
          0.4 * cost.indexed_bus + 0.6 * accesses.count * accesses.width / accesses.fetch * accesses.miss();
    const double from_l2 =
        std::min(1.0, accesses.width / accesses.sector);  // the stream's next record lies in a sector that was fetched
    cost.access = accesses.count * requests_per_record * (from_l2 + 0.55 * (1 - from_l2)) * accesses.cost(in_l2) *
                  (fills_sectors ? 0.5 : 1.0);
    const double random_share = accesses.width > 16 ? 0 : ramp(std::log2(streams), 8, 12) / 2;
    cost.access =
        (1 - random_share) * cost.access + random_share * accesses.count * accesses.cost(accesses.footprint / 4);
    return;
  }
  const bool ragged = accesses.alignment < accesses.sector && accesses.width > accesses.sector;
  cost.access = accesses.count * (ragged ? 1 : requests_per_record) * accesses.cost(in_l2);
  if (ragged) cost.access *= runs < warp_threads ? 1.0 : 2.4;
  if (runs < warp_threads) cost.access *= fills_sectors ? 0.5 : run_bytes >= accesses.sector / 2 ? 0.2 : 0.4;
  if (accesses.width < accesses.sector && !fills_sectors) {
    cost.overlap_exponent = 1;
    if (accesses.width == 16) cost.access *= 1.4;
  }
}

// A clustered list is random inside a window that moves on in order. A wide window loses the order of memory's pages.
// Writes share L2 with the input and with sectors that are being evicted.
void clustered(const accesses& accesses, memory_cost& cost) {
  const double window = std::min(
      accesses.footprint, static_cast<double>(std::max<std::uint64_t>(1, accesses.order.parameter)) * accesses.width);
  cost.indexed_bus = accesses.single_touch_bus();
  if (!accesses.writes) {
    const double out_of_order = accesses.width > accesses.fetch ? 0 : ramp(std::log2(window), 17, 23) / 2;
    cost.indexed_bus = (1 - out_of_order) * cost.indexed_bus +
                       out_of_order * accesses.count * accesses.width / accesses.fetch * accesses.miss();
    cost.access = accesses.count * accesses.cost(window) * (accesses.width >= line_bytes ? 0.85 : 1.0);
    return;
  }
  constexpr double shared_l2 = 5;  // L2 that a window takes, in sizes of the window
  const bool ragged = accesses.alignment < accesses.sector && accesses.width > accesses.sector;
  cost.access =
      accesses.count * (ragged && window < in_l2 ? accesses.rates.random_writes(1, accesses.rates.fetch_bytes, in_l2)
                                                 : accesses.cost(std::max(window * shared_l2, 1e6)));
}

memory_cost memory_cost_of(const accesses& accesses, const primitives::movement& problem) {
  memory_cost cost;
  cost.sequential_bus = accesses.sequential_bus;
  if (accesses.writes) cost.overlap_exponent = accesses.width < accesses.sector ? 2 : 4;
  if (problem.record_bytes > 16) {
    cost.issue =
        issue_seconds(accesses.count * accesses.width / static_cast<double>(problem.word_bytes), accesses.rates);
  }
  switch (problem.pattern.shape) {
    case kind::unknown:
    case kind::random: at_random(accesses, cost); break;
    case kind::sequential: cost.indexed_bus = accesses.single_touch_bus(); break;
    case kind::partitioned: partitioned(accesses, cost); break;
    case kind::clustered: clustered(accesses, cost); break;
    case kind::strided: strided(accesses, cost); break;
    case kind::skewed: skewed(accesses, cost); break;
    case kind::repeated:
      if (problem.pattern.parameter > 1)
        cost.access = accesses.count * accesses.cost(static_cast<double>(problem.pattern.parameter) * accesses.width);
      break;
  }
  if (cost.overlap_exponent == 1) {  // requests that wait for sectors hide the issue of words
    cost.access = std::max(cost.access, cost.issue);
    cost.issue = 0;
  }
  return cost;
}

}  // namespace

memory_cost gather_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, false}, p); }
memory_cost scatter_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, true}, p); }

// Every pass reads the index and the sectors of the sequential side that hold one of its records; a gather also writes
// them. Accesses to the indexed side fall on one region at a time. What a pass streams through L2 evicts partial
// sectors of the region. A share of the streamed bytes does so, and each sector that comes back costs one write far
// past L2.
memory_cost multipass_cost(const primitives::movement& problem, const machine& machine, std::uint64_t passes,
                           bool writes) {
  const accesses accesses(problem, machine, writes);
  memory_cost cost = memory_cost_of(accesses, problem);
  const auto pass_count = static_cast<double>(passes);
  const double index = static_cast<double>(problem.index_bytes());
  const auto moved = static_cast<double>(primitives::sequential_bytes_moved(problem, passes, machine.sector_bytes));
  cost.sequential_bus = accesses.bus(pass_count * index + moved * (writes || passes == 1 ? 1 : 2));
  cost.issue += issue_seconds(pass_count * accesses.count, machine);
  if (!is_scattered(problem.pattern)) {
    cost.sequential_bus *= 1.1;  // tiles are filtered before they move
    return cost;
  }
  const double region = accesses.footprint / pass_count;
  constexpr double shared_l2 = 1.35;  // L2 that a region takes, in sizes of the region
  cost.indexed_bus = accesses.single_touch_bus();
  cost.sequential_bus = std::max(cost.sequential_bus, cost.issue);
  cost.issue = 0;
  cost.overlap_exponent = writes ? 1 : 1.05;
  if (!writes) {
    cost.access = accesses.count *
                  accesses.cost(region > accesses.cache / 2 ? 2 * region : region);  // streamed lines evict the rest
    return cost;
  }
  const double streamed = index + moved / pass_count;
  const double evicting_share = accesses.width < 8 ? 0.1 : accesses.width < 16 ? 0.38 : 0.75;
  const double evictions = (evicting_share * streamed + region) / accesses.cache;
  const double evicted = std::clamp(evictions * accesses.partial_sectors(), 0.0, 1.0);
  const double rewrite =
      problem.record_bytes < machine.sector_bytes ? machine.random_writes(1, 8, in_memory) : accesses.cost(in_memory);
  cost.access = accesses.count * ((1 - evicted) * accesses.cost(in_l2) + evicted * rewrite);
  if (accesses.partial_sectors() == 0) cost.access = accesses.count * accesses.cost(region);
  cost.access = std::max(cost.access, accesses.count * accesses.cost(shared_l2 * region));
  return cost;
}

memory_cost atomic_add_cost(const primitives::movement& problem, const machine& machine) {
  memory_cost cost = scatter_cost(problem, machine);
  std::uint64_t window = problem.indexed_bytes();
  if (problem.pattern.shape == kind::clustered)
    window = std::min(window, problem.pattern.parameter * problem.indexed_stride_bytes);
  if (problem.pattern.shape == kind::repeated)
    window = std::min(window, problem.pattern.parameter * problem.indexed_stride_bytes);
  if (problem.pattern.shape == kind::sequential || problem.pattern.shape == kind::skewed)
    window = std::min<std::uint64_t>(window, in_l2);
  cost.access = machine.atomic_adds(problem.count, problem.record_bytes, window);
  return cost;
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
