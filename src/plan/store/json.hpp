#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "plan/store/input_file.hpp"

// One checked way to read JSON, for all files that hold it. Documents are untrusted. All functions throw
// error(bad_input) with a short message that names origin and place, whatever the document holds.
namespace sheaf::io {

/// A kind of document, and what is the most that one of this kind may be.
struct json_format {
  std::string_view name;  ///< in messages: "a pattern file"
  std::uint64_t most_bytes = 0;
  std::uint64_t deepest_nesting = 0;  ///< lists and objects that are inside each other
};

/// Parses a whole document. Beyond what JSON forbids, it refuses bytes after the document, a zero byte among them;
/// a name that an object has twice; and what is longer or deeper than the format may be.
/// @param origin  names the text in messages, which go on with the place: "m.json: rows[2].who: not JSON: ..."
nlohmann::json parse_json(std::string_view text, const std::string& origin, const json_format& format);

/// Reads a file and parses it. The mapping of the file is not touched: whoever cuts the file short meanwhile causes an
/// error message, and no signal.
nlohmann::json read_json(const input_file& file, const json_format& format);
nlohmann::json load_json(const std::string& path, const json_format& format);

/// A value for a message: "7", "\"abc\"", "a list of 3", "an object". Long ones are cut, and all of it is printable.
std::string shown(const nlohmann::json& value);

}  // namespace sheaf::io
