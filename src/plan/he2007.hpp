#pragma once

#include <span>

#include <sheaf/machine_profile.hpp>

/// The cost model of He, Govindaraju, Luo, Smith: Efficient Gather and Scatter Operations on Graphics Processors
/// (SC 2007), sections 3.3 and 3.4, equation by equation. Counts are doubles: a pass has n / nChunk accesses.
///
/// Three equations are misprinted and are corrected here: 1, the first branch of 6, and the sum of two hit rates that
/// goes with 8. The comment of each says what was wrong.
namespace sheaf::plan::he2007 {

/// What the equations know of a machine, with the paper's letters.
struct parameters {
  double block_bytes = 1;                  ///< l: what a miss moves from memory
  double transfer_bytes = 1;               ///< l': what a hit moves from the cache
  double hit_seconds = 0;                  ///< delta: time of one transfer from the cache
  double cache_blocks = 0;                 ///< N: blocks that the cache holds
  double sequential_bytes_per_second = 1;  ///< B_seq
  double warp_threads = 1;  ///< w: threads whose accesses go out together; on a CPU the accesses that a core has under
                            ///< way at once
};

/// One calibration run of section 3.3.1: a sequential scan of `bytes` took `seconds`.
struct timed_scan {
  double bytes = 0;
  double seconds = 0;
};

/// A gather or scatter: `count` records of `record_bytes` move between index order and places among `indexed_count`.
struct sizes {
  std::uint64_t count = 0;
  std::uint64_t indexed_count = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t index_bytes = 0;  ///< bytes of the whole index list
};

enum class operation : std::uint8_t { gather, scatter };

/// The machine's rates as the paper's letters. @param machine  on a CPU, also how many accesses of a core overlap: what
/// a thread reads at random in the time of one dependent read
parameters parameters_of(const machine& machine) noexcept;

/// Eq. 1, B_seq: the mean of the scans' bandwidths, weighted by their bytes. Misprinted: the paper multiplies
/// 2^i by t_i, which is megabytes by seconds, and divides by n again after the weights have divided.
double sequential_bandwidth(std::span<const timed_scan> scans) noexcept;

/// Eq. 2, t: seconds of `accesses` to records of `record_bytes`, of which the share `hit_rate` is in the cache.
double access_seconds(double accesses, double record_bytes, double hit_rate, const parameters& parameters) noexcept;

/// Eq. 3, B_rand: bytes of records per second, by the accesses of Eq. 2.
double random_bandwidth(double record_bytes, double hit_rate, const parameters& parameters) noexcept;

/// Eq. 4 and 5, E: the expected number of distinct blocks, of `blocks`, that `accesses` random accesses touch. The
/// paper sums over Stirling numbers. All accesses miss a given block with probability (1 - 1/k)^n, so the sum is
/// k (1 - (1 - 1/k)^n). Never more than either count.
double expected_distinct(double accesses, double blocks) noexcept;

/// Eq. 6, m: share of `accesses` that miss in a cache of `cache_blocks` when they touch `distinct` blocks. Misprinted:
/// the first branch says E / N, which grows as the cache shrinks but does not know how often a block is used; what is
/// meant are compulsory misses, E / n, where the second branch arrives at E = N.
double miss_rate(double distinct, double accesses, double cache_blocks) noexcept;

/// Case I, h: hit rate of accesses at random over `blocks` blocks, from Eq. 5 and 6.
double random_hit_rate(double accesses, double blocks, double cache_blocks) noexcept;

/// Eq. 7, D: distinct partitions of `partitions` that the threads of a warp are expected to write to.
double partitions_per_warp(double partitions, const parameters& parameters) noexcept;

/// Eq. 8, 1 - m: hit rate inside a warp whose records of one partition lie side by side, at least 0: where a record
/// takes more than a block, m passes 1.
double warp_hit_rate(double partitions, double record_bytes, const parameters& parameters) noexcept;

/// Case II, h: what does not hit inside the warp may hit between warps, as in case I. Misprinted: the sum of the two
/// rates passes 1; the second rate is of those that the first leaves.
double partitioned_hit_rate(double within_warp, double between_warps) noexcept;

/// The hit rate of one pass out of `passes`: case II for partitioned, case I over the blocks of the window for
/// clustered, case I over all blocks for the others. Sequential accesses have none: they move at B_seq.
///
/// By section 3.4 a pass has n / nChunk accesses, which fall on the k / nChunk blocks of its chunk. The hit rate inside
/// a warp does not change, because a pass takes the same share of the warp's partitions and of its records. The window
/// of a clustered pattern lies inside one chunk at a time, so passes only help where a chunk is smaller than the
/// window.
///
/// A record wider than a block takes a group of blocks, and the model then counts groups.
double hit_rate(const sizes& sizes, access_pattern pattern, double passes, const parameters& parameters) noexcept;

/// Eq. 9, and Eq. 11 where passes > 1: a scatter's input and index are scanned in every pass, its output is written at
/// random, once in all.
double scatter_seconds(const sizes& sizes, access_pattern pattern, double passes,
                       const parameters& parameters) noexcept;

/// Eq. 10, extended to passes as Eq. 11 extends Eq. 9: the index is scanned in every pass. The paper prints the
/// multi-pass form for the scatter alone. The output of a gather corresponds to the input of a scatter, but each of its
/// records is written by one pass only, so it counts once.
double gather_seconds(const sizes& sizes, access_pattern pattern, double passes, const parameters& parameters) noexcept;

/// scatter_seconds and gather_seconds on a machine, in one pass by default.
double predict_scatter(const sizes& sizes, access_pattern pattern, const machine& machine, double passes = 1) noexcept;
double predict_gather(const sizes& sizes, access_pattern pattern, const machine& machine, double passes = 1) noexcept;

/// Section 4: the bytes that a scatter or gather moves to and from memory, as the paper estimates the bandwidth of its
/// applications: all that it scans, and whole blocks for each miss. A hit moves none.
double moved_bytes(operation what, const sizes& sizes, access_pattern pattern, double passes,
                   const parameters& parameters) noexcept;

/// Section 3.4: the number of passes up to `most` that takes the least time.
std::uint64_t best_passes(operation what, const sizes& sizes, access_pattern pattern, const parameters& parameters,
                          std::uint64_t most = 64) noexcept;

/// The number of passes up to `most` with the least cost(passes): the best power of two, then a search around it in
/// steps that halve. This takes some 20 calls of cost instead of 64, 1 us instead of 5. The cost falls while a chunk
/// does not fit the cache, and rises with every scan after that, so the search finds the least or a number of about its
/// cost.
template <class Cost>
std::uint64_t cheapest_passes(std::uint64_t most, Cost cost) noexcept {
  std::uint64_t best = 1;
  double least = cost(1.0);
  const auto consider = [&](std::uint64_t passes) {
    if (passes < 1 || passes > most) return;
    const double seconds = cost(static_cast<double>(passes));
    if (seconds < least) {
      least = seconds;
      best = passes;
    }
  };
  for (std::uint64_t passes = 2; passes <= most; passes *= 2) consider(passes);
  for (std::uint64_t step = best / 2; step >= 1; step /= 2) {
    const std::uint64_t middle = best;
    consider(middle - step);
    consider(middle + step);
  }
  return best;
}

}  // namespace sheaf::plan::he2007
