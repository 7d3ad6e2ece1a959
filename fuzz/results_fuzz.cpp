// Results files are untrusted: whatever the bytes, the parser returns rows that can be compared and printed, or throws
// sheaf::error with a message that can be shown.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <sheaf/error.hpp>

#include "lab/harness/compare.hpp"
#include "lab/harness/results_file.hpp"

namespace {

using sheaf::bench::change;
using sheaf::bench::comparison;
using sheaf::bench::recorded_row;

constexpr std::size_t most_message_bytes = 1024;

void require(bool kept) {
  if (!kept) std::abort();
}

bool is_without_controls(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

void look_at(const recorded_row& row) {
  require(!row.backend.empty() && !row.problem.empty() && !row.who.empty());
  require(row.who != "sheaf" || !row.is_peer());
  require(row.least_seconds > 0 && row.least_seconds <= row.median_seconds && row.median_seconds <= row.most_seconds);
  require(std::isfinite(row.most_seconds) && std::isfinite(row.peer_ratio) && row.peer_ratio >= 0);
  for (const std::string& text : {name(row), row.variant, row.figure, row.machine, row.commit}) {
    require(is_without_controls(text));
  }
}

// A file compared with itself has no change.
void compare_with_itself(const std::vector<recorded_row>& rows) {
  for (const bool relative : {false, true}) {
    const sheaf::bench::compare_request request{.old_path = "old", .new_path = "new", .relative = relative};
    if (rows.empty() || (relative && std::ranges::all_of(rows, [](const auto& row) { return row.peer_ratio == 0; }))) {
      continue;
    }
    const comparison found = compare(rows, rows, request);
    require(found.slower_count() == 0 && found.only_before.empty() && found.only_after.empty());
    require(found.wrong_before == found.wrong_after);
    for (const auto& row : found.rows) require(row.change == change::none && row.speedup == 1);
    require(!report_text(found, request).empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto rows = sheaf::bench::parse_results({reinterpret_cast<const char*>(data), size}, "input");
    for (const recorded_row& row : rows) look_at(row);
    compare_with_itself(rows);
  } catch (const sheaf::error& e) {
    const std::string_view message = e.what();
    require(e.code() == sheaf::error_code::bad_input);
    require(message.starts_with("input: ") && message.size() <= most_message_bytes && is_without_controls(message));
  }
  return 0;
}
