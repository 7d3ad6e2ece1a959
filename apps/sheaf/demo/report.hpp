#pragma once

#include "apps/sheaf/demo/run.hpp"

namespace sheaf::jobs {

/// What the rows of a family have in common.
struct family_summary {
  std::string family;
  std::uint64_t rows = 0;
  std::uint64_t wrong = 0;
  double median_share = 0;  ///< of the copy limit
  double least_share = 0;
  double most_share = 0;
  double median_factor = 0;  ///< times of plain loops over those of calls; 0 where no row has one
  double least_factor = 0;
  double most_factor = 0;
  double mean_accuracy = 0;  ///< of predictions
};

/// One summary for each family, in the order of the rows.
std::vector<family_summary> summaries_of(const demo_result& result);
/// The summaries as a table for a terminal, with a verdict as its last line.
std::string summary_table(const demo_result& result);
/// "0.95x", "12x"
std::string factor_text(double factor);
/// "84 problems, every answer is right", "84 problems, 3 of them answered wrong"
std::string verdict_of(std::uint64_t rows, std::uint64_t wrong);

/// "llvmpipe, a renderer in software, on the CPU"
std::string device_text(const demo_result& result);
/// Why predictions were worth little, in a sentence; empty where they were not.
std::string accuracy_note(const demo_result& result);

/// The demo's results as one self-contained HTML page: for each device a card, plots of its rates and of predictions,
/// what matters of each family, and all rows folded below. Renderers in software stand last and apart.
std::string demo_page(const std::vector<demo_result>& results);
/// Writes the page to a file, whole or not at all. @throws error(io_failure)
void write_demo_page(const std::vector<demo_result>& results, const std::string& path);

/// "1.234 ms", "12.3 us".
std::string shown_time(double seconds);
/// "a streamed copy of as many bytes, 60.1 GB/s in 512 MiB, 180.2 GB/s in 64 KiB"
std::string limit_text(const copy_limits& limits);

}  // namespace sheaf::jobs
