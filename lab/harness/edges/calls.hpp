#pragma once

#include <sheaf/edge_sum.hpp>

#include "lab/harness/edges/input.hpp"
#include "lab/harness/timed_call.hpp"

namespace sheaf::bench {

/// What is summed over the edges.
struct edge_terms {
  std::uint32_t components = 3;
  edge_function function = edge_function::inverse_square;
};

/// Bytes that a sum has to move: ends, values and results, each once.
std::uint64_t moved_bytes(const edge_input& in, const edge_terms& terms, std::uint64_t value_bytes);

/// Values of the nodes of a graph, and the exact sums that all calls over it are judged by. Value is float or double.
/// Values of nodes are their positions, and behind these numbers made by a rule.
template <class Value>
struct judged_edges;
template <class Value>
std::shared_ptr<const judged_edges<Value>> judge_edges(std::shared_ptr<const edge_input> input,
                                                       const edge_terms& terms);

/// The sum by each variant of the place's backend that can run it, and by each that can be prepared.
template <class Value>
void add_edge_calls(const call_place& place, std::shared_ptr<const judged_edges<Value>> input,
                    std::vector<timed_call>& all);

/// The loop over the edges that one would write, on one thread.
template <class Value>
void add_plain_edges(const std::string& where, std::shared_ptr<const judged_edges<Value>> input,
                     std::vector<timed_call>& all);

/// That loop with atomic additions: on CUDA a kernel, else on all threads of `cpu`.
template <class Value>
void add_atomic_edges(const call_place& place, const context& cpu, std::shared_ptr<const judged_edges<Value>> input,
                      std::vector<timed_call>& all);

}  // namespace sheaf::bench
