#pragma once

#include <functional>

#include "apps/sheaf/files/scratch_file.hpp"
#include "primitives/sort/key.hpp"

namespace sheaf::jobs {

/// Sorted rows in a file, which begin at a multiple of io::direct_alignment.
struct sorted_run {
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;
};

/// The rows that a merge reads.
struct merge_rows {
  primitives::key_layout key;
  std::uint64_t record_bytes = 0;
};

/// What a merge writes.
struct merge_output {
  std::string_view front;         ///< bytes that precede all rows
  std::uint64_t part_offset = 0;  ///< first byte of the part of each row that is written
  std::uint64_t part_bytes = 0;
  /// Takes blocks in order, in direct_memory, and may change them; all but the last are of one size. It is called from
  /// another thread, which is always the same.
  std::function<void(std::byte* block, std::uint64_t bytes)> write;
  bool releases_runs = false;  ///< space of runs is freed as they are read, but for the last piece of each
  /// Changes a part before it is written; none: parts are written as they are.
  std::function<void(std::byte* part)> change_part = {};
};

/// The most runs that one merge takes within `memory_bytes`: at least 2.
std::uint64_t most_merged_runs(std::uint64_t record_bytes, std::uint64_t memory_bytes);

/// Merges up to most_merged_runs() runs within `memory_bytes`. Among rows of equal keys, those of earlier runs come
/// first.
void merge_runs(io::scratch_file& file, std::span<const sorted_run> runs, const merge_rows& rows,
                std::uint64_t memory_bytes, const merge_output& output);

}  // namespace sheaf::jobs
