// The name of a problem is untrusted: whatever the text, the parser returns a problem that is written as the same text
// and whose entry can say what it is, or throws sheaf::error with a message that can be shown.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sheaf/error.hpp>

#include "lab/description/entry.hpp"
#include "lab/description/job.hpp"
#include "lab/description/keys.hpp"

namespace {

constexpr std::size_t most_message_bytes = 1024;

void require(bool kept) {
  if (!kept) std::abort();
}

void look_at(const sheaf::primitives::problem_spec& p, std::string_view text) {
  require(name(p) == text);
  const sheaf::primitives::entry& entry = entry_of(p);
  require(entry.name == text.substr(0, text.find('/')));
  require(p.record_bytes >= 1 && p.record_bytes <= 65536);
  require(p.part<sheaf::primitives::key_part>().bits >= 1);
  const sheaf::jobs::job& job = sheaf::jobs::job_of(p);
  if (job.unchecked(p).empty()) job.shapes(p);
}

void read(std::string_view text) {
  try {
    look_at(sheaf::primitives::parse_problem(text), text);
  } catch (const sheaf::error& e) {
    require(e.code() == sheaf::error_code::bad_argument);
    const std::string_view message = e.what();
    require(!message.empty() && message.size() <= most_message_bytes);
    require(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

}  // namespace

// Every line is one name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (;;) {
    const std::size_t end = rest.find('\n');
    read(rest.substr(0, end));
    if (end == rest.npos) return 0;
    rest.remove_prefix(end + 1);
  }
}
