#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "io/scratch_file.hpp"
#include "primitives/sort_key.hpp"

namespace sheaf::cli {

/// Rows in order, in a file.
struct sorted_run {
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;
};

/// What merging needs to know of rows.
struct merge_rows {
  primitives::key_layout key;
  std::uint64_t record_bytes = 0;
};

/// How many runs are merged at once within `memory_bytes`: 2 or more.
std::uint64_t most_merged_runs(std::uint64_t record_bytes, std::uint64_t memory_bytes);

/// Merges runs, giving their space in the file back as they are read; of rows with equal keys those of the run named
/// first come first. `write` is called from one other thread, with all rows in order. Takes no more than `memory_bytes`
/// for at most most_merged_runs().
void merge_runs(io::scratch_file& file, std::span<const sorted_run> runs, const merge_rows& rows,
                std::uint64_t memory_bytes,
                const std::function<void(const std::byte* rows, std::uint64_t count)>& write);

}  // namespace sheaf::cli
