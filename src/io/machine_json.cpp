#include <sheaf/machine.hpp>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "io/input_file.hpp"
#include "io/output_file.hpp"

namespace sheaf {
namespace {

using nlohmann::json;

constexpr std::size_t most_words = 200;  // of the JSON library's own, which quote what they read
constexpr std::size_t most_name_bytes = 200;
constexpr int most_depth = 8;

// Reads one JSON object, naming origin and field of whatever is wrong.
class field_reader {
 public:
  field_reader(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail("is not an object");
  }

  std::string text(const char* field) const {
    const json& value = at(field);
    if (!value.is_string()) fail(fmt::format("{} is {}, not a string", field, shown(value)));
    return value.get<std::string>();
  }

  std::uint64_t count(const char* field, std::uint64_t least, std::uint64_t most) const {
    const json& value = at(field);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most) {
      fail(fmt::format("{} is {}, not a whole number from {} to {}", field, shown(value), least, most));
    }
    return value.get<std::uint64_t>();
  }

  // A name is printed on terminals: no control characters.
  std::string name(const char* field) const {
    std::string value = text(field);
    const bool printable =
        std::none_of(value.begin(), value.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; });
    if (value.empty() || value.size() > most_name_bytes || !printable) {
      fail(fmt::format("{} is {}, not 1 to {} printable bytes", field, shown(at(field)), most_name_bytes));
    }
    return value;
  }

  // The range keeps every prediction finite.
  double rate(const char* field) const { return number(field, 1, 1e18); }
  double seconds(const char* field) const { return number(field, 1e-12, 1e3); }

  std::vector<access_rate> rates(const char* field) const {
    const json& list = at(field);
    if (!list.is_array() || list.empty()) fail(fmt::format("{} is not a list of rates", field));
    std::vector<access_rate> rates;
    for (const json& entry : list) {
      const field_reader row(entry, fmt::format("{}: {}[{}]", place_, field, rates.size()));
      rates.push_back({row.count("footprint_bytes", 1, most_bytes), row.count("record_bytes", 1, most_bytes),
                       row.rate("records_per_second")});
      if (rates.size() < 2) continue;
      const access_rate& a = rates[rates.size() - 2];
      const access_rate& b = rates.back();
      if (a.record_bytes > b.record_bytes ||
          (a.record_bytes == b.record_bytes && a.footprint_bytes >= b.footprint_bytes)) {
        row.fail("is out of order: by record_bytes, then footprint_bytes, each once");
      }
    }
    return rates;
  }

  std::string shown(const char* field) const { return shown(at(field)); }

  [[noreturn]] void fail(const std::string& what) const {
    throw error(error_code::bad_input, fmt::format("{}: {}", place_, what));
  }

  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;

 private:
  const json& at(const char* field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) fail(fmt::format("{} is missing", field));
    return *found;
  }

  double number(const char* field, double least, double most) const {
    const json& value = at(field);
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
      fail(fmt::format("{} is {}, not a number from {} to {}", field, shown(value), least, most));
    }
    return value.get<double>();
  }

  static std::string shown(const json& value) {
    std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > 40) text = text.substr(0, 40) + "...";
    return text;
  }

  const json& object_;
  std::string place_;
};

json rates_json(const std::vector<access_rate>& rates) {
  json list = json::array();
  for (const access_rate& r : rates) {
    list.push_back({{"record_bytes", r.record_bytes},
                    {"footprint_bytes", r.footprint_bytes},
                    {"records_per_second", r.records_per_second}});
  }
  return list;
}

// Depth is bounded while the text is parsed, so that no nesting exhausts the stack.
json parse_json(const std::string& text, const std::string& origin) {
  try {
    return json::parse(text, [&](int depth, json::parse_event_t, json&) {
      if (depth > most_depth)
        throw error(error_code::bad_input, fmt::format("{}: nested deeper than a profile is", origin));
      return true;
    });
  } catch (const json::exception& e) {
    throw error(error_code::bad_input, fmt::format("{}: not JSON: {:.{}}", origin, e.what(), most_words));
  }
}

}  // namespace

machine parse_machine(const std::string& text, const std::string& origin) {
  const json document = parse_json(text, origin);
  const field_reader in(document, origin);
  in.count("schema_version", machine::schema_version, machine::schema_version);
  machine m;
  m.name = in.name("name");
  const std::string backend = in.text("backend");
  if (backend != "cpu" && backend != "cuda") {
    in.fail(fmt::format("backend is {}, not \"cpu\" or \"cuda\"", in.shown("backend")));
  }
  m.backend = backend == "cpu" ? backend_kind::cpu : backend_kind::cuda;
  m.source = origin;
  m.memory_bytes = in.count("memory_bytes", 1, field_reader::most_bytes);
  m.cache_bytes = in.count("cache_bytes", 1, field_reader::most_bytes);
  m.sector_bytes = in.count("sector_bytes", 1, 1 << 20);
  m.fetch_bytes = in.count("fetch_bytes", 1, 1 << 20);
  m.parallelism = static_cast<std::uint32_t>(in.count("parallelism", 1, 1 << 20));
  m.copy_bytes_per_second = in.rate("copy_bytes_per_second");
  m.cached_bytes_per_second = in.rate("cached_bytes_per_second");
  m.launch_seconds = in.seconds("launch_seconds");
  m.access_seconds = in.seconds("access_seconds");
  m.random_read = in.rates("random_read");
  m.random_write = in.rates("random_write");
  return m;
}

std::string format_machine(const machine& m) {
  const json document = {{"schema_version", machine::schema_version},
                         {"name", m.name},
                         {"backend", name(m.backend)},
                         {"memory_bytes", m.memory_bytes},
                         {"cache_bytes", m.cache_bytes},
                         {"sector_bytes", m.sector_bytes},
                         {"fetch_bytes", m.fetch_bytes},
                         {"parallelism", m.parallelism},
                         {"copy_bytes_per_second", m.copy_bytes_per_second},
                         {"cached_bytes_per_second", m.cached_bytes_per_second},
                         {"launch_seconds", m.launch_seconds},
                         {"access_seconds", m.access_seconds},
                         {"random_read", rates_json(m.random_read)},
                         {"random_write", rates_json(m.random_write)}};
  return document.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

machine load_machine(const std::string& path) {
  const io::input_file file(path);
  constexpr std::uint64_t most = 16 << 20;
  if (file.size() > most) {
    throw error(error_code::bad_input, fmt::format("{}: {} bytes is no machine profile", path, file.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  return parse_machine(std::string(text), path);
}

void save_machine(const machine& profile, const std::string& path) {
  const std::string text = format_machine(profile);
  io::output_file file(path, text.size());
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace sheaf
