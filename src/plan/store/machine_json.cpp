#include <sheaf/machine.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sheaf/error.hpp>

#include "core/backends.hpp"
#include "plan/pattern_words.hpp"
#include "plan/store/json.hpp"
#include "plan/store/machine_fields.hpp"
#include "plan/store/output_file.hpp"

namespace sheaf {
namespace {

using io::field_reader;
using nlohmann::json;

constexpr io::json_format format_of_profiles{.name = "a machine profile", .most_bytes = 16 << 20, .deepest_nesting = 8};

json rates_json(const std::vector<access_rate>& rates) {
  json list = json::array();
  for (const access_rate& r : rates) {
    list.push_back({{"record_bytes", r.record_bytes},
                    {"footprint_bytes", r.footprint_bytes},
                    {"records_per_second", r.records_per_second}});
  }
  return list;
}

json streams_json(const std::vector<stream_rate>& rates) {
  json list = json::array();
  for (const stream_rate& r : rates) {
    list.push_back({{"footprint_bytes", r.footprint_bytes}, {"bytes_per_second", r.bytes_per_second}});
  }
  return list;
}

json latencies_json(const std::vector<latency_point>& latencies) {
  json list = json::array();
  for (const latency_point& l : latencies) {
    list.push_back({{"footprint_bytes", l.footprint_bytes}, {"seconds", l.seconds}});
  }
  return list;
}

json corrections_json(const std::vector<variant_correction>& corrections) {
  json list = json::array();
  for (const variant_correction& c : corrections) {
    const auto& order = *std::find_if(std::begin(plan::pattern_words), std::end(plan::pattern_words),
                                      [&](const plan::pattern_word& w) { return w.kind == c.order; });
    list.push_back({{"primitive", c.primitive},
                    {"variant", c.variant},
                    {"order", order.text},
                    {"record_bytes", c.record_bytes},
                    {"count", c.count},
                    {"range", c.range},
                    {"factor", c.factor}});
  }
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
    in.fail(fmt::format("has schema {}, this sheaf reads {}; sheaf machine --calibrate measures a new profile", version,
                        machine::schema_version));
  }
  machine m;
  m.name = in.name("name");
  const std::string backend = in.text("backend");
  const auto kind = core::backend_named(backend);
  if (!kind) in.fail(fmt::format("backend is {}, which this sheaf does not know", in.shown("backend")));
  m.backend = *kind;
  m.source = origin;
  m.versions = in.names("versions");
  m.memory_bytes = in.count("memory_bytes", 1, field_reader::most_bytes);
  m.cache_levels = in.sizes("cache_levels");
  m.cache_bytes = in.count("cache_bytes", 1, field_reader::most_bytes);
  m.sector_bytes = in.count("sector_bytes", 1, 1 << 20);
  m.fetch_bytes = in.count("fetch_bytes", 1, 1 << 20);
  m.parallelism = static_cast<std::uint32_t>(in.count("parallelism", 1, 1 << 20));
  m.copy_bytes_per_second = in.rate("copy_bytes_per_second");
  m.cached_bytes_per_second = in.rate("cached_bytes_per_second");
  m.launch_seconds = in.seconds("launch_seconds");
  m.step_seconds = in.seconds("step_seconds");
  m.barrier_seconds = in.seconds("barrier_seconds");
  m.access_seconds = in.seconds("access_seconds");
  if (document.contains("digit_seconds")) m.digit_seconds = in.seconds("digit_seconds");
  // Plans would take transfers of calls on OpenGL for free without their rates.
  const auto has_rate = [&](const char* field) {
    return m.backend == backend_kind::opengl || document.contains(field);
  };
  if (has_rate("upload_bytes_per_second")) m.upload_bytes_per_second = in.rate("upload_bytes_per_second");
  if (has_rate("readback_bytes_per_second")) m.readback_bytes_per_second = in.rate("readback_bytes_per_second");
  m.streams = in.stream_rates("streams");
  m.latencies = in.latencies("latencies");
  m.random_read = in.rates("random_read");
  m.random_write = in.rates("random_write");
  m.atomic_add = in.rates("atomic_add");
  if (document.contains("corrections")) m.corrections = in.corrections("corrections");
  return m;
}

}  // namespace

machine parse_machine(const std::string& text, const std::string& origin) {
  return machine_of(io::parse_json(text, origin, format_of_profiles), origin);
}

machine load_machine(const std::string& path) { return machine_of(io::load_json(path, format_of_profiles), path); }

std::string format_machine(const machine& m) {
  json document = {{"schema_version", machine::schema_version},
                   {"name", m.name},
                   {"backend", name(m.backend)},
                   {"versions", m.versions},
                   {"memory_bytes", m.memory_bytes},
                   {"cache_levels", m.cache_levels},
                   {"cache_bytes", m.cache_bytes},
                   {"sector_bytes", m.sector_bytes},
                   {"fetch_bytes", m.fetch_bytes},
                   {"parallelism", m.parallelism},
                   {"copy_bytes_per_second", m.copy_bytes_per_second},
                   {"cached_bytes_per_second", m.cached_bytes_per_second},
                   {"launch_seconds", m.launch_seconds},
                   {"step_seconds", m.step_seconds},
                   {"barrier_seconds", m.barrier_seconds},
                   {"access_seconds", m.access_seconds},
                   {"streams", streams_json(m.streams)},
                   {"latencies", latencies_json(m.latencies)},
                   {"random_read", rates_json(m.random_read)},
                   {"random_write", rates_json(m.random_write)},
                   {"atomic_add", rates_json(m.atomic_add)}};
  if (m.digit_seconds > 0) document["digit_seconds"] = m.digit_seconds;
  if (m.upload_bytes_per_second > 0) document["upload_bytes_per_second"] = m.upload_bytes_per_second;
  if (m.readback_bytes_per_second > 0) document["readback_bytes_per_second"] = m.readback_bytes_per_second;
  if (!m.corrections.empty()) document["corrections"] = corrections_json(m.corrections);
  return lines_of(document);
}

void save_machine(const machine& profile, const std::string& path) { io::write_file(path, format_machine(profile)); }

}  // namespace sheaf
