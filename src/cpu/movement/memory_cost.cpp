#include "cpu/movement/memory_cost.hpp"

#include "cpu/threads/cache_hints.hpp"
#include "cpu/threads/core_speed.hpp"
#include "plan/he2007.hpp"

namespace sheaf::cpu {
namespace {

using kind = access_pattern::kind;

constexpr std::uint64_t in_l1 = 32 << 10;
constexpr std::uint64_t narrow = 4;  ///< record width in bytes below which many records share a line
constexpr double line = line_bytes;
/// Overlap exponent of accesses that the second-level cache serves while other data streams from memory.
constexpr double overlap_in_cache = 2;

/// Parallel streams whose lines, with the prefetched ones, fit the second-level cache.
constexpr std::uint64_t few_streams = 1024;

/// A movement in numbers of its own, with the times of its accesses on a machine.
class access_model {
 public:
  access_model(const primitives::movement& problem, const machine& profile, bool indexed_is_written)
      : rates(profile), writes(indexed_is_written), pattern(problem.pattern) {
    count = static_cast<double>(problem.count);
    width = static_cast<double>(problem.record_bytes);
    indexed_count = std::max(1.0, static_cast<double>(problem.indexed_count));
    footprint = static_cast<double>(problem.indexed_bytes());
    // A cache line is read before parts of it are written; output beyond the last-level cache is streamed unread.
    const bool past_cache = problem.sequential_bytes() > rates.cache_bytes;
    const double sequential_bytes = static_cast<double>(problem.sequential_bytes()) * (writes || past_cache ? 1 : 2);
    sequential = streamed(sequential_bytes + static_cast<double>(problem.index_bytes()));
    own_cache = static_cast<double>(own_cache_bytes(rates));
  }

  // Seconds to stream bytes from memory: a caller's arrays are taken to be cold.
  double streamed(double bytes) const { return bytes / rates.copy_bytes_per_second; }
  // Seconds to stream bytes in repeated sweeps over `window` bytes.
  double swept(double bytes, double window) const {
    return rates.streamed(static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(window));
  }

  double read(double window) const {
    return rates.random_reads(1, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(window));
  }
  double write(double window) const {
    return rates.random_writes(1, static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(window));
  }
  double cost(double window) const { return writes ? write(window) : read(window); }

  // Seconds to stream over the indexed side once. Written lines are read first.
  double once() const { return streamed(std::min(count * width, footprint) * (writes ? 2 : 1)); }

