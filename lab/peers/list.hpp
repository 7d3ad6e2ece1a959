#pragma once

#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"
#include "lab/harness/workspace.hpp"

// What users of a backend call today in place of a primitive.
namespace sheaf::bench::peers {

/// The peers of a row on the context's backend.
std::vector<contender> peers_of(const context& ctx, const problem& problem, const workspace& arrays);

/// What people call a peer. All have one, also those that are not built here, whose results are read wherever.
struct peer_name {
  std::string_view who;             ///< of the contender: "cub.partition"
  std::string_view text;            ///< "CUB partition", in Markdown
  std::string_view primitive = {};  ///< of which alone it is the name; empty: of all that have no name of their own
  bool is_for_scale = false;        ///< does other work: no factor is over it
};
std::span<const peer_name> names();

}  // namespace sheaf::bench::peers
