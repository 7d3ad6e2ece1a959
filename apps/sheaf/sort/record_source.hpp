#pragma once

#include <functional>

#include "apps/sheaf/files/record_file.hpp"

namespace sheaf::jobs {

/// Records that are read a range at a time, from memory or from a file.
struct record_source {
  std::uint64_t count = 0;
  std::uint64_t record_bytes = 0;
  /// Copies records [first, first + number) side by side.
  std::function<void(std::uint64_t first, std::uint64_t number, std::byte* to)> read;
};

/// The memory, or the file, must outlive the source.
record_source source_of(const_records in_memory);
record_source source_of(const io::record_file& file, const_records rows);

/// Calls `take` with all records in order, a block at a time; the next block is read meanwhile.
void for_each_block(const record_source& from,
                    const std::function<void(std::uint64_t first, const_records block)>& take);

}  // namespace sheaf::jobs
