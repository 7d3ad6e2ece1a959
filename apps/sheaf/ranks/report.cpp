#include "apps/sheaf/ranks/report.hpp"

#include <fmt/format.h>

namespace sheaf::cli {

double seconds_since(steady_time start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nlohmann::json report_of_ranks(const std::string& command, const workers& all) {
  return {{"command", command}, {"backend", "cpu"}, {"processes", all.processes}, {"threads", all.threads}};
}

std::string text_of_ranks(const workers& all) {
  return fmt::format("{} processes of {} thread{}", all.processes, all.threads, all.threads == 1 ? "" : "s");
}

void print_ranks_report(const common_options& common, const distributed::group& ranks, const std::string& output,
                        const ranks_report& report) {
  if (ranks.rank() != 0 || common.quiet) return;
  if (common.json) {
    nlohmann::json document = report_of_ranks(report.command, ranks);
    document.update({{"records", report.records},
                     {"record_bytes", report.record_bytes},
                     {"seconds", report.seconds},
                     {"seconds_with_files", report.seconds_of_all},
                     {"output", output}});
    return print_json(std::move(document));
  }
  fmt::print("{}: {} records of {} bytes on {}, {}, {} with files\n", shown_file(stdout, output), report.records,
             report.record_bytes, text_of_ranks(ranks), seconds_text(report.seconds),
             seconds_text(report.seconds_of_all));
}

}  // namespace sheaf::cli
