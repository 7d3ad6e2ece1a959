#include <sheaf/machine.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "core/backends.hpp"
#include "plan/pattern_kind_names.hpp"
#include "plan/store/json.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf {
namespace {

using nlohmann::json;

constexpr io::json_format format_of_profiles{.name = "a machine profile", .most_bytes = 16 << 20, .deepest_nesting = 8};

constexpr std::size_t most_name_bytes = 200;

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= most_name_bytes &&
         std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 127; });
}

bool is_whole(const json& value, std::uint64_t least, std::uint64_t most) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() >= least && value.get<std::uint64_t>() <= most;
}

template <class Point>
bool has_less(const Point& a, const Point& b) {
  return a.footprint_bytes < b.footprint_bytes;
}

/// Reads one JSON object of a machine profile. @throws error(bad_input) naming origin and field of what is wrong.
class field_reader {
 public:
  field_reader(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail("is not an object");
  }

  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;

  std::string text(const char* field) const {
    const json& value = at(field);
    if (!value.is_string()) fail(fmt::format("{} is {}, not a string", field, io::shown(value)));
    return value.get<std::string>();
  }
  std::uint64_t count(const char* field, std::uint64_t least, std::uint64_t most) const {
    const json& value = at(field);
    if (!is_whole(value, least, most)) {
      fail(fmt::format("{} is {}, not a whole number from {} to {}", field, io::shown(value), least, most));
    }
    return value.get<std::uint64_t>();
  }
  std::uint64_t footprint() const { return count("footprint_bytes", 1, most_bytes); }

  /// Refuses control characters, because names are printed on terminals.
  std::string name(const char* field) const {
    std::string value = text(field);
    if (!is_name(value)) {
      fail(fmt::format("{} is {}, not 1 to {} printable bytes", field, shown(field), most_name_bytes));
    }
    return value;
  }

  /// Numbers in the ranges that keep every prediction finite.
  double rate(const char* field) const { return number(field, 1, 1e18); }
  double seconds(const char* field) const { return number(field, 1e-12, 1e3); }

  /// Sizes in bytes, ascending.
  std::vector<std::uint64_t> sizes(const char* field) const {
    const json& list = at(field);
    if (!list.is_array() || list.empty()) fail(fmt::format("{} is not a list of sizes", field));
    std::vector<std::uint64_t> sizes;
    for (const json& entry : list) {
      const std::uint64_t least = sizes.empty() ? 1 : sizes.back() + 1;
      if (!is_whole(entry, least, most_bytes)) {
        fail(fmt::format("{}[{}] is {}, not a whole number from {} to {}", field, sizes.size(), io::shown(entry), least,
                         most_bytes));
      }
      sizes.push_back(entry.get<std::uint64_t>());
    }
    return sizes;
  }

  /// An object whose values are names.
  std::map<std::string, std::string> names(const char* field) const {
    const field_reader entries(at(field), fmt::format("{}: {}", place_, field));
    std::map<std::string, std::string> names;
    for (const auto& [key, value] : entries.object_.items()) {
      if (!is_name(key)) {
        fail(fmt::format("{} names {}, not 1 to {} printable bytes", field, io::shown(key), most_name_bytes));
      }
      names[key] = entries.name(key.c_str());
    }
    return names;
  }

  std::vector<access_rate> rates(const char* field) const {
    const auto read = [](const field_reader& row) {
      return access_rate{row.footprint(), row.count("record_bytes", 1, most_bytes), row.rate("records_per_second")};
    };
    const auto before = [](const access_rate& a, const access_rate& b) {
      return a.record_bytes != b.record_bytes ? a.record_bytes < b.record_bytes : has_less(a, b);
    };
    return points<access_rate>(field, "rates", "record_bytes, then footprint_bytes", read, before);
  }

  std::vector<stream_rate> stream_rates(const char* field) const {
    const auto read = [](const field_reader& row) {
      return stream_rate{row.footprint(), row.rate("bytes_per_second")};
    };
    return points<stream_rate>(field, "rates", "footprint_bytes", read, has_less<stream_rate>);
  }

  std::vector<latency_point> latencies(const char* field) const {
    const auto read = [](const field_reader& row) { return latency_point{row.footprint(), row.seconds("seconds")}; };
    return points<latency_point>(field, "latencies", "footprint_bytes", read, has_less<latency_point>);
  }

