#pragma once

#include <string>

#include <sheaf/context.hpp>

namespace sheaf::bench {

/// What `sheaf-bench spatter FILE` is asked for.
struct spatter_request {
  bool is_requested = false;
  std::string file;
  std::uint64_t runs = 0;  ///< timed runs of each pattern; 0 for the file's nruns, else 10
  double seconds = 2;      ///< no run of a pattern begins after this time
  bool verify = false;
  std::string variant;  ///< variant that has to run; empty for the planner's choice
};

/// Runs the patterns of a Spatter file and prints a row for each; writes the rows to `json_path` unless it is empty.
/// Returns whether every entry that was checked is right.
/// @throws error(bad_input) naming file, configuration, field and value; error(out_of_memory) before memory is taken.
bool run_spatter(const context& ctx, const spatter_request& request, const std::string& json_path);

}  // namespace sheaf::bench
