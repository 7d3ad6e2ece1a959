#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

// How many threads should walk and how many sublists there should be, as sections 3.3 and 4.1 of Wei and JaJa 2010 have
// it. Nothing here is measured: the library's own choice comes from a cost model (src/cuda/linked_list/plan.hpp).
namespace sheaf::papers::wei2010 {

/// What the analysis knows of a machine.
struct walking_machine {
  std::uint64_t multiprocessors = 1;  ///< of a CPU, its threads
  std::uint64_t least_threads = 1;    ///< a block's threads are a multiple of these; of a CPU, walkers of a thread
};
/// "The number of blocks has to be a multiple of 30 and the number of threads per block has to be a multiple of 64."
constexpr walking_machine tesla_c1060{30, 64};

/// Most threads of a block, on any device.
constexpr std::uint64_t most_block_threads = 1024;

/// Threads that walk, and the sublists of each, "30*64*32" in table II.
struct walk_shape {
  std::uint64_t blocks = 1;
  std::uint64_t threads = 1;  ///< of a block
  std::uint64_t sublists_each = 1;

  std::uint64_t walkers() const noexcept { return blocks * threads; }
  /// A list has no more sublists than nodes.
  std::uint64_t sublists(std::uint64_t nodes) const noexcept { return std::min(walkers() * sublists_each, nodes); }
  friend bool operator==(const walk_shape&, const walk_shape&) = default;
};

/// Lemma 1 of Helman and JaJa, as section 3.3 quotes it: loads are about equal, with high probability, if fewer than
/// sqrt(n / ln n) threads walk.
inline double most_balanced_walkers(std::uint64_t nodes) {
  if (nodes < 2) return 1;
  const auto n = static_cast<double>(nodes);
  return std::sqrt(n / std::log(n));
}

/// And if there are at least p ln n sublists.
inline double least_balanced_sublists(std::uint64_t nodes, std::uint64_t walkers) {
  return nodes < 2 ? 0 : static_cast<double>(walkers) * std::log(static_cast<double>(nodes));
}

inline bool is_balanced(const walk_shape& shape, std::uint64_t nodes) {
  return static_cast<double>(shape.walkers()) < most_balanced_walkers(nodes) &&
         static_cast<double>(shape.sublists(nodes)) >= least_balanced_sublists(nodes, shape.walkers());
}

/// As many walkers as the lemma allows, in blocks as many as multiprocessors or a multiple, and the power of two of
/// sublists for each that is at least ln n. Where the lemma does not allow a block for each multiprocessor, fewer
/// blocks, of as few threads as they may have. This is the paper's 30 x 64 x 32 for the C1060 from 64 M nodes on.
inline walk_shape shape_by_lemma(std::uint64_t nodes, const walking_machine& machine) {
  // Fewer than the lemma's number, and at least one.
  const double most = std::ceil(most_balanced_walkers(nodes)) - 1;
  const std::uint64_t walkers = most < 1 ? 1 : static_cast<std::uint64_t>(most);
  walk_shape shape;
  const std::uint64_t for_each = walkers / machine.multiprocessors;
  if (for_each >= machine.least_threads) {
    const std::uint64_t most_threads = most_block_threads / machine.least_threads * machine.least_threads;
    shape.threads = std::min(for_each / machine.least_threads * machine.least_threads, most_threads);
    shape.blocks = for_each / shape.threads * machine.multiprocessors;
  } else {
    shape.threads = std::min(machine.least_threads, walkers);
    shape.blocks = walkers / shape.threads;
  }
  const double each = nodes < 2 ? 1 : std::ceil(std::log(static_cast<double>(nodes)));
  shape.sublists_each = std::bit_ceil(static_cast<std::uint64_t>(std::max(1.0, each)));
  return shape;
}

/// Table II: a block for each multiprocessor, of as few threads as it may have, and 2 sublists for each thread at 1 M
/// nodes, "linearly with list size until it reaches 32". Its walkers are more than the lemma allows below 64 M nodes.
inline walk_shape shape_of_table_2(std::uint64_t nodes, const walking_machine& machine) {
  constexpr std::uint64_t nodes_of_one = std::uint64_t{1} << 19;
  constexpr std::uint64_t most_each = 32;
  return {machine.multiprocessors, machine.least_threads,
          std::clamp<std::uint64_t>(nodes / nodes_of_one, 1, most_each)};
}

/// Lengths of lists: the 1 M to 256 M nodes of section 4, and on to 1024 M, where memory allows.
inline std::vector<std::uint64_t> lengths_of_lists() {
  std::vector<std::uint64_t> lengths;
  for (int log2 = 20; log2 <= 30; ++log2) lengths.push_back(std::uint64_t{1} << log2);
  return lengths;
}

}  // namespace sheaf::papers::wei2010
