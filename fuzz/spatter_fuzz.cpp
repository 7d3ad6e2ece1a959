// Pattern files are untrusted: whatever the bytes, the parser returns checked configurations, or throws sheaf::error
// with a message that can be shown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <sheaf/error.hpp>

#include "lab/spatter/file.hpp"

namespace {

constexpr std::size_t most_message_bytes = 1024;

// What the promise of spatter_config means to those who run it.
void require(bool kept) {
  if (!kept) std::abort();
}

void look_at(const sheaf::bench::spatter_config& config) {
  constexpr std::uint64_t most = std::uint64_t{1} << 57;
  require(config.gathers() || config.scatters());
  require(config.count > 0 && config.wrap > 0);
  require(config.length() <= most / config.count && config.length() <= most / config.wrap);
  for (const sheaf::bench::spatter_sequence* sequence : {&config.gather, &config.scatter}) {
    if (sequence->places.empty()) continue;
    require(sequence->places.size() == config.length());
    require(sequence->extent(config.count) <= most);
    for (const std::uint64_t place : sequence->places) require(place <= sequence->last_place);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr sheaf::bench::spatter_limits limits{.most_entries = 1 << 16};
  try {
    for (const auto& config :
         sheaf::bench::parse_spatter({reinterpret_cast<const char*>(data), size}, "input", limits)) {
      look_at(config);
    }
  } catch (const sheaf::error& e) {
    const std::string_view message = e.what();
    require(e.code() == sheaf::error_code::bad_input);
    require(message.starts_with("input: ") && message.size() <= most_message_bytes);
    require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
  return 0;
}
