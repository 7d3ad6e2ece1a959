#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "io/scratch_file.hpp"
#include "jobs/block_writer.hpp"
#include "primitives/sort_key.hpp"

namespace sheaf::jobs {

/// Rows in order, in a file, from a multiple of io::direct_alignment on.
struct sorted_run {
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;
};

/// What merging needs to know of rows.
struct merge_rows {
  primitives::key_layout key;
  std::uint64_t record_bytes = 0;
};

/// What a merge makes of rows in order.
struct merge_output {
  std::string_view front;         ///< bytes before all rows
  std::uint64_t part_offset = 0;  ///< the part of each row that is written
  std::uint64_t part_bytes = 0;
  block_writer::sink write;    ///< called from one other thread
  bool releases_runs = false;  ///< gives the runs' space in their file back as they are read
};

/// How many runs are merged at once within `memory_bytes`: 2 or more.
std::uint64_t most_merged_runs(std::uint64_t record_bytes, std::uint64_t memory_bytes);

/// Merges runs; of rows with equal keys those of the run named first come first. Takes no more than `memory_bytes` for
/// at most most_merged_runs().
void merge_runs(io::scratch_file& file, std::span<const sorted_run> runs, const merge_rows& rows,
                std::uint64_t memory_bytes, const merge_output& output);

}  // namespace sheaf::jobs
