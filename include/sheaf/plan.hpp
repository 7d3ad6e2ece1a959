#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <sheaf/export.hpp>

namespace sheaf {

/// What the caller knows of the records that an index list names, in the order in which the list names them. Plans use
/// it to predict times. A pattern that does not hold costs time and is not an error.
struct access_pattern {
  enum class kind : std::uint8_t {
    unknown,      ///< nothing is known
    sequential,   ///< ascending, almost without gaps
    random,       ///< anywhere
    partitioned,  ///< `parameter` streams, each ascending
    clustered,    ///< anywhere inside a window of `parameter` records that moves on
    strided,      ///< every `parameter`-th record, then again from the next one
    skewed,       ///< few records often, many rarely: the r-th most frequent 1/r as often as the first (Zipf)
    repeated,     ///< the same `parameter` records again and again
  };
  kind shape = kind::unknown;
  std::uint64_t parameter = 0;

  static constexpr access_pattern unknown() { return {}; }
  static constexpr access_pattern sequential() { return {kind::sequential, 0}; }
  static constexpr access_pattern random() { return {kind::random, 0}; }
  static constexpr access_pattern partitioned(std::uint64_t streams) { return {kind::partitioned, streams}; }
  static constexpr access_pattern clustered(std::uint64_t records) { return {kind::clustered, records}; }
  static constexpr access_pattern strided(std::uint64_t step) { return {kind::strided, step}; }
  static constexpr access_pattern skewed() { return {kind::skewed, 0}; }
  static constexpr access_pattern repeated(std::uint64_t records) { return {kind::repeated, records}; }

  friend constexpr bool operator==(const access_pattern&, const access_pattern&) = default;
};

/// One term of a predicted time, which is the sum of its terms. The term "overlap" is negative or 0: it is the time
/// saved where several resources work at once.
struct cost_term {
  const char* what = "";  ///< "streamed", "random read", "latency"
  double seconds = 0;
  std::uint32_t overlapped = 0;  ///< of "overlap": the number of terms right before it that overlap; 0 of others
};

/// One thing that the plan of a variant decided for its run: 3 "passes", 16 "parts".
struct decided_value {
  const char* what = "";  ///< "passes", "digit_bits"
  std::variant<std::uint64_t, double, bool, std::string> value;

  friend bool operator==(const decided_value&, const decided_value&) = default;
};

/// What the planner predicts of one variant.
struct variant_estimate {
  std::string variant;
  bool applicable = false;  ///< whether it can run the problem within the context's scratch limit
  bool chosen = false;
  bool by_name_only = false;  ///< chosen only by name: the reference, a paper's form, or ruled out by the pattern
  double seconds = 0;
  std::uint64_t scratch_bytes = 0;
  std::vector<cost_term> terms;
  std::vector<decided_value> decided;  ///< what the run would go by; empty where nothing is to be decided
  std::string reason;                  ///< why the planner does not choose this variant; empty for the chosen one
  std::uint64_t timed_calls = 0;       ///< of this shape, by a context that learns (context::learn)
  double timed_seconds = 0;            ///< the least that they took, scaled to this problem; 0 if there are none
};

/// The variants of a primitive on the context's backend, for one problem, and the choice. The explain_ functions, which
/// return it, queue nothing, and throw error(bad_argument) where the call itself would for these shapes.
struct explanation {
  std::string primitive;
  std::string machine;  ///< name of the machine profile
  std::vector<variant_estimate> variants;
  /// What a context that learns knows of the shape: "chosen by 4 timed calls: cpu.direct took 1.67x the time of
  /// cpu.bucketed". Empty where nothing was timed. The order of an index list that nobody told counts as the last one.
  std::string learned = {};

  /// The chosen variant, or null if none can run.
  SHEAF_API const variant_estimate* choice() const noexcept;
};

/// What every preparation reports: its cost, and what it is expected to save. The reports of prepare_gather and
/// prepare_scatter, of prepare_spmv and of prepare_edge_sum derive from it.
struct preparation_report {
  std::string variant;                ///< name of the preparation's variant; runs of "kept" are unprepared calls
  double preparation_seconds = 0;     ///< measured time of the preparation, without trial runs
  double run_seconds = 0;             ///< time of one run: measured if the preparation timed runs, else predicted
  double unprepared_seconds = 0;      ///< time of one call without preparation, measured or predicted likewise
  std::uint64_t kept_bytes = 0;       ///< bytes of memory that the prepared object holds until it is destroyed
  std::uint64_t pays_after_runs = 0;  ///< number of runs that make up for the preparation; 0 if no number does
  double trial_seconds = 0;           ///< measured time of all trial runs, prepared and unprepared
};

}  // namespace sheaf
