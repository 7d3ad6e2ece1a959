#pragma once

#include <sheaf/machine.hpp>

#include "lab/harness/factors.hpp"
#include "lab/harness/platform.hpp"
#include "lab/harness/problem.hpp"
#include "lab/harness/runner.hpp"

namespace sheaf::bench {

/// What one contender of a row measured, as it is printed and written to JSON.
struct result {
  bench::problem problem;
  std::uint64_t moved_bytes = 0;  ///< bytes that bandwidth counts
  backend_kind backend = backend_kind::cpu;
  std::string who;
  std::string variant;
  bool promises_less = false;  ///< a peer that is left out where the fastest is looked for
  timing time;
  double predicted_seconds = 0;
  bool order_is_unknown = false;  ///< predicted without knowing the order of the index list
  double he2007_seconds = 0;      ///< predicted by the model of the 2007 paper
  double peer_ratio = 0;  ///< the median of the fastest peer that promises as much over this one; 0 for peers, and for
                          ///< rows without a peer
  bool verified = false;
  std::vector<primitives::fact> facts = {};  ///< of what calls read beside arrays, such as an index
  std::string figure = {};  ///< the paper's figure that the row belongs to, "he2007/9"; empty for rows of a sweep

  double bytes_per_second() const noexcept { return static_cast<double>(moved_bytes) / time.median_seconds; }
  /// 1 - |measured - predicted| / measured
  double accuracy() const noexcept { return accuracy_of(predicted_seconds); }
  double he2007_accuracy() const noexcept { return accuracy_of(he2007_seconds); }

 private:
  double accuracy_of(double predicted) const noexcept;
};

/// What one contender measured on a matrix or mesh that no name of a problem describes.
struct input_result {
  std::string figure;  ///< "ujaldon2005/table5"
  std::string input;   ///< "BCSSTK15"
  std::string machine;
  std::string where;  ///< "cpu, 1 thread"
  backend_kind backend = backend_kind::cpu;
  std::string who;
  bool is_prepared = false;
  double loading_seconds = 0;
  timing time;
  double largest_error = -1;  ///< over the largest value of the exact answer; -1 where nobody asked
  bool verified = false;
  std::vector<primitives::fact> facts = {};  ///< counted beside the time
};

void print_header(const platform& platform);
void print_result(const result& result);
/// Prints the means of the factors to the best peers and the worst rows.
void print_factors(std::span<const result> results);
/// The planner's regret on rows with --variants, a line for each primitive and one for all: how many rows there are,
/// the mean and the worst of the choice's time over the best variant's, and the mean accuracy of what was predicted of
/// the choice. Empty where no row has variants.
std::string regret_text(std::span<const result> results, backend_kind backend);
/// Prints for each primitive the worst factor to the best peer, its geometric mean and the rows below 0.97; the
/// accuracy of both models, apart for rows whose list the planner knew nothing of; the planner's regret; and the number
/// of wrong answers.
void print_summary(std::span<const result> results);

/// A further list of a results file.
struct named_list {
  std::string name;
  std::vector<std::string> lines;  ///< an object of JSON each
};

/// Writes {"schema_version", "recorded", "rows"}, "input_rows" where there are any, and further lists, whole or not at
/// all. @throws error(io_failure)
void write_json(const std::string& path, std::span<const result> results, const platforms& measured,
                std::span<const input_result> input_results = {}, std::span<const named_list> further = {});

/// Writes the file that tests/lab/recorded_test.cpp judges the planner by: the profile that predictions were made
/// from, and for each problem the seconds of every variant. Whole or not at all. @throws error(io_failure)
void write_record(const std::string& path, std::span<const result> results, const machine& profile,
                  const platform& platform);

}  // namespace sheaf::bench
