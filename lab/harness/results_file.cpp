#include "lab/harness/results_file.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "core/printable.hpp"
#include "plan/store/json.hpp"

namespace sheaf::bench {
namespace {

using io::shown;
using nlohmann::json;

// The text of a row has about 450 bytes. A parsed list of numbers takes up to 16 times the bytes of its text.
constexpr io::json_format format_of_results{
    .name = "a results file", .most_bytes = std::uint64_t{1} << 26, .deepest_nesting = 8};
constexpr std::size_t most_text_bytes = 256;
// Quotients of two times inside these bounds are finite and above zero.
constexpr double least_time = 1e-12;
constexpr double most_time = 1e6;
constexpr double least_ratio = 1e-9;
constexpr double most_ratio = 1e9;

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw error(error_code::bad_input, fmt::format("{}: {}", place, what));
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

class object_reader {
 public:
  object_reader(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail(place_, fmt::format("is {}, not an object", shown(object)));
  }

  // Later messages name the row by its problem, too.
  void name_row(const std::string& name) { place_ += fmt::format(" ({})", name); }

  std::string text(const char* field) const {
    std::string value = text_or_empty(field);
    if (value.empty()) fail(place_, fmt::format("{} is empty", field));
    return value;
  }

  std::string text_or_empty(const char* field) const {
    if (!object_.contains(field)) fail(place_, fmt::format("{} is missing", field));
    return optional_text(field);
  }

  std::string optional_text(const char* field) const {
    if (!object_.contains(field)) return {};
    const json& value = object_[field];
    if (!value.is_string()) fail(place_, fmt::format("{} is {}, not a string", field, shown(value)));
    const std::string& text = value.get_ref<const std::string&>();
    if (text.size() > most_text_bytes || !is_printable(text)) {
      fail(place_, fmt::format("{} is not a name of at most {} printable characters", field, most_text_bytes));
    }
    return text;
  }

  double seconds(const char* field) const {
    if (!object_.contains(field)) fail(place_, fmt::format("{} is missing", field));
    return number(field, least_time, most_time, "a time in seconds");
  }

  // 0 where there is none.
  double peer_ratio() const {
    constexpr const char* field = "peer_ratio";
    if (!object_.contains(field) || object_[field].is_null()) return 0;
    return number(field, least_ratio, most_ratio, "a ratio");
  }

  bool flag(const char* field, bool unless_said) const {
    if (!object_.contains(field)) return unless_said;
    if (!object_[field].is_boolean()) fail(place_, fmt::format("{} is {}, not a bool", field, shown(object_[field])));
    return object_[field].get<bool>();
  }

  // A row without a variant is a peer's, which decides nothing, so a row of ours must not pass for one.
  void check_variant(const recorded_row& row) const {
    if (row.who == "sheaf" && row.is_peer()) fail(place_, "variant is empty, which only a peer's may be");
  }

  void check_order(const recorded_row& row) const {
    if (row.least_seconds > row.median_seconds) fail(place_, "least_seconds exceeds median_seconds");
    if (row.median_seconds > row.most_seconds) fail(place_, "median_seconds exceeds most_seconds");
  }

 private:
  double number(const char* field, double least, double most, const char* kind) const {
    const json& value = object_[field];
    // The comparison is false for a NaN.
    if (value.is_number() && value.get<double>() >= least && value.get<double>() <= most) return value.get<double>();
    fail(place_, fmt::format("{} is {}, not {} from {:g} to {:g}", field, shown(value), kind, least, most));
  }

  const json& object_;
  std::string place_;
};

recorded_row read_row(const json& object, const std::string& place,
                      const std::map<std::string, std::string>& machines) {
  object_reader in(object, place);
  recorded_row row;
  row.problem = in.text("problem");
  row.who = in.text("who");
  in.name_row(fmt::format("{}/{}", row.problem, row.who));
  row.backend = in.text("backend");
  row.variant = in.text_or_empty("variant");
  in.check_variant(row);
  row.figure = in.optional_text("figure");
  if (const auto machine = machines.find(row.backend); machine != machines.end()) row.machine = machine->second;
  row.median_seconds = in.seconds("median_seconds");
  row.least_seconds = in.seconds("least_seconds");
  row.most_seconds = in.seconds("most_seconds");
  row.peer_ratio = in.peer_ratio();
  row.verified = in.flag("verified", true);
  row.promises_less = in.flag("promises_less", false);
  in.check_order(row);
  return row;
}

// The machines of a file, by backend. A file need not name any.
std::map<std::string, std::string> machines_of(const json& document, const std::string& origin) {
  std::map<std::string, std::string> machines;
  if (!document.contains("machines")) return machines;
  const json& list = document["machines"];
  if (!list.is_object()) fail(origin, fmt::format("machines is {}, not an object", shown(list)));
  for (const auto& [backend, of] : list.items()) {
    machines[backend] =
        object_reader(of, fmt::format("{}: machines: {}", origin, core::printable(backend))).text("machine");
  }
  return machines;
}

std::vector<recorded_row> rows_of(const json& document, const std::string& origin) {
  if (!document.is_object()) fail(origin, fmt::format("is {}, not an object with rows", shown(document)));
  if (!document.contains("schema_version")) fail(origin, "schema_version is missing");
  if (document["schema_version"] != results_schema_version) {
    fail(origin,
         fmt::format("schema_version is {}, not {}", shown(document["schema_version"]), results_schema_version));
  }
  if (!document.contains("rows")) fail(origin, "rows is missing, which sheaf-bench --json writes");
  const json& list = document["rows"];
  if (!list.is_array()) fail(origin, fmt::format("rows is {}, not a list", shown(list)));
  const std::string commit = object_reader(document, origin).optional_text("commit");
  const std::map<std::string, std::string> machines = machines_of(document, origin);
  std::vector<recorded_row> rows;
  rows.reserve(list.size());
  for (const json& object : list) {
    rows.push_back(read_row(object, fmt::format("{}: row {}", origin, rows.size()), machines));
    rows.back().commit = commit;
  }
  return rows;
}

}  // namespace

std::string name(const recorded_row& row) {
  return fmt::format("{}{}{} {}/{}", row.figure, row.figure.empty() ? "" : " ", row.backend, row.problem, row.who);
}

std::vector<recorded_row> parse_results(std::string_view text, const std::string& origin) {
  return rows_of(io::parse_json(text, origin, format_of_results), origin);
}

std::vector<recorded_row> load_results(const std::string& path) {
  return rows_of(io::load_json(path, format_of_results), path);
}

}  // namespace sheaf::bench