  std::vector<variant_correction> corrections(const char* field) const {
    const auto read = [](const field_reader& row) {
      const std::string order = row.text("order");
      const auto word = std::ranges::find(plan::pattern_kind_names, order, &plan::pattern_kind_name::text);
      if (word == std::end(plan::pattern_kind_names)) {
        row.fail(fmt::format("order is {}, not a kind of access pattern", row.shown("order")));
      }
      return variant_correction{row.name("primitive"),
                                row.name("variant"),
                                word->kind,
                                row.count("record_bytes", 1, most_bytes),
                                row.count("count", 1, most_bytes),
                                row.count("range", 0, most_bytes),
                                row.number("factor", 1e-3, 1e3)};
    };
    const auto key = [](const variant_correction& c) {
      return std::tie(c.primitive, c.variant, c.order, c.record_bytes, c.count, c.range);
    };
    const auto before = [&](const variant_correction& a, const variant_correction& b) { return key(a) < key(b); };
    return points<variant_correction>(field, "corrections",
                                      "primitive, variant, order, record_bytes, count, then range", read, before);
  }

  /// The field's value as JSON, cut where it is long.
  std::string shown(const char* field) const { return io::shown(at(field)); }

  [[noreturn]] void fail(const std::string& what) const {
    throw error(error_code::bad_input, fmt::format("{}: {}", place_, what));
  }

 private:
  const json& at(const char* field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) fail(fmt::format("{} is missing", field));
    return *found;
  }

  double number(const char* field, double least, double most) const {
    const json& value = at(field);
    if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most)) {
      fail(fmt::format("{} is {}, not a number from {} to {}", field, io::shown(value), least, most));
    }
    return value.get<double>();
  }

  // Reads a list of objects by read(); before() must hold for each and the next.
  template <class Point, class Read, class Before>
  std::vector<Point> points(const char* field, const char* what, const char* order, Read read, Before before) const {
    const json& list = at(field);
    if (!list.is_array() || list.empty()) fail(fmt::format("{} is not a list of {}", field, what));
    std::vector<Point> points;
    for (const json& entry : list) {
      const field_reader row(entry, fmt::format("{}: {}[{}]", place_, field, points.size()));
      points.push_back(read(row));
      if (points.size() >= 2 && !before(points[points.size() - 2], points.back())) {
        row.fail(fmt::format("is out of order: entries ascend by {}, each once", order));
      }
    }
    return points;
  }

  const json& object_;
  std::string place_;
};

json json_of(const access_rate& r) {
  return {{"record_bytes", r.record_bytes},
          {"footprint_bytes", r.footprint_bytes},
          {"records_per_second", r.records_per_second}};
}

json json_of(const stream_rate& r) {
  return {{"footprint_bytes", r.footprint_bytes}, {"bytes_per_second", r.bytes_per_second}};
}

json json_of(const latency_point& l) { return {{"footprint_bytes", l.footprint_bytes}, {"seconds", l.seconds}}; }

json json_of(const variant_correction& c) {
  const auto& order = *std::ranges::find(plan::pattern_kind_names, c.order, &plan::pattern_kind_name::kind);
  return {{"primitive", c.primitive}, {"variant", c.variant}, {"order", order.text}, {"record_bytes", c.record_bytes},
          {"count", c.count},         {"range", c.range},     {"factor", c.factor}};
}

template <class Point>
json list_of(const std::vector<Point>& points) {
  json list = json::array();
  for (const Point& p : points) list.push_back(json_of(p));
  return list;
}

// Writes one line per field and per point, because people compare the hundreds of points of profiles line by line.
std::string lines_of(const json& document) {
  const auto line = [](const json& value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); };
  std::string text;
  for (const auto& [field, value] : document.items()) {
    text += fmt::format("{}\n  {}: ", text.empty() ? "{" : ",", line(field));
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      text += line(value);
      continue;
    }
    const char* before = "[";
    for (const json& point : value) text += fmt::format("{}\n    {}", std::exchange(before, ","), line(point));
    text += "\n  ]";
  }
  return text + "\n}\n";
}

