#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "papers/wei2010/list_sums.hpp"

// What walkers of figure 5 have to walk, which follows from the places of splitters alone, beside what they are counted
// to have walked.
namespace sheaf::bench::papers::wei2010 {

/// The nodes that come before a node in the list of pattern strided:`stride` of `nodes` nodes, which goes through every
/// stride-th node from node 0 on, then from node 1 on, and so on: the inverse of inputs::pattern_entry().
inline std::uint64_t strided_rank(std::uint64_t node, std::uint64_t nodes, std::uint64_t stride) {
  const std::uint64_t of_a_sweep = (nodes + stride - 1) / stride;
  const std::uint64_t sweeps = (nodes + of_a_sweep - 1) / of_a_sweep;
  std::uint64_t rank = node;
  // The last sweeps may be shorter than the first: see inputs::interleave_streams().
  do {
    rank = rank % sweeps * of_a_sweep + rank / sweeps;
  } while (rank >= nodes);
  return rank;
}

/// Nodes of the sublists of such a list, of which number s begins at splitters[s] and ends before the next splitter.
inline std::vector<std::uint64_t> sublist_lengths(std::span<const std::uint64_t> splitters, std::uint64_t nodes,
                                                  std::uint64_t stride) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> begins(splitters.size());  // rank of the splitter, number
  for (std::uint64_t s = 0; s < splitters.size(); ++s) begins[s] = {strided_rank(splitters[s], nodes, stride), s};
  std::sort(begins.begin(), begins.end());
  std::vector<std::uint64_t> lengths(splitters.size());
  for (std::uint64_t i = 0; i < begins.size(); ++i) {
    lengths[begins[i].second] = (i + 1 < begins.size() ? begins[i + 1].first : nodes) - begins[i].first;
  }
  return lengths;
}

/// Of the sublists of sheaf::papers::wei2010::run_list_sums(), the first of which begins at the list's head, node 0.
inline std::vector<std::uint64_t> lengths_of_form(std::uint64_t nodes, std::uint64_t sublists, std::uint64_t stride) {
  std::vector<std::uint64_t> splitters(sublists);
  for (std::uint64_t s = 1; s < sublists; ++s) {
    splitters[s] = sheaf::papers::wei2010::splitter_node(s, sublists, nodes);
  }
  return sublist_lengths(splitters, nodes, stride);
}

/// The largest of some loads over their mean, 0 if all are 0.
inline double over_mean(std::span<const std::uint64_t> loads) {
  std::uint64_t all = 0;
  for (const std::uint64_t load : loads) all += load;
  if (all == 0) return 0;
  return static_cast<double>(*std::max_element(loads.begin(), loads.end())) * static_cast<double>(loads.size()) /
         static_cast<double>(all);
}

/// Nodes that the multiprocessor with the most of them walks over, over their mean.
struct largest_load {
  double dealt = 0;  ///< thread t walks sublists t, t + walkers, ... as in the paper
  double drawn = 0;  ///< the thread that is done first walks the next sublist that is left
};

/// @param lengths  of all sublists.
/// @param walkers  threads, as many on each of `multiprocessors`.
inline largest_load load_of(std::span<const std::uint64_t> lengths, std::uint64_t walkers,
                            std::uint64_t multiprocessors) {
  const std::uint64_t of_each = std::max<std::uint64_t>(1, walkers / multiprocessors);
  std::vector<std::uint64_t> dealt(multiprocessors);
  std::vector<std::uint64_t> drawn(multiprocessors);
  using time_and_thread = std::pair<std::uint64_t, std::uint64_t>;
  std::priority_queue<time_and_thread, std::vector<time_and_thread>, std::greater<>> threads;
  for (std::uint64_t t = 0; t < walkers; ++t) threads.emplace(0, t);
  for (std::uint64_t sublist = 0; sublist < lengths.size(); ++sublist) {
    dealt[sublist % walkers / of_each % multiprocessors] += lengths[sublist];
    const auto [done, thread] = threads.top();
    threads.pop();
    threads.emplace(done + lengths[sublist], thread);
    drawn[thread / of_each % multiprocessors] += lengths[sublist];
  }
  return {over_mean(dealt), over_mean(drawn)};
}

}  // namespace sheaf::bench::papers::wei2010
