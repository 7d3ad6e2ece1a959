#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sheaf::io {

// Reads and writes that move all bytes, because one system call may move fewer than asked for. If they return false,
// errno says why; it is 0 at the end of the file.

bool read_whole(int descriptor, std::uint64_t offset, void* to, std::uint64_t bytes) noexcept;
bool write_whole(int descriptor, std::uint64_t offset, const void* from, std::uint64_t bytes) noexcept;

// The same of streams, such as pipes, which have no offsets. They wait also where the other end of the stream has asked
// that its calls do not wait (O_NONBLOCK), which counts for both.

/// Reads what there is, up to `bytes`; 0 at the end of the stream, -1 with errno.
ssize_t read_stream(int descriptor, void* to, std::uint64_t bytes) noexcept;
bool write_stream(int descriptor, const void* from, std::uint64_t bytes) noexcept;

}  // namespace sheaf::io
