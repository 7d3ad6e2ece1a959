#pragma once

#include "apps/sheaf/files/scratch_file.hpp"
#include "apps/sheaf/sort/merge_runs.hpp"
#include "apps/sheaf/sort/record_source.hpp"

// External merge sort, for more rows than memory holds: runs that fit are sorted and written to a file, then merged.
namespace sheaf::jobs {

/// The least memory limit that these calls can keep to, for rows of any width.
constexpr std::uint64_t least_external_bytes = std::uint64_t{1} << 20;

/// Told how many more rows have been written.
using row_progress = std::function<void(std::uint64_t rows)>;

/// The rows of a run, 1 to `count`, so that three arrays of a run and scratch_bytes(rows) fit in `memory_bytes`.
std::uint64_t rows_per_run(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t memory_bytes,
                           const std::function<std::uint64_t(std::uint64_t rows)>& scratch_bytes);

/// Whether runs and output bypass the system's cache: unless their blocks are small, because memory is.
io::cache_use cache_use_for(std::uint64_t memory_bytes);

/// Bytes of the file that write_runs fills.
std::uint64_t run_file_bytes(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t run_rows);

/// Sorts runs of `run_rows` rows and writes them to the file from its start on. While one run is sorted, another thread
/// writes the run before it and reads the run after it.
std::vector<sorted_run> write_runs(io::scratch_file& file, const record_source& in, std::uint64_t run_rows,
                                   const std::function<void(const_records in, records out)>& sort,
                                   const row_progress& progress);

struct merged {
  std::uint64_t levels = 0;  ///< how often each row was read
};

/// In how many levels merge_all merges so many runs.
std::uint64_t merge_levels(std::uint64_t runs, std::uint64_t record_bytes, std::uint64_t memory_bytes);

/// Merges the runs of write_runs: in one level, or in several if there are more runs than one merge takes.
merged merge_all(io::scratch_file& file, std::vector<sorted_run> runs, const merge_rows& rows,
                 std::uint64_t memory_bytes, const merge_output& output, const row_progress& progress);

}  // namespace sheaf::jobs
