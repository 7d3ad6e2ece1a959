#include "bench/harness/results_file.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "io/input_file.hpp"

namespace sheaf::bench {
namespace {

using nlohmann::json;

// The text of a row has about 700 bytes. A parsed list of numbers takes up to 16 times the bytes of its text.
constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 26;
constexpr std::size_t most_text_bytes = 256;
constexpr std::size_t most_parser_message_bytes = 200;
constexpr int deepest_nesting = 8;
// Quotients of two times inside these bounds are finite and above zero.
constexpr double least_time = 1e-12;
constexpr double most_time = 1e6;
constexpr double least_ratio = 1e-9;
constexpr double most_ratio = 1e9;

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", place, what));
}

std::string shortened(const std::string& text, std::size_t most = 40) {
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

// Text of an untrusted file that a terminal can be given: a byte that is not printable ASCII becomes a question mark.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string value_text(const json& value) {
  if (value.is_structured()) return value.is_array() ? fmt::format("a list of {}", value.size()) : "an object";
  return shortened(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

// Valid UTF-8 without control characters. Those of the second set, U+0080 to U+009F, are two bytes in UTF-8.
bool is_printable(const std::string& text) {
  char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (before == '\xc2' && byte < 0xa0)) return false;
    before = c;
  }
  return true;
}

class row_reader {
 public:
  row_reader(const json& row, std::string place) : row_(row), place_(std::move(place)) {
    if (!row.is_object()) fail(place_, fmt::format("is {}, not an object", value_text(row)));
  }

  // Later messages name the row by its problem, too.
  void name_row(const std::string& name) { place_ += fmt::format(" ({})", name); }

  std::string text(const char* field) const {
    std::string value = text_or_empty(field);
    if (value.empty()) fail(place_, fmt::format("{} is empty", field));
    return value;
  }

  std::string text_or_empty(const char* field) const {
    if (!row_.contains(field)) fail(place_, fmt::format("{} is missing", field));
    return optional_text(field);
  }

  std::string optional_text(const char* field) const {
    if (!row_.contains(field)) return {};
    const json& value = row_[field];
    if (!value.is_string()) fail(place_, fmt::format("{} is {}, not a string", field, value_text(value)));
    const std::string& text = value.get_ref<const std::string&>();
    if (text.size() > most_text_bytes || !is_printable(text)) {
      fail(place_, fmt::format("{} is not a name of at most {} printable characters", field, most_text_bytes));
    }
    return text;
  }

  double seconds(const char* field) const {
    if (!row_.contains(field)) fail(place_, fmt::format("{} is missing", field));
    return number(field, least_time, most_time, "a time in seconds");
  }

  // 0 where there is none.
  double peer_ratio() const {
    constexpr const char* field = "peer_ratio";
    if (!row_.contains(field) || row_[field].is_null()) return 0;
    return number(field, least_ratio, most_ratio, "a ratio");
  }

  bool verified() const {
    constexpr const char* field = "verified";
    if (!row_.contains(field)) return true;
    if (!row_[field].is_boolean()) fail(place_, fmt::format("{} is {}, not a bool", field, value_text(row_[field])));
    return row_[field].get<bool>();
  }

  // A row without a variant is a peer's, which decides nothing, so a row of ours must not pass for one.
  void check_variant(const recorded_row& row) const {
    if (row.who == "sheaf" && row.is_peer()) fail(place_, "variant is empty, which only a peer's is");
  }

  void check_order(const recorded_row& row) const {
    if (row.least_seconds > row.median_seconds) fail(place_, "least_seconds is over median_seconds");
    if (row.median_seconds > row.most_seconds) fail(place_, "median_seconds is over most_seconds");
  }

 private:
  double number(const char* field, double least, double most, const char* kind) const {
    const json& value = row_[field];
    // The comparison is false for a NaN.
    if (value.is_number() && value.get<double>() >= least && value.get<double>() <= most) return value.get<double>();
    fail(place_, fmt::format("{} is {}, not {} from {:g} to {:g}", field, value_text(value), kind, least, most));
  }

