#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sheaf::io {

/// Copies bytes [offset, offset + bytes) of an array's data.
using read_data = std::function<void(std::uint64_t offset, void* to, std::uint64_t bytes)>;

/// Copies rows [first, first + number) of an array whose first axis runs fastest (Fortran order), into rows side by
/// side in C order. Beside the rows it holds a block of what it reads: an eighth of them, 64 KiB at least and 4 MiB at
/// most, or an item. @param shape  one axis or more, of no extent 0
void read_column_major(const read_data& read, std::span<const std::uint64_t> shape, std::uint64_t item_bytes,
                       std::uint64_t first, std::uint64_t number, std::byte* to);

}  // namespace sheaf::io
