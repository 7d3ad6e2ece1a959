#include "lab/harness/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plan/store/output_file.hpp"

namespace sheaf::bench {

void write_record(const std::string& path, std::span<const result> results, const machine& profile,
                  const platform& platform) {
  nlohmann::json problems = nlohmann::json::object();
  for (const result& r : results) {
    if (r.who == r.variant) problems[name(r.problem)][r.variant] = r.time.median_seconds;
  }
  // One line for each problem, so that two records can be compared.
  std::string rows;
  for (const auto& [row, variants] : problems.items()) {
    std::string times;
    for (const auto& [variant, seconds] : variants.items()) {
      times += fmt::format("{}\"{}\": {:.4g}", times.empty() ? "" : ", ", variant, seconds.get<double>());
    }
    rows += fmt::format("{}\n  \"{}\": {{{}}}", rows.empty() ? "" : ",", row, times);
  }
  const std::string text = fmt::format(
      "{{\n\"schema_version\": 1,\n\"machine\": {},\n\"commit\": {},\n\"versions\": {},\n\"profile\": {},\n"
      "\"seconds\": {{{}\n}}\n}}\n",
      nlohmann::json(platform.machine).dump(), nlohmann::json(SHEAF_BENCH_COMMIT).dump(),
      nlohmann::json(platform.versions).dump(), format_machine(profile), rows);
  io::write_file(path, text);
}

}  // namespace sheaf::bench
