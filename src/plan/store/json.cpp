#include "plan/store/json.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sheaf/error.hpp>

namespace sheaf::io {
namespace {

using nlohmann::json;

constexpr std::size_t most_value_bytes = 40;
constexpr std::size_t most_reason_bytes = 200;

[[noreturn]] void fail_parsing(const std::string& place, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", place, what));
}

std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  text.resize(most);
  return text + "...";
}

// Bytes of the document that a terminal can be given: what is not printable ASCII becomes a question mark.
std::string quoted(std::string text, std::size_t most) {
  text = shortened(std::move(text), most);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// The library's words without its name for them, "[json.exception.parse_error.101] ". They quote the document.
std::string reason_of(const json::exception& e) {
  std::string words = e.what();
  if (const auto end = words.find("] "); words.starts_with('[') && end != std::string::npos) words.erase(0, end + 2);
  return quoted(std::move(words), most_reason_bytes);
}

// Follows the parser, so that an error is reported with its place, and refuses what the parser accepts: deep nesting,
// before it can exhaust the stack, and a name that an object has twice.
class position {
 public:
  using event = json::parse_event_t;

  position(const std::string& origin, const json_format& format) : origin_(origin), format_(format) {}

  void advance(event what, const json& parsed) {
    switch (what) {
      case event::object_start: return enter(true);
      case event::array_start: return enter(false);
      case event::key: return take_name(parsed.get_ref<const std::string&>());
      case event::object_end:
      case event::array_end: open_.pop_back(); return leave_value();
      case event::value: return leave_value();
    }
  }

  /// "origin: rows[2].who"
  std::string text() const {
    std::string path;
    for (const container& c : open_) {
      if (!c.is_object) {
        path += fmt::format("[{}]", c.entries_done);
      } else if (!c.name.empty()) {
        path += fmt::format("{}{}", path.empty() ? "" : ".", quoted(c.name, most_value_bytes));
      }
    }
    return path.empty() ? origin_ : fmt::format("{}: {}", origin_, path);
  }

 private:
  // A list or an object that the parser is in.
  struct container {
    bool is_object;
    std::string name = {};             ///< of an object's member that was begun last
    std::set<std::string> names = {};  ///< of an object's members so far
    std::uint64_t entries_done = 0;    ///< of a list: entries that are parsed
  };

  void enter(bool is_object) {
    if (open_.size() == format_.deepest_nesting) {
      fail_parsing(origin_, fmt::format("nested deeper than {} is", format_.name));
    }
    open_.push_back({.is_object = is_object});
  }

  void take_name(const std::string& name) {
    container& object = open_.back();
    object.name.clear();
    if (!object.names.insert(name).second)
      fail_parsing(text(), fmt::format("'{}' appears twice", quoted(name, most_value_bytes)));
    object.name = name;
  }

  void leave_value() {
    if (!open_.empty()) ++open_.back().entries_done;
  }

  const std::string& origin_;
  const json_format& format_;
  std::vector<container> open_;
};

void require_size(std::uint64_t bytes, const std::string& origin, const json_format& format) {
  if (bytes <= format.most_bytes) return;
  fail_parsing(origin, fmt::format("{} bytes, but {} has at most {}", bytes, format.name, format.most_bytes));
}

}  // namespace

json parse_json(std::string_view text, const std::string& origin, const json_format& format) {
  require_size(text.size(), origin, format);
  // The parser takes a zero byte for the end of the text.
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    fail_parsing(origin, fmt::format("not JSON: byte {} is zero", zero));
  }
  position here(origin, format);
  try {
    return json::parse(text, [&](int, json::parse_event_t what, json& parsed) {
      here.advance(what, parsed);
      return true;
    });
  } catch (const json::exception& e) {
    fail_parsing(here.text(), fmt::format("not JSON: {}", reason_of(e)));
  }
}

json read_json(const input_file& file, const json_format& format) {
  require_size(file.size(), file.path(), format);
  std::string text(file.size(), '\0');
  file.read_at(0, text.data(), text.size());
  return parse_json(text, file.path(), format);
}

json load_json(const std::string& path, const json_format& format) { return read_json(input_file(path), format); }

std::string shown(const json& value) {
  if (value.is_structured()) return value.is_array() ? fmt::format("a list of {}", value.size()) : "an object";
  const auto dumped = [](const json& part) { return part.dump(-1, ' ', true, json::error_handler_t::replace); };
  if (!value.is_string()) return shortened(dumped(value), most_value_bytes);
  // Only the beginning is escaped, because the whole may be megabytes.
  return shortened(dumped(value.get_ref<const std::string&>().substr(0, most_value_bytes + 1)), most_value_bytes);
}

}  // namespace sheaf::io
