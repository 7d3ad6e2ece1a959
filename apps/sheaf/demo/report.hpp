#pragma once

#include <string>
#include <vector>

#include "apps/sheaf/demo/run.hpp"

namespace sheaf::jobs {

/// The demo's results as one self-contained HTML page: what matters of each family, and all rows folded below.
std::string demo_page(const std::vector<demo_result>& results);
/// Writes the page to a file, whole or not at all. @throws error(io_failure)
void write_demo_page(const std::vector<demo_result>& results, const std::string& path);

/// "1.234 ms", "12.3 us".
std::string shown_time(double seconds);
/// "a streamed copy of as many bytes, 60.1 GB/s in 512 MiB, 180.2 GB/s in 64 KiB"
std::string limit_text(const copy_limits& limits);

}  // namespace sheaf::jobs
