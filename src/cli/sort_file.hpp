#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sheaf/plan.hpp>
#include <sheaf/records.hpp>
#include <sheaf/sort.hpp>

#include "cli/command.hpp"
#include "io/record_file.hpp"

namespace sheaf::cli {

/// A file to be sorted, and where the result goes.
struct sort_job {
  const common_options& common;
  const io::record_file& file;
  const_records rows;  ///< of the file, mapped
  sort_key key;
  std::string output;
  std::optional<index_type> index;  ///< instead of records, where they come from
  std::uint64_t memory_bytes = 0;

  std::uint64_t written_bytes() const { return index ? bytes(*index) : rows.record_bytes; }
};

/// How it was sorted.
struct sort_report {
  backend_kind backend = backend_kind::cpu;
  int threads = 1;
  explanation plan;  ///< of all rows, or of the first run
  std::uint64_t runs = 1;
  std::uint64_t merge_levels = 0;  ///< 0: in memory, without a merge
  double seconds = 0;              ///< in memory, of the sort alone; else with all reading and writing
};

/// Sorts in memory where rows, result and scratch fit into the job's memory, else run by run. The output is there once
/// this returns. @throws verification_failed where that is asked for
sort_report sort_file(const sort_job& job);

}  // namespace sheaf::cli