  const machine& rates;
  bool writes;
  access_pattern pattern;
  double count = 0, width = 0, indexed_count = 0;
  double footprint = 0;   ///< bytes of the indexed side
  double sequential = 0;  ///< seconds to stream the index and the sequential side
  double own_cache = 0;   ///< bytes of the second-level cache
};

// The profile was measured on warm lines; a caller's arrays are cold even if the last-level cache could hold them. The
// hardware fetches small ones ahead as if they were read in order, but waits for the first touch of each line of
// others. EPYC of family 25 with a last cache of 32 MB, 2^20 sums into 16 MB: 3.3 ns each, where warm lines take 1.4.
void at_random(const access_model& a, memory_cost& t) {
  const auto cache = static_cast<double>(a.rates.cache_bytes);
  const double warm = a.cost(a.footprint);
  t.indexed_random = a.count * warm;
  if (a.footprint < cache / 4) {
    t.indexed_streamed = a.streamed(std::min(a.count * line, a.footprint));
    return;
  }
  if (a.width > line) return;
  const double lines = a.footprint / line;
  const double touched = -lines * std::expm1(-a.count / lines);
  t.indexed_random += touched * std::max(0.0, a.cost(4 * cache) - warm);
}

// Zipf's distribution: the c most frequent of n records take log(c) / log(n) of the accesses. Each lies alone on its
// line.
void skewed(const access_model& a, memory_cost& t) {
  const double all = std::log(std::max(2.0, a.indexed_count));
  const double hit_rate = std::log(std::clamp(a.own_cache / 4 / std::max(a.width, line), 1.0, a.indexed_count)) / all;
  const double hit_seconds = a.read(a.own_cache / 2);
  t.indexed_random = a.count * (hit_rate * hit_seconds + (1 - hit_rate) * std::max(hit_seconds, a.cost(a.footprint)));
}

void strided(const access_model& a, memory_cost& t) {
  const double step = static_cast<double>(std::max<std::uint64_t>(1, a.pattern.parameter)) * a.width;
  const double span = std::min(step, std::max(line, a.width));
  // A sweep touches the lines of its records alone, the first one from memory, and the next one finds those that a
  // cache has kept, past a core's cache one by one if it leaves lines out. In that cache lines are not streamed, and
  // accesses cost no more than at random.
  const double times = a.writes ? 2 : 1;
  const double of_sweep = a.footprint * span / step;
  const double all = a.count * span;
  const double first = std::min(all, of_sweep);
  const double again = std::max(a.swept(times * (all - first), of_sweep),
                                step > line && of_sweep > a.own_cache ? (all - first) / span * a.cost(of_sweep) : 0);
  t.indexed_streamed = a.streamed(times * first) + again;
  t.indexed_random = a.count * a.read(in_l1);
  const double random_seconds = a.count * a.cost(a.footprint);
  if (a.footprint <= a.own_cache && random_seconds < t.indexed_streamed + t.indexed_random) {
    t.indexed_streamed = 0;
    t.indexed_random = random_seconds;
  }
}

// The list interleaves as many streams as the pattern has partitions. Up to 32 streams stay in the first-level cache.
// Hundreds of streams at distances of a power of two fall on the same few sets of the first two caches. Thousands of
// streams cost more than random accesses, as no line is still cached for its second record.
void partitioned(const access_model& model, memory_cost& cost) {
  const auto streams = static_cast<double>(std::max<std::uint64_t>(1, model.pattern.parameter));
  if (streams <= 32) {
    cost.indexed_streamed = model.once();
    cost.indexed_random = model.count * model.read(in_l1);
    cost.overlap_exponent = overlap_in_cache;
  } else if (streams <= 1024) {
    cost.indexed_random = model.count * model.cost(model.writes ? 16e6 : std::min(model.footprint, 4e6));
  } else {
    cost.indexed_random = model.count * model.cost(2 * model.footprint);
  }
}

// A window that fits the second-level cache costs what its first touch costs. Each thread writes windows of its own,
// whereas all threads share the small footprints of the profile.
void clustered(const access_model& model, memory_cost& cost) {
  const double window =
      std::min(model.footprint, static_cast<double>(std::max<std::uint64_t>(1, model.pattern.parameter)) * model.width);
  if (window >= model.footprint) return at_random(model, cost);
  const bool fits = window < model.own_cache / 2;
  cost.indexed_streamed = model.once();
  cost.indexed_random =
      model.count * (fits || !model.writes ? model.read(window) : model.write(std::max(window, model.own_cache)) / 2);
  if (fits) cost.overlap_exponent = overlap_in_cache;
}

memory_cost memory_cost_of(const access_model& model) {
  memory_cost cost;
  cost.sequential = model.sequential;
  switch (model.pattern.shape) {
    case kind::unknown:
    case kind::random: at_random(model, cost); break;
    case kind::partitioned: partitioned(model, cost); break;
    case kind::clustered: clustered(model, cost); break;
    case kind::strided: strided(model, cost); break;
    case kind::skewed: skewed(model, cost); break;
    case kind::sequential:
      cost.indexed_streamed = model.once();
      cost.indexed_random = model.count * model.read(in_l1);
      cost.overlap_exponent = overlap_in_cache;
      break;
    case kind::repeated: {
      const double repeated_bytes =
          static_cast<double>(std::max<std::uint64_t>(1, model.pattern.parameter)) * model.width;
      cost.indexed_random = model.count * model.read(repeated_bytes);
      cost.overlap_exponent = repeated_bytes < model.own_cache ? overlap_in_cache : 1;
      break;
    }
  }
  return cost;
}

/// Bytes of the indexed side that a movement touches.
std::uint64_t touched_bytes(const primitives::movement& problem) noexcept {
  return std::min(problem.indexed_bytes(), problem.count * std::max(problem.record_bytes, line_bytes));
}

/// Touched bytes of the indexed side from which prefetching pays at random. Whole lines wait for the second-level cache
/// longer than a prefetch takes to issue. Narrower records in that cache do not: EPYC of family 25, 2^14 records at
/// random, 4 to 32 bytes, 0.70 to 0.85 of the speed without where they are in cache, 1.1 to 2.1 times where they are
/// not; past the second-level cache 0.9 and 1.4 to 1.6.
std::uint64_t least_prefetched_at_random(const primitives::movement& problem) noexcept {
  return problem.record_bytes < line_bytes ? least_prefetched_bytes : least_prefetched_bytes / 2;
}

}  // namespace

memory_cost gather_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, false}); }
memory_cost scatter_cost(const primitives::movement& p, const machine& m) { return memory_cost_of({p, m, true}); }

