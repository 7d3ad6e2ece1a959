#pragma once

#include <string>

namespace sheaf::bench {

/// "12.30 us", "4.567 ms", "8.901 s"
std::string time_text(double seconds);

}  // namespace sheaf::bench
