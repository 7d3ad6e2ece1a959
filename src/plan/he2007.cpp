#include "plan/he2007.hpp"

#include <algorithm>
#include <cmath>

#include "core/backends.hpp"

namespace sheaf::plan::he2007 {
namespace {

constexpr double warp_threads_of_gpu = 32;

// Between a core that has two misses under way, and the line fill buffers of the largest caches of a first level.
constexpr double least_accesses_in_flight = 2;
constexpr double most_accesses_in_flight = 32;
/// Line fill buffers of Intel's cores from 2008 to 2018, for profiles that do not say how many accesses overlap.
constexpr double usual_accesses_in_flight = 10;

// The accesses that a core has under way at once, by Little's law: what a thread reads at random in the time of one
// dependent read, both of records of 8 bytes at the largest footprint, so that nearly all of them miss. A Xeon of
// family 6 model 207: 206 ns, and 48 million records a second and thread, are 10.
double accesses_in_flight(const machine& machine) noexcept {
  if (machine.latencies.empty() || machine.random_read.empty()) return usual_accesses_in_flight;
  constexpr std::uint64_t record_bytes = 8;
  const latency_point& slowest = machine.latencies.back();
  const double seconds_each = machine.random_reads(1, record_bytes, slowest.footprint_bytes) * machine.parallelism;
  return std::clamp(std::round(slowest.seconds / seconds_each), least_accesses_in_flight, most_accesses_in_flight);
}

double blocks_per_record(double record_bytes, const parameters& p) noexcept {
  return std::max(1.0, std::ceil(record_bytes / p.block_bytes));
}

double bytes_of(const sizes& s) noexcept { return static_cast<double>(s.count) * static_cast<double>(s.record_bytes); }

// Blocks that `records` records lie on, or groups of blocks where a record takes several.
double blocks_of(double records, double record_bytes, const parameters& p) noexcept {
  return std::ceil(records * record_bytes / (blocks_per_record(record_bytes, p) * p.block_bytes));
}

}  // namespace

// The time of a hit is that of a transfer at cached_bytes_per_second. The paper takes the latency of a hit, but where
// hundreds of accesses are in flight, throughput limits them. B_seq is the copy rate of large arrays, to which Eq. 1
// gives nearly all weight; the figures of papers/he2007 measure it by Eq. 1 instead.
//
// A warp of a GPU misses together: its threads wait for the same accesses. On a CPU that unit is what a core has under
// way at once: accesses to a line that is being fetched wait for it and fetch nothing. The order in which cores get
// their lines is unknown, as that of warps is, so that what hits between units is case I on both.
parameters parameters_of(const machine& machine) noexcept {
  parameters parameters;
  parameters.block_bytes = static_cast<double>(std::max<std::uint64_t>(1, machine.fetch_bytes));
  parameters.transfer_bytes = static_cast<double>(std::max<std::uint64_t>(1, machine.sector_bytes));
  parameters.hit_seconds = parameters.transfer_bytes / machine.cached_bytes_per_second;
  parameters.cache_blocks = std::floor(static_cast<double>(machine.cache_bytes) / parameters.block_bytes);
  parameters.sequential_bytes_per_second = machine.copy_bytes_per_second;
  switch (core::backend_of(machine.backend).processor) {
    case core::processor_kind::gpu: parameters.warp_threads = warp_threads_of_gpu; break;
    case core::processor_kind::host_threads: parameters.warp_threads = accesses_in_flight(machine); break;
    case core::processor_kind::pipeline: break;
  }
  return parameters;
}

double sequential_bandwidth(std::span<const timed_scan> scans) noexcept {
  double all_bytes = 0;
  double weighted = 0;
  for (const timed_scan& scan : scans) {
    all_bytes += scan.bytes;
    weighted += scan.bytes * (scan.bytes / scan.seconds);
  }
  return all_bytes > 0 ? weighted / all_bytes : 0;
}

double access_seconds(double accesses, double record_bytes, double hit_rate, const parameters& p) noexcept {
  const double miss = blocks_per_record(record_bytes, p) * p.block_bytes / p.sequential_bytes_per_second;
  const double hit = std::ceil(record_bytes / p.transfer_bytes) * p.hit_seconds;
  return accesses * ((1 - hit_rate) * miss + hit_rate * hit);
}

double random_bandwidth(double record_bytes, double hit_rate, const parameters& p) noexcept {
  return record_bytes / access_seconds(1, record_bytes, hit_rate, p);
}

// The power is computed by log1p and expm1, which keep small differences from 1: evaluated directly, (1 - 1/k)^n is 1
// for every n once k passes 2^53.
double expected_distinct(double accesses, double blocks) noexcept {
  if (accesses <= 0 || blocks <= 0) return 0;
  if (blocks <= 1) return std::min(accesses, 1.0);
  return std::min({-blocks * std::expm1(accesses * std::log1p(-1 / blocks)), accesses, blocks});
}

double miss_rate(double distinct, double accesses, double cache_blocks) noexcept {
  if (accesses <= 0) return 0;
  if (distinct <= cache_blocks) return std::min(1.0, distinct / accesses);
  const double capacity_misses = (1 - cache_blocks / distinct) * (accesses - distinct);
  return std::clamp((distinct + capacity_misses) / accesses, 0.0, 1.0);
}

double random_hit_rate(double accesses, double blocks, double cache_blocks) noexcept {
  return 1 - miss_rate(expected_distinct(accesses, blocks), accesses, cache_blocks);
}

double partitions_per_warp(double partitions, const parameters& p) noexcept {
  return expected_distinct(p.warp_threads, std::max(1.0, partitions));
}

double warp_hit_rate(double partitions, double record_bytes, const parameters& p) noexcept {
  const double distinct = partitions_per_warp(partitions, p);
  const double blocks = std::ceil(p.warp_threads * record_bytes / (distinct * p.block_bytes));
  return std::clamp(1 - distinct * blocks / p.warp_threads, 0.0, 1.0);
}

double partitioned_hit_rate(double within_warp, double between_warps) noexcept {
  return within_warp + (1 - within_warp) * between_warps;
}

double hit_rate(const sizes& s, access_pattern pattern, double passes, const parameters& parameters) noexcept {
  const auto record_bytes = static_cast<double>(s.record_bytes);
  double accesses = static_cast<double>(s.count) / passes;
  double records = static_cast<double>(s.indexed_count) / passes;
  if (pattern.shape == access_pattern::kind::clustered) {
    const auto window = static_cast<double>(std::max<std::uint64_t>(1, pattern.parameter));
    accesses = std::min(accesses, window);
    records = std::min(records, window);
  }
  const double cached = std::floor(parameters.cache_blocks / blocks_per_record(record_bytes, parameters));
  const double at_random = random_hit_rate(accesses, blocks_of(records, record_bytes, parameters), cached);
  if (pattern.shape != access_pattern::kind::partitioned) return at_random;
  return partitioned_hit_rate(warp_hit_rate(static_cast<double>(pattern.parameter), record_bytes, parameters),
                              at_random);
}

namespace {

// Bytes that are read, or in a gather written, in order: every pass of a scatter scans its input and the index, a pass
// of a gather the index.
double scanned_bytes(operation what, const sizes& s, double passes) noexcept {
  const double records = bytes_of(s) * (what == operation::scatter ? passes : 1);
  return records + static_cast<double>(s.index_bytes) * passes;
}

// Seconds of the accesses on the indexed side.
double indexed_seconds(const sizes& s, access_pattern pattern, double passes, const parameters& p) noexcept {
  if (pattern.shape == access_pattern::kind::sequential) return bytes_of(s) / p.sequential_bytes_per_second;
  return access_seconds(static_cast<double>(s.count), static_cast<double>(s.record_bytes),
                        hit_rate(s, pattern, passes, p), p);
}

}  // namespace

double scatter_seconds(const sizes& s, access_pattern pattern, double passes, const parameters& p) noexcept {
  return scanned_bytes(operation::scatter, s, passes) / p.sequential_bytes_per_second +
         indexed_seconds(s, pattern, passes, p);
}

double gather_seconds(const sizes& s, access_pattern pattern, double passes, const parameters& p) noexcept {
  return scanned_bytes(operation::gather, s, passes) / p.sequential_bytes_per_second +
         indexed_seconds(s, pattern, passes, p);
}

double moved_bytes(operation what, const sizes& s, access_pattern pattern, double passes,
                   const parameters& p) noexcept {
  double indexed = bytes_of(s);
  if (pattern.shape != access_pattern::kind::sequential) {
    const double misses = static_cast<double>(s.count) * (1 - hit_rate(s, pattern, passes, p));
    indexed = misses * blocks_per_record(static_cast<double>(s.record_bytes), p) * p.block_bytes;
  }
  return scanned_bytes(what, s, passes) + indexed;
}

double predict_scatter(const sizes& s, access_pattern pattern, const machine& m, double passes) noexcept {
  return scatter_seconds(s, pattern, passes, parameters_of(m));
}

double predict_gather(const sizes& s, access_pattern pattern, const machine& m, double passes) noexcept {
  return gather_seconds(s, pattern, passes, parameters_of(m));
}

std::uint64_t best_passes(operation what, const sizes& s, access_pattern pattern, const parameters& p,
                          std::uint64_t most) noexcept {
  return cheapest_passes(most, [&](double passes) {
    return what == operation::gather ? gather_seconds(s, pattern, passes, p) : scatter_seconds(s, pattern, passes, p);
  });
}

}  // namespace sheaf::plan::he2007