plan::planned to_plan(const memory_cost& t, const machine& m, bool writes) {
  plan::planned plan;
  plan.add("latency", m.launch_seconds + m.step_seconds);
  plan.add_overlapped(t.overlap_exponent, {{"streamed", t.sequential + t.indexed_streamed},
                                           {writes ? "random write" : "random read", t.indexed_random}});
  return plan;
}

void add_sharing(const primitives::movement& problem, const machine& machine, plan::planned& plan) {
  constexpr std::uint64_t shared_span = 4 * line_bytes;  // the hardware fetches neighbouring lines together
  const double digits_for_a_line = problem.record_bytes < 2 * narrow ? 0.769 : 3.08;
  const std::uint64_t caches =
      machine.cache_levels.size() > 1 ? machine.cache_levels[1] * machine.parallelism : std::uint64_t{2} << 20;
  if (problem.pattern.shape != kind::strided || machine.parallelism == 1 || problem.indexed_bytes() > caches) return;
  if (problem.record_bytes < narrow || problem.pattern.parameter * problem.indexed_stride_bytes > shared_span) return;
  plan.add("shared lines",
           static_cast<double>(problem.count) * digits_for_a_line * digit_seconds(machine) / machine.parallelism);
}

void add_lines_read(const primitives::movement& p, const machine& m, bool writes, plan::planned& plan) {
  const bool in_order = p.pattern.shape == kind::sequential || p.pattern.shape == kind::repeated;
  if (in_order || p.sequential_bytes() <= m.cache_bytes || p.record_bytes % line_bytes != 0) return;
  const std::uint64_t written = writes ? std::min(p.indexed_bytes(), p.sequential_bytes()) : p.sequential_bytes();
  plan.add("lines read to be written", static_cast<double>(written) / m.copy_bytes_per_second);
}

bool prefetches_reads(const primitives::movement& problem) noexcept {
  const bool narrower_than_line = problem.record_bytes < line_bytes;
  std::uint64_t from = least_prefetched_at_random(problem);
  switch (problem.pattern.shape) {
    case kind::sequential:
      if (problem.record_bytes < 2 * narrow) return false;
      break;
    case kind::partitioned:
      if (narrower_than_line && problem.pattern.parameter <= (problem.record_bytes < 2 * narrow ? 256 : 32))
        return false;
      from = least_prefetched_bytes;
      break;
    case kind::strided:
      if (!narrower_than_line) return false;
      from = least_prefetched_bytes;
      break;
    case kind::skewed: from = least_prefetched_bytes / 8; break;
    default: break;
  }
  return touched_bytes(problem) > from;
}

bool prefetches_writes(const primitives::movement& problem) noexcept {
  constexpr std::uint64_t most_streamed_bytes = 32 * least_prefetched_bytes;
  constexpr std::uint64_t followed_streams = 32;  // the hardware prefetcher follows as many
  const bool single = problem.record_bytes == 1;
  switch (problem.pattern.shape) {
    case kind::partitioned:
      if (problem.record_bytes >= line_bytes) break;
      if (problem.pattern.parameter <= followed_streams) return false;
      if (problem.pattern.parameter > few_streams && (single || problem.indexed_bytes() > most_streamed_bytes))
        return false;
      break;
    case kind::sequential:
      if (problem.record_bytes < 2 * narrow) return false;
      break;
    default: break;
  }
  return touched_bytes(problem) > least_prefetched_at_random(problem);
}

}  // namespace sheaf::cpu