  const json& row_;
  std::string place_;
};

recorded_row read_row(const json& object, const std::string& place) {
  row_reader in(object, place);
  recorded_row row;
  row.problem = in.text("problem");
  row.who = in.text("who");
  in.name_row(fmt::format("{}/{}", row.problem, row.who));
  row.backend = in.text("backend");
  row.variant = in.text_or_empty("variant");
  in.check_variant(row);
  row.figure = in.optional_text("figure");
  row.machine = in.optional_text("machine");
  row.commit = in.optional_text("commit");
  row.median_seconds = in.seconds("median_seconds");
  row.least_seconds = in.seconds("least_seconds");
  row.most_seconds = in.seconds("most_seconds");
  row.peer_ratio = in.peer_ratio();
  row.verified = in.verified();
  in.check_order(row);
  return row;
}

// Follows the parser, so that a syntax error or a number that no double holds is reported with its row and field.
// Refuses two things that the parser accepts: deep nesting, and a name that an object has twice.
class position {
 public:
  using event = json::parse_event_t;

  explicit position(const std::string& origin) : origin_(origin) {}

  void advance(int depth, event what, const json& parsed) {
    if (depth > deepest_nesting) fail(origin_, "nested deeper than a results file is");
    switch (what) {
      case event::key: enter_field(depth, parsed.get_ref<const std::string&>()); break;
      case event::object_start: names_[static_cast<std::size_t>(depth) + 1].clear(); break;
      case event::array_start: break;
      case event::object_end:
      case event::array_end:
      case event::value: leave_value(depth); break;
    }
  }

  std::string row_text() const { return in_rows_ ? fmt::format("{}: row {}", origin_, rows_left_) : origin_; }

  std::string field_text() const {
    return field_.empty() ? row_text() : fmt::format("{}: {}", row_text(), shortened(printable(field_)));
  }

 private:
  // How many lists and objects a name of the document, a row, and a name of a row are in.
  static constexpr int document_depth = 1;
  static constexpr int row_depth = 2;
  static constexpr int field_depth = 3;

  void enter_field(int depth, const std::string& name) {
    if (!names_[static_cast<std::size_t>(depth)].insert(name).second) {
      fail(row_text(), fmt::format("'{}' is there twice", shortened(printable(name))));
    }
    if (depth == document_depth) {
      in_rows_ = name == "rows";
      field_ = in_rows_ ? "" : name;
    }
    if (depth == field_depth && in_rows_) field_ = name;
  }

  void leave_value(int depth) {
    if (in_rows_ && depth == row_depth) {
      ++rows_left_;
      field_.clear();
    }
    if (depth < row_depth) in_rows_ = false;
  }

  const std::string& origin_;
  std::string field_;
  bool in_rows_ = false;
  std::uint64_t rows_left_ = 0;
  std::array<std::set<std::string>, deepest_nesting + 2> names_;  ///< of the objects that the parser is in, by depth
};

json parse_json(std::string_view text, const std::string& origin) {
  // The parser takes a zero byte for the end of the text.
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    fail(origin, fmt::format("not JSON: byte {} is zero", zero));
  }
  position here(origin);
  try {
    return json::parse(text, [&](int depth, json::parse_event_t what, json& parsed) {
      here.advance(depth, what, parsed);
      return true;
    });
  } catch (const json::exception& e) {
    fail(here.field_text(), fmt::format("not JSON: {}", shortened(printable(e.what()), most_parser_message_bytes)));
  }
}

}  // namespace

std::string name(const recorded_row& row) {
  return fmt::format("{}{}{} {}/{}", row.figure, row.figure.empty() ? "" : " ", row.backend, row.problem, row.who);
}

std::vector<recorded_row> parse_results(std::string_view text, const std::string& origin) {
  const json document = parse_json(text, origin);
  if (!document.is_object()) fail(origin, fmt::format("is {}, not an object with rows", value_text(document)));
  if (!document.contains("schema_version")) fail(origin, "schema_version is missing");
  if (document["schema_version"] != 1) {
    fail(origin, fmt::format("schema_version is {}, not 1", value_text(document["schema_version"])));
  }
  if (!document.contains("rows")) fail(origin, "rows is missing, which sheaf-bench --json writes");
  const json& list = document["rows"];
  if (!list.is_array()) fail(origin, fmt::format("rows is {}, not a list", value_text(list)));
  std::vector<recorded_row> rows;
  rows.reserve(list.size());
  for (const json& object : list) rows.push_back(read_row(object, fmt::format("{}: row {}", origin, rows.size())));
  return rows;
}

std::vector<recorded_row> load_results(const std::string& path) {
  const io::input_file file(path);
  if (file.size() > most_file_bytes) {
    fail(path, fmt::format("{} bytes, a results file has at most {}", file.size(), most_file_bytes));
  }
  // A copy, because reading a mapping that somebody cuts short ends the program.
  std::string text(file.size(), '\0');
  file.read_at(0, text.data(), text.size());
  return parse_results(text, path);
}

}  // namespace sheaf::bench
