#pragma once

#include <map>

#include <fmt/format.h>

#include "lab/harness/factors.hpp"
#include "papers/run.hpp"
#include "plan/he2007.hpp"

// What figures vary, and the columns for what they find: sizes of scans, numbers of partitions and of passes.
namespace sheaf::bench::papers::he2007 {

constexpr std::uint64_t megabyte = std::uint64_t{1} << 20;

/// Bytes of the scans of section 3.3.1: 2, 4, 8, ... MB, as long as a quarter of the free memory holds one of the two
/// arrays, and as far as the size allows; at `tiny` two that show that it works.
inline std::vector<std::uint64_t> scan_sizes(run_size size, std::uint64_t free_bytes) {
  if (size == run_size::tiny) return {std::uint64_t{1} << 16, std::uint64_t{1} << 17};
  const std::uint64_t most = size == run_size::small    ? 32 * megabyte
                             : size == run_size::medium ? 512 * megabyte
                                                        : free_bytes / 4;
  std::vector<std::uint64_t> all;
  for (std::uint64_t bytes = 2 * megabyte; bytes <= std::min(most, free_bytes / 4); bytes *= 2) all.push_back(bytes);
  return all;
}

/// The parameters with the B_seq of Eq. 1 over these scans, whose bytes are those read and those written. Without scans
/// it stays what the profile says.
inline plan::he2007::parameters with_bandwidth_of(plan::he2007::parameters parameters,
                                                  std::span<const plan::he2007::timed_scan> scans) {
  const double bytes_per_second = plan::he2007::sequential_bandwidth(scans);
  if (bytes_per_second > 0) parameters.sequential_bytes_per_second = bytes_per_second;
  return parameters;
}

/// Numbers of partitions: powers of two to 65536, or 256 at the size `tiny`. At `small` those over 64 are powers of 4.
inline std::vector<std::uint64_t> swept_partitions(run_size size) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t partitions = 1; partitions <= (size == run_size::tiny ? 256 : 65536);) {
    all.push_back(partitions);
    partitions *= size == run_size::small && partitions >= 64 ? 4 : 2;
  }
  return all;
}

constexpr std::uint64_t paper_passes = 16;  ///< the number that the paper's model chose on the G80
/// The numbers of passes of a sweep: powers of two to 64, or 8 at the size `tiny`, the paper's 16 and the model's
/// number. Ascending.
inline std::vector<std::uint64_t> swept_passes(run_size size, std::uint64_t modelled) {
  std::vector<std::uint64_t> all{paper_passes, modelled};
  for (std::uint64_t passes = 1; passes <= (size == run_size::tiny ? 8 : 64); passes *= 2) all.push_back(passes);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Times of a multi-pass form by its number of passes, one included, of which tables show one pass, the number of the
/// 2007 model, the paper's 16 and the best of the sweep.
struct times_by_passes {
  std::map<std::uint64_t, double> seconds = {};  ///< for each number of passes that was measured
  std::uint64_t modelled = 1;                    ///< the number that the model chooses

  /// The number of passes with the least time, 1 if none was measured.
  std::uint64_t best() const {
    const auto least = std::ranges::min_element(seconds, {}, [](const auto& entry) { return entry.second; });
    return least == seconds.end() ? 1 : least->first;
  }
  /// The time of this many passes, or 0.
  double of(std::uint64_t passes) const {
    const auto place = seconds.find(passes);
    return place == seconds.end() ? 0 : place->second;
  }
  /// How many times as long one pass takes as this many; 0 if either was not measured.
  double gain_of(std::uint64_t passes) const {
    const double one = of(1);
    const double many = of(passes);
    return one > 0 && many > 0 ? one / many : 0;
  }
  bool one_pass_wins() const { return of(1) > 0 && best() == 1; }

  /// "one pass", "model's", "its time", "16 passes", "best", "its time", "one / best", "wins"
  static std::vector<column> columns() {
    return {"one pass", "model's", "its time", "16 passes", "best", "its time", "one / best", "wins"};
  }
  /// The last says "one pass" or "more", or "-" where one pass was not measured.
  std::vector<std::string> cells() const {
    const auto text = [](double time) { return time > 0 ? time_text(time) : "-"; };
    const double gain = gain_of(best());
    return {text(of(1)),
            fmt::to_string(modelled),
            text(of(modelled)),
            text(of(paper_passes)),
            fmt::to_string(best()),
            text(of(best())),
            gain > 0 ? fmt::format("{:.2f}x", gain) : "-",
            of(1) == 0        ? "-"
            : one_pass_wins() ? "one pass"
                              : "more"};
  }
};

}  // namespace sheaf::bench::papers::he2007
