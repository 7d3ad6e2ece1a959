#pragma once

#include <cstdint>

namespace sheaf::io {

// All bytes or none count: the system may move fewer at a time than it was asked to. Where these return false, errno
// says why; it is 0 where the file has ended.

bool read_whole(int descriptor, std::uint64_t offset, void* to, std::uint64_t bytes) noexcept;
bool write_whole(int descriptor, std::uint64_t offset, const void* from, std::uint64_t bytes) noexcept;

}  // namespace sheaf::io
