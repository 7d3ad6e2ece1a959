#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/printable.hpp"

namespace sheaf::io {

/// A Python literal of the kinds that array headers hold, and its position in the text.
struct python_value {
  enum class kind : std::uint8_t { none, boolean, integer, text, tuple, list, dict };

  kind type = kind::none;
  bool truth = false;                  ///< value of a boolean
  std::optional<std::uint64_t> whole;  ///< value of an integer; none if it is negative or does not fit
  std::string_view text;               ///< characters between the quotes, with backslashes as they are
  std::vector<python_value> items;     ///< items of a tuple or list; of a dict key, value, key, value
  std::uint64_t begin = 0;             ///< byte range of the value in the text
  std::uint64_t end = 0;
};

/// Reads one literal, which must fill the text except for white space. Evaluates nothing. The values point into `text`.
/// @param offset  position of the text in its file, for messages.
/// @throws error(bad_input) naming origin, byte offset and the text there.
python_value parse_python_literal(std::string_view text, const std::string& origin, std::uint64_t offset);

using core::printable;

}  // namespace sheaf::io
