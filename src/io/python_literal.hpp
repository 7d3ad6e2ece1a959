#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::io {

/// A literal of the kinds that array headers hold, and where it stands in its text.
struct python_value {
  enum class kind : std::uint8_t { none, boolean, integer, text, tuple, list, dict };

  kind type = kind::none;
  bool truth = false;                  ///< of a boolean
  std::optional<std::uint64_t> whole;  ///< of an integer, unless it is negative or does not fit
  std::string_view text;               ///< what stands between the quotes; a backslash is left as it is
  std::vector<python_value> items;     ///< of a tuple or list; of a dict key, value, key, value
  std::uint64_t begin = 0;             ///< bytes of the text that the value takes
  std::uint64_t end = 0;
};

/// Reads one literal, which must fill the text but for white space; nothing is evaluated. The values point into `text`.
/// @param offset  where the text stands in its file, for messages.
/// @throws error(bad_input) naming origin, byte offset and what stands there.
python_value parse_python_literal(std::string_view text, const std::string& origin, std::uint64_t offset);

/// Untrusted bytes as a message shows them: what is not printable is escaped, and what is long is cut.
std::string printable(std::string_view bytes);

}  // namespace sheaf::io
