#pragma once

#include <string>

namespace sheaf::io {

/// Opens a new file in this folder for reading and writing. It has no name, so that nothing is left of it however the
/// process ends. Returns -1 where that fails, and errno says why.
int open_without_name(const std::string& folder) noexcept;

}  // namespace sheaf::io
