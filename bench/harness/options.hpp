#pragma once

#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <sheaf/context.hpp>

#include "bench/harness/compare.hpp"
#include "bench/harness/problem.hpp"
#include "bench/harness/rows.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/sweep.hpp"
#include "bench/papers/run.hpp"
#include "bench/spatter/command.hpp"

namespace sheaf::bench {

struct options {
  sweep what;
  std::optional<std::regex> filter;
  row_options rows;
  bench::effort effort;
  std::vector<backend_kind> backends;
  bool backends_named = false;  ///< a backend that is not there is an error then, else it is left out
  int threads = 0;
  bool list = false;
  bool warm = false;  ///< let data stay in cache
  std::string json_path;
  std::string record_path;
  std::optional<compare_request> compare;
  papers::request papers;
  spatter_request spatter;
};

/// Reads the command line; prints help or what is wrong with it, and then returns the exit code instead.
std::optional<int> parse(int argc, char** argv, options& parsed);

}  // namespace sheaf::bench
