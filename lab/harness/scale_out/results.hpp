#pragma once

#include <string>
#include <vector>

#include "distributed/cost.hpp"
#include "lab/harness/report.hpp"

// What sheaf-bench scale-out measures: a call on several devices beside the same call on one of them, with as many rows
// for each.
namespace sheaf::bench::scale_out {

/// Where calls between ranks run.
struct place {
  backend_kind backend = backend_kind::cpu;
  int devices = 2;  ///< GPUs of this machine, or ranks on the CPU
  distributed::link_kind link = distributed::link_kind::threads;
};

/// What one contender took.
struct row {
  std::string problem;  ///< of one device: "sort_keys/uniform/r8/u64/n=134217728"
  std::string who = "sheaf";
  bool is_prepared = false;
  place where = {};
  timing time = {};                  ///< on all devices, each with as many rows
  double one_seconds = 0;            ///< the median on one device; 0 of a peer that has no such call
  double sent_bytes = 0;             ///< that a device sends to others, and takes of them
  double bound_seconds = 0;          ///< of NCCL's all-to-all of as many bytes; 0 without NCCL
  distributed::call_cost cost = {};  ///< as predicted; of ours
  bool verified = false;             ///< the answer is that of one device for all rows

  /// Rows that are done in the time in which one device does its own, over these.
  double ratio() const noexcept {
    return time.median_seconds > 0 ? where.devices * one_seconds / time.median_seconds : 0;
  }
};

struct link {
  place where;
  distributed::link_rates rates;
};

struct results {
  std::vector<row> rows;
  std::vector<link> links;

  bool are_right() const;
  /// Lists for write_json(): "scale_out_rows" and "links".
  std::vector<named_list> lists() const;
};

std::string_view name(distributed::link_kind kind) noexcept;
void print(const row& row);
void print(const link& link);
/// Prints how far predictions were off.
void print_summary(const results& all);

}  // namespace sheaf::bench::scale_out
