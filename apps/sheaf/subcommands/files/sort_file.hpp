#pragma once

#include "apps/sheaf/command.hpp"
#include "apps/sheaf/files/record_file.hpp"
#include "apps/sheaf/sort/row_order.hpp"
#include "apps/sheaf/subcommands/movement.hpp"

namespace sheaf::cli {

/// A file to sort, and the output.
struct sort_job {
  const common_options& common;
  const io::record_file& file;
  const_records rows;  ///< rows of the file, which is mapped only to be sorted in memory
  jobs::row_order order;
  std::string output;
  std::optional<index_type> index;  ///< type of the gather index to write; none: records
  std::uint64_t memory_bytes = 0;

  std::uint64_t written_bytes() const { return index ? bytes(*index) : rows.record_bytes; }
};

/// How a file is to be sorted.
struct sort_plan {
  explanation plan;  ///< for all rows, or for the first run
  bool in_memory = true;
  std::uint64_t left_bytes = 0;  ///< of the job's memory beside arrays and scratch, if in memory
  std::uint64_t run_rows = 0;    ///< rows of a run, else
};

/// Plans a sort in memory if rows, result and scratch fit into the memory of the job, else run by run. Reads no rows.
/// @param ctx  limited to the job's memory, if the sort is in memory and on the host
sort_plan plan_sort(context& ctx, const sort_job& job);
/// The runs, and the levels in which they are merged, of a sort that is not in memory.
struct planned_runs {
  std::uint64_t runs = 0;
  std::uint64_t merge_levels = 0;
  std::uint64_t run_bytes = 0;  ///< of the file of all runs
};
planned_runs runs_of(const sort_job& job, const sort_plan& plan);

/// How a file was sorted.
struct sort_report {
  backend_kind backend = backend_kind::cpu;
  std::string device;
  int threads = 1;
  explanation plan;  ///< plan for all rows, or for the first run
  std::uint64_t sorted_runs = 1;
  std::uint64_t merge_levels = 0;  ///< levels of merges; 0: sorted in memory
  run_times times;                 ///< of the sort alone if in memory, else with all reading and writing
};

/// Sorts as planned, --runs times if in memory. The output exists once this returns. @throws error(bad_argument) for
/// --runs of a sort that is not in memory; verification_failed if the job asks for verification
sort_report sort_file(const sort_job& job);

}  // namespace sheaf::cli
