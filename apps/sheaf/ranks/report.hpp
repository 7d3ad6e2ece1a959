#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <sheaf/distributed/group.hpp>

#include "apps/sheaf/command.hpp"

// What the first rank says of a call.
namespace sheaf::cli {

using steady_time = std::chrono::steady_clock::time_point;
double seconds_since(steady_time start);

/// How many work.
struct workers {
  int ranks = 1;
  int threads = 1;           ///< of each, on the CPU
  std::vector<int> devices;  ///< CUDA's numbers, one for each rank; none on the CPU
  std::string device;        ///< the name of the first
};
/// Collective.
workers workers_of(const distributed::group& ranks);
/// What reports of work on many ranks begin with.
nlohmann::json report_of_ranks(const std::string& command, const workers& all);
/// "3 processes of 2 threads", "2 GPUs"
std::string text_of_ranks(const workers& all);

/// Records that were moved.
struct ranks_report {
  const char* command;
  std::uint64_t records;
  std::uint64_t record_bytes;
  double seconds;         ///< of the call
  double seconds_of_all;  ///< with reading and writing
};
/// Collective.
void print_ranks_report(const common_options& common, const distributed::group& ranks, const std::string& output,
                        const ranks_report& report);

}  // namespace sheaf::cli
