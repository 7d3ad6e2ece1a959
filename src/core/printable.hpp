#pragma once

#include <string>
#include <string_view>

namespace sheaf::core {

/// Untrusted bytes for a message: unprintable ones are escaped, and long text is cut.
std::string printable(std::string_view bytes);

}  // namespace sheaf::core
