#include "apps/sheaf/ranks/report.hpp"

#include <fmt/format.h>

#include "core/context_state.hpp"
#include "distributed/collectives.hpp"

namespace sheaf::cli {

double seconds_since(steady_time start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

workers workers_of(const distributed::group& ranks) {
  const context& here = ranks.local();
  workers all{ranks.size(), here.threads(), {}, {}};
  if (here.backend() != backend_kind::cuda) return all;
  all.device = here.state().device_name;
  all.devices.resize(static_cast<std::size_t>(ranks.size()));
  const int device = here.device();
  distributed::collective(ranks, [&](distributed::group_state& state, std::uint64_t) {
    distributed::all_gather(state, &device, sizeof device, all.devices.data());
  });
  return all;
}

nlohmann::json report_of_ranks(const std::string& command, const workers& all) {
  if (all.devices.empty())
    return {{"command", command}, {"backend", "cpu"}, {"processes", all.ranks}, {"threads", all.threads}};
  return {{"command", command}, {"backend", "cuda"}, {"device", all.device}, {"devices", all.devices}};
}

std::string text_of_ranks(const workers& all) {
  if (!all.devices.empty()) return fmt::format("{} GPU{}", all.ranks, all.ranks == 1 ? "" : "s");
  return fmt::format("{} process{} of {} thread{}", all.ranks, all.ranks == 1 ? "" : "es", all.threads,
                     all.threads == 1 ? "" : "s");
}

void print_ranks_report(const common_options& common, const distributed::group& ranks, const std::string& output,
                        const ranks_report& report) {
  const workers all = workers_of(ranks);
  if (ranks.rank() != 0 || common.quiet) return;
  if (common.json) {
    nlohmann::json document = report_of_ranks(report.command, all);
    document.update({{"records", report.records},
                     {"record_bytes", report.record_bytes},
                     {"seconds", report.seconds},
                     {"seconds_with_files", report.seconds_of_all},
                     {"output", output}});
    return print_json(std::move(document));
  }
  fmt::print("{}: {} records of {} bytes on {}, {}, {} with files\n", shown_file(stdout, output), report.records,
             report.record_bytes, text_of_ranks(all), seconds_text(report.seconds),
             seconds_text(report.seconds_of_all));
}

}  // namespace sheaf::cli
