#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/papers/run.hpp"

// Sections 1, 3.5 and 4.1 of He, Govindaraju, Luo, Smith: Efficient Gather and Scatter Operations on Graphics
// Processors (SC 2007), measured on a G80 with 392 KB of cache and a bandwidth of 69.2 GB/s.
namespace sheaf::bench::papers::he2007 {

constexpr std::uint64_t tuple_bytes = 8;  ///< the paper's default

/// One array at the size of a figure that does not vary it.
struct fixed_size {
  std::uint64_t count = 0;
  std::string note;  ///< how the size compares with the paper's
};

/// Multi-pass scatter by number of passes, which figure 9 prints and figure 10 starts from.
struct pass_sweep {
  std::vector<std::uint64_t> passes;
  std::vector<result> rows;  ///< one for each of passes; empty where memory does not suffice
  result one_pass;           ///< without looking at regions
  std::uint64_t best_passes = 1;
};

/// What the figures of a run share.
struct study {
  sessions& on;
  const request& asked;
  std::vector<result> results = {};
  spread paper_accuracy = {};  ///< of the 2007 model in figures 6 to 9
  spread our_accuracy = {};    ///< of the plans that ran there
  std::map<std::pair<const session*, std::uint64_t>, pass_sweep> sweeps = {};

  /// papers::measured, and keeps the results.
  std::vector<result> measure(session& s, int figure, const problem& p, std::vector<contender> who);
  /// The paper's 128 MB of tuples; and, where that is a smaller multiple of the last cache than it was on a G80, the
  /// same multiple, as far as 4 GB go (1 GB on the CPU).
  std::vector<fixed_size> fixed_sizes(const session& s) const;
  const pass_sweep& sweep_passes(session& s, std::uint64_t count);
};

problem sequential(primitive what, std::uint64_t count);
problem at_random(primitive what, std::uint64_t count, std::uint64_t record_bytes = tuple_bytes);
/// A scatter to p partitions, each of them filled in order, as a radix sort does. Tuples visit the partitions in random
/// order, all once before any comes again; the paper draws a partition for every tuple.
problem to_partitions(std::uint64_t partitions, std::uint64_t count);

/// One pass, by the cheapest variant that does nothing but move records through the index. Told the pattern.
/// On all threads of the session, or on so many of the CPU's.
contender single_pass(const session& s, const problem& p, int threads = 0);
/// The paper's multi-pass variant, made to run this many passes over every segment.
contender multi_pass(const session& s, const problem& p, std::uint64_t passes, std::uint64_t segments = 1);
/// What a caller gets who tells the pattern and names no variant.
contender chosen(const session& s, const problem& p);
/// Passes that the paper's model asks for, and those that the multi-pass variant plans.
std::uint64_t modelled_passes(const session& s, const problem& p);
std::uint64_t planned_passes(const session& s, const problem& p);

/// Section 3.2: bytes of the tuples on one side over the time; the same for the sequential and the random side.
double effective_bandwidth(const result& r);
/// With the tuples of both sides and the index.
double total_bandwidth(const result& r);

/// first, first * factor, ... to last.
std::vector<std::uint64_t> powers(std::uint64_t first, std::uint64_t last, std::uint64_t factor);

/// Measured and predicted, by the data size, the number of partitions and the number of passes.
void figure_1(study& all);
void figure_6(study& all);
void figure_7(study& all);
void figure_8(study& all);
void figure_9(study& all);
/// What the multi-pass scheme gains.
void figure_10(study& all);
void figure_11(study& all);
void figure_12(study& all);
void figure_13(study& all);
/// Radix sort by scatters.
void figure_15(study& all);
void figure_16(study& all);

}  // namespace sheaf::bench::papers::he2007
