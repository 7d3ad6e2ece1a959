#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <sheaf/records.hpp>

#include "io/scratch_file.hpp"
#include "jobs/merge_runs.hpp"
#include "jobs/record_source.hpp"

// Sorting more than memory holds: runs of rows that fit are sorted and written to a file, and merged.
namespace sheaf::jobs {

/// Least memory that these calls keep to, for rows of any width.
constexpr std::uint64_t least_external_bytes = std::uint64_t{1} << 20;

/// Says how much of the reading and writing is done, in rows.
using row_progress = std::function<void(std::uint64_t rows)>;

/// Rows of a run, so that three arrays of them and scratch_bytes(rows) are no more than `memory_bytes`; all `count` at
/// most, and 1 at least.
std::uint64_t rows_per_run(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t memory_bytes,
                           const std::function<std::uint64_t(std::uint64_t rows)>& scratch_bytes);

/// Bytes of a file that write_runs fills.
std::uint64_t run_file_bytes(std::uint64_t count, std::uint64_t record_bytes, std::uint64_t run_rows);

/// Sorts runs of `run_rows` rows and writes them to the file from its start on. While one is sorted, the one before is
/// written and the one after is read, by another thread.
std::vector<sorted_run> write_runs(io::scratch_file& file, const record_source& in, std::uint64_t run_rows,
                                   const std::function<void(const_records in, records out)>& sort,
                                   const row_progress& progress);

struct merged {
  std::uint64_t levels = 0;  ///< how often each row was read
};

/// Merges runs that write_runs wrote, in several levels where they are too many for one.
merged merge_all(io::scratch_file& file, std::vector<sorted_run> runs, const merge_rows& rows,
                 std::uint64_t memory_bytes, const merge_output& output, const row_progress& progress);

}  // namespace sheaf::jobs
