#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sheaf::bench {

/// The version of the form of results files.
constexpr int results_schema_version = 2;

/// One row as `sheaf-bench --json FILE` wrote it; what a comparison reads of it.
struct recorded_row {
  std::string backend;
  std::string problem;       ///< "gather/permutation/r8/u32/n=67108864"
  std::string who;           ///< "sheaf", a variant's name, or a peer's
  std::string variant = {};  ///< the variant that ran; empty for a peer
  std::string figure = {};   ///< the paper's figure that the row belongs to; empty for rows of a sweep
  std::string machine = {};  ///< that of the row's backend
  std::string commit = {};
  double median_seconds = 0;
  double least_seconds = 0;
  double most_seconds = 0;
  double peer_ratio = 0;  ///< the median of the fastest peer that promises as much over this row's; 0 without one
  bool verified = true;
  bool promises_less = false;  ///< a peer whose answer may vary where the call's may not

  bool is_peer() const noexcept { return variant.empty(); }
};

/// "cuda gather/permutation/r8/u32/n=67108864/sheaf", with the figure in front where there is one.
std::string name(const recorded_row& row);

/// Reads the text of a results file, which is untrusted. Times are between 1 ps and 10^6 s with least <= median <=
/// most. A row of "sheaf" has a variant, and no object has a name twice.
/// @throws error(bad_input) naming origin, row and field.
std::vector<recorded_row> parse_results(std::string_view text, const std::string& origin);
/// Reads a results file of at most 64 MiB. @throws error(bad_input), also where the file cannot be read.
std::vector<recorded_row> load_results(const std::string& path);

}  // namespace sheaf::bench
