#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sheaf::io {

/// Reserves the first `bytes` of an open file on its disk, where the file system can. Returns why that cannot be, or
/// nothing. A file that is larger than what is free takes none of it: posix_fallocate takes all that there is before it
/// fails, which other programs would feel, so it begins only after the file system has said that there is enough.
std::optional<std::string> reserve(int descriptor, std::uint64_t bytes);

}  // namespace sheaf::io
