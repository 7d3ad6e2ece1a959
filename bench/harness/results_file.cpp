#include "bench/harness/results_file.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "io/input_file.hpp"

namespace sheaf::bench {
namespace {

using nlohmann::json;

constexpr std::uint64_t most_file_bytes = std::uint64_t{1} << 30;
constexpr std::size_t most_text_bytes = 256;
constexpr int deepest_nesting = 8;
// Quotients of two times inside these bounds are finite and above zero.
constexpr double least_time = 1e-12;
constexpr double most_time = 1e6;
constexpr double least_ratio = 1e-9;
constexpr double most_ratio = 1e9;

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", place, what));
}

std::string shortened(const std::string& text) { return text.size() <= 40 ? text : text.substr(0, 40) + "..."; }

std::string value_text(const json& value) {
  if (value.is_structured()) return value.is_array() ? fmt::format("a list of {}", value.size()) : "an object";
  return shortened(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

class row_reader {
 public:
  row_reader(const json& row, std::string place) : row_(row), place_(std::move(place)) {
    if (!row.is_object()) fail(place_, fmt::format("is {}, not an object", value_text(row)));
  }

  // Later messages name the row by its problem, too.
  void name_row(const std::string& name) { place_ += fmt::format(" ({})", name); }

  std::string text(const char* field) const {
    std::string value = optional_text(field, true);
    if (value.empty()) fail(place_, fmt::format("{} is empty", field));
    return value;
  }

  std::string optional_text(const char* field, bool is_required = false) const {
    if (!row_.contains(field)) {
      if (is_required) fail(place_, fmt::format("{} is missing", field));
      return {};
    }
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
  row.variant = in.optional_text("variant");
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

// Keeps track of the row and the field that the parser is in, so that a syntax error or a number that no double holds
// is reported with both.
json parse_json(std::string_view text, const std::string& origin) {
  std::string field;
  std::uint64_t rows_begun = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > deepest_nesting) fail(origin, "nested deeper than a results file is");
    if (event == json::parse_event_t::object_start && depth == 2) {
      ++rows_begun;
      field.clear();
    }
    if (event == json::parse_event_t::key && depth <= 3) field = parsed.get<std::string>();
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& e) {
    std::string place = origin;
    if (rows_begun > 0) place += fmt::format(": row {}", rows_begun - 1);
    if (!field.empty() && is_printable(field)) place += fmt::format(": {}", shortened(field));
    fail(place, fmt::format("not JSON: {}", e.what()));
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
  return parse_results({reinterpret_cast<const char*>(file.data()), file.size()}, path);
}

}  // namespace sheaf::bench
