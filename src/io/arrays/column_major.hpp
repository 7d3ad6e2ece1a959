#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace sheaf::io {

/// Copies bytes [offset, offset + bytes) of an array's data.
using read_data = std::function<void(std::uint64_t offset, void* to, std::uint64_t bytes)>;

/// Copies rows [first, first + number) of an array whose first axis runs fastest (Fortran order), into rows side by
/// side in C order. The array is read in blocks, of which a few MiB are held; where `number` is all rows, they are read
/// from the first byte to the last. @param shape  one axis or more, of no extent 0
void read_column_major(const read_data& read, std::span<const std::uint64_t> shape, std::uint64_t item_bytes,
                       std::uint64_t first, std::uint64_t number, std::byte* to);

}  // namespace sheaf::io
