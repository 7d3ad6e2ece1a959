#pragma once

#include <cstdint>

namespace sheaf::io {

// Reads and writes that move all bytes, because one system call may move fewer than asked for. If they return false,
// errno says why; it is 0 at the end of the file.

bool read_whole(int descriptor, std::uint64_t offset, void* to, std::uint64_t bytes) noexcept;
bool write_whole(int descriptor, std::uint64_t offset, const void* from, std::uint64_t bytes) noexcept;

}  // namespace sheaf::io
