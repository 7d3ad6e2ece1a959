#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/edge_sum.hpp>

#include "lab/harness/report.hpp"

namespace sheaf::bench {

/// What `sheaf-bench edges` is asked for.
struct edges_request {
  bool is_requested = false;
  std::vector<std::string> files;  ///< SU2 meshes; empty: boxes of its own
  /// Of the boxes, which have some seven edges a node: 10^5 to 10^8.
  std::vector<std::uint64_t> nodes{15'000, 150'000, 1'500'000, 14'600'000};
  std::vector<std::string> orders{"natural", "random", "prepared"};  ///< of the nodes
  std::vector<std::uint32_t> components{3};                          ///< of a node's value
  edge_function function = edge_function::weighted_difference;
  double seconds = 2;   ///< no round of a mesh begins after this time, but for the first three
  bool narrow = false;  ///< f32
  bool quick = false;   ///< small boxes, which show that everything runs; their times mean nothing
};

/// Times sums over the edges of each mesh by a plain loop, by atomic additions, by every variant and prepared, in turn;
/// prints a row for each with its median time, the bytes that a sum has to move, the share of the time in which this
/// machine streams as many, and how many runs make up for preparing. What memory does not hold is left out, with a line
/// that says so. Returns the rows. @throws error(bad_input) for a file
std::vector<input_result> run_edges(const context& ctx, const edges_request& request);

}  // namespace sheaf::bench
