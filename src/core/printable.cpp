#include "core/printable.hpp"

#include <fmt/format.h>

namespace sheaf::core {
namespace {

constexpr std::size_t most_shown_bytes = 60;

}  // namespace

std::string printable(std::string_view bytes) {
  std::string shown;
  for (const char c : bytes.substr(0, most_shown_bytes)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (bytes.size() > most_shown_bytes) shown += "...";
  return shown;
}

}  // namespace sheaf::core