machine machine_of(const json& document, const std::string& origin) {
  const field_reader in(document, origin);
  if (const auto version = in.count("schema_version", 1, 1'000'000); version != machine::schema_version) {
    in.fail(fmt::format("has schema {}, but this sheaf reads {}; sheaf machine --calibrate measures a new profile",
                        version, machine::schema_version));
  }
  machine machine;
  machine.name = in.name("name");
  const std::string backend = in.text("backend");
  const auto kind = core::backend_named(backend);
  if (!kind) in.fail(fmt::format("backend is {}, which this sheaf does not know", in.shown("backend")));
  machine.backend = *kind;
  machine.source = origin;
  machine.versions = in.names("versions");
  machine.memory_bytes = in.count("memory_bytes", 1, field_reader::most_bytes);
  machine.cache_levels = in.sizes("cache_levels");
  machine.cache_bytes = in.count("cache_bytes", 1, field_reader::most_bytes);
  machine.sector_bytes = in.count("sector_bytes", 1, 1 << 20);
  machine.fetch_bytes = in.count("fetch_bytes", 1, 1 << 20);
  machine.parallelism = static_cast<std::uint32_t>(in.count("parallelism", 1, 1 << 20));
  machine.copy_bytes_per_second = in.rate("copy_bytes_per_second");
  machine.cached_bytes_per_second = in.rate("cached_bytes_per_second");
  machine.launch_seconds = in.seconds("launch_seconds");
  machine.step_seconds = in.seconds("step_seconds");
  machine.barrier_seconds = in.seconds("barrier_seconds");
  machine.access_seconds = in.seconds("access_seconds");
  if (document.contains("digit_seconds")) machine.digit_seconds = in.seconds("digit_seconds");
  // Plans would take transfers of calls on OpenGL for free without their rates.
  const auto has_rate = [&](const char* field) {
    return machine.backend == backend_kind::opengl || document.contains(field);
  };
  if (has_rate("upload_bytes_per_second")) machine.upload_bytes_per_second = in.rate("upload_bytes_per_second");
  if (has_rate("readback_bytes_per_second")) machine.readback_bytes_per_second = in.rate("readback_bytes_per_second");
  machine.streams = in.stream_rates("streams");
  machine.latencies = in.latencies("latencies");
  machine.random_read = in.rates("random_read");
  machine.random_write = in.rates("random_write");
  machine.atomic_add = in.rates("atomic_add");
  if (document.contains("corrections")) machine.corrections = in.corrections("corrections");
  return machine;
}

}  // namespace

machine parse_machine(const std::string& text, const std::string& origin) {
  return machine_of(io::parse_json(text, origin, format_of_profiles), origin);
}

machine load_machine(const std::string& path) { return machine_of(io::load_json(path, format_of_profiles), path); }

std::string format_machine(const machine& machine) {
  json document = {{"schema_version", machine::schema_version},
                   {"name", machine.name},
                   {"backend", name(machine.backend)},
                   {"versions", machine.versions},
                   {"memory_bytes", machine.memory_bytes},
                   {"cache_levels", machine.cache_levels},
                   {"cache_bytes", machine.cache_bytes},
                   {"sector_bytes", machine.sector_bytes},
                   {"fetch_bytes", machine.fetch_bytes},
                   {"parallelism", machine.parallelism},
                   {"copy_bytes_per_second", machine.copy_bytes_per_second},
                   {"cached_bytes_per_second", machine.cached_bytes_per_second},
                   {"launch_seconds", machine.launch_seconds},
                   {"step_seconds", machine.step_seconds},
                   {"barrier_seconds", machine.barrier_seconds},
                   {"access_seconds", machine.access_seconds},
                   {"streams", list_of(machine.streams)},
                   {"latencies", list_of(machine.latencies)},
                   {"random_read", list_of(machine.random_read)},
                   {"random_write", list_of(machine.random_write)},
                   {"atomic_add", list_of(machine.atomic_add)}};
  if (machine.digit_seconds > 0) document["digit_seconds"] = machine.digit_seconds;
  if (machine.upload_bytes_per_second > 0) document["upload_bytes_per_second"] = machine.upload_bytes_per_second;
  if (machine.readback_bytes_per_second > 0) document["readback_bytes_per_second"] = machine.readback_bytes_per_second;
  if (!machine.corrections.empty()) document["corrections"] = list_of(machine.corrections);
  return lines_of(document);
}

void save_machine(const machine& profile, const std::string& path) { io::write_file(path, format_machine(profile)); }

}  // namespace sheaf
