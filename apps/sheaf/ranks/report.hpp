#pragma once

#include <chrono>

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/command.hpp"

// What the first process says of a call.
namespace sheaf::cli {

using steady_time = std::chrono::steady_clock::time_point;
double seconds_since(steady_time start);

/// How many work.
struct workers {
  int processes = 1;
  int threads = 1;  ///< of each

  workers() = default;
  workers(const distributed::group& ranks) : processes(ranks.size()), threads(ranks.local().threads()) {}
};
/// What reports of work on many processes begin with.
nlohmann::json report_of_ranks(const std::string& command, const workers& all);
/// "3 processes of 2 threads"
std::string text_of_ranks(const workers& all);

/// Records that were moved.
struct ranks_report {
  const char* command;
  std::uint64_t records;
  std::uint64_t record_bytes;
  double seconds;         ///< of the call
  double seconds_of_all;  ///< with reading and writing
};
void print_ranks_report(const common_options& common, const distributed::group& ranks, const std::string& output,
                        const ranks_report& report);

}  // namespace sheaf::cli
