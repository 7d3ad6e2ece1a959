#pragma once

#include <regex>

#include "lab/description/sweep.hpp"
#include "lab/harness/compare.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/requests.hpp"
#include "lab/harness/rows.hpp"
#include "lab/harness/runner.hpp"
#include "lab/spatter/command.hpp"
#include "papers/run.hpp"

namespace sheaf::bench {

/// Every count-th row of a sweep, from row number `index` on.
struct shard {
  std::uint64_t index = 0;
  std::uint64_t count = 1;
};
/// "2/8", the second of eight. @throws error(bad_argument)
shard parse_shard(std::string_view text);

struct options {
  primitives::sweep sweep;
  std::vector<problem> named_rows;  ///< rows asked for by name, in place of the sweep's
  std::optional<std::regex> filter;
  bench::shard shard;
  row_options rows;
  timing_limits limits;
  std::vector<backend_kind> backends;
  bool backends_named = false;  ///< the user named a backend; it is an error if that is missing, and not skipped
  int threads = 0;
  bool list = false;
  bool warm = false;  ///< data may stay in the cache between calls
  std::string json_path;
  std::string record_path;
  std::optional<compare_request> compare;
  std::vector<std::string> factor_files;  ///< results whose factors are printed; nothing is run
  std::vector<std::string> described;     ///< rows whose descriptions are printed; nothing is run
  papers::request papers;
  spatter_request spatter;
  spmv_request spmv;
  solve_request solve;
  edges_request edges;
  scale_out_request scale_out;
};

/// Reads the command line. If it asks for help or is wrong, prints that and returns the exit code.
std::optional<int> parse(int argc, char** argv, options& parsed);

}  // namespace sheaf::bench
