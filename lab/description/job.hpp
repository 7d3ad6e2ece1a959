#pragma once

#include <functional>

#include <sheaf/prepared.hpp>

#include "lab/description/entry.hpp"

// What demo, benchmarks and tests do with a primitive, by its entry: the arrays of a generated problem, how they are
// filled, the call, and the check of its answer by another formula than any variant's.
namespace sheaf::jobs {

using primitives::problem_spec;

enum class array_role : std::uint8_t {
  input,        ///< the call reads it
  output,       ///< the call writes all that the check looks at
  in_out,       ///< the call reads and writes it
  side_output,  ///< written where call_settings ask for it; calls share one
  work,         ///< memory that run() or the check works in; calls share one
};

/// One array of a problem. An array of no items is one that the problem does without.
struct array_shape {
  std::uint64_t count = 0;
  std::uint64_t item_bytes = 0;
  array_role role = array_role::input;
  std::string contents = {};  ///< of an input: equal for two problems if their arrays hold the same

  std::uint64_t bytes() const noexcept { return count * item_bytes; }
  bool is_shared() const noexcept { return role == array_role::side_output || role == array_role::work; }
};

/// Places of arrays that several primitives have. A primitive may use the places as it likes.
namespace places {
constexpr std::size_t source = 0;       ///< table, records, keys or values that are read
constexpr std::size_t index = 1;        ///< index list, or keys in an array of their own
constexpr std::size_t target = 2;       ///< records, values or record numbers that are written
constexpr std::size_t sorted_keys = 3;  ///< keys that are written
constexpr std::size_t offsets = 4;      ///< where categories begin
constexpr std::size_t work = 5;
}  // namespace places

constexpr std::size_t most_arrays = 8;
using array_shapes = std::array<array_shape, most_arrays>;
/// The arrays of one problem in memory of a context, aligned to 256 bytes, and what its calls read beside them.
struct array_set : std::array<records, most_arrays> {
  std::shared_ptr<const void> made;  ///< what the job's made_object has made of them; null where it has none
};

struct call_settings {
  std::string_view variant = {};   ///< variant to force; empty: the planner's choice
  bool with_side_outputs = false;  ///< writes the side outputs, too
};

/// The executor of a prepared call on one set of arrays.
struct prepared_run {
  std::function<void()> run;
  preparation report;
};

/// What the preparation of a product, or of a sum over edges, says of itself, in the words of all preparations.
inline preparation preparation_of(const preparation_report& r, const access_pattern& order) { return {r, order}; }

/// A problem that shows what a primitive does, without its count: "gather/permutation/r8/u32".
struct sample {
  std::string_view name;
  bool is_prepared = false;  ///< the prepared call
};

/// What calls read beside arrays: the index of a search. It is made of a problem's arrays before any call.
struct made_object {
  /// Equal for two problems if it may stay where their arrays at places::source do.
  std::string (*kind)(const problem_spec& problem);
  /// At most so much memory: what it keeps, and what its making takes besides.
  std::uint64_t (*bytes)(const problem_spec& problem);
  std::uint64_t (*making_bytes)(const problem_spec& problem);
  std::shared_ptr<const void> (*make)(const context& ctx, const problem_spec& problem, const array_set& arrays);
  /// What is known of it once it is made, for the rows of results.
  std::vector<primitives::fact> (*facts)(const void* made);
};

struct job {
  std::span<const sample> samples;  ///< what the demo runs and the tests of jobs check
  /// Names, without their count, of problems whose variants calibration runs.
  std::span<const std::string_view> calibrated = {};
  /// Further names, which calibration runs on the host's threads alone.
  std::span<const std::string_view> calibrated_on_host = {};
  /// Further names, which it runs on devices alone.
  std::span<const std::string_view> calibrated_on_devices = {};

  array_shapes (*shapes)(const problem_spec& problem);
  /// Bytes that bandwidth counts: records, values and keys read plus written. Index lists do not count, but
  /// the links of linked lists do.
  std::uint64_t (*moved_bytes)(const problem_spec& problem);
  /// Why inputs cannot be generated or an answer not be checked, or empty.
  std::string (*unchecked)(const problem_spec& problem);

  /// Fills one array of a copy, whose inputs differ from other copies'. Outputs get what no answer has.
  void (*fill)(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place, records array);
  /// Queues the call. Arrays of copy 0 are checked; the inputs of others are the same in kind.
  void (*run)(const context& ctx, const problem_spec& problem, const array_set& arrays, const call_settings& settings);
  /// Number of mistakes in the answer of copy 0. The unit varies (words, records, neighbours out of order), so only 0
  /// has a meaning. Waits.
  std::uint64_t (*count_mistakes)(const context& ctx, const problem_spec& problem, const array_set& arrays,
                                  bool with_side_outputs);

  /// What users write in place of the call, on arrays in host memory: a loop over typed arrays, or the standard
  /// library's sort. Answers like run(), without side outputs. Empty where none is written for the widths and types.
  std::function<void()> (*plain_loop)(const context& ctx, const problem_spec& problem, const array_set& arrays);

  /// What is made of the inputs before calls; null where they read arrays alone.
  const made_object* made = nullptr;

  /// Inspects the inputs for that many runs; null where there is no prepared call.
  prepared_run (*prepare)(const context& ctx, const problem_spec& problem, const array_set& arrays,
                          std::uint64_t expected_runs) = nullptr;
};

/// The job of the problem's entry.
const job& job_of(const problem_spec& problem);
/// The problem of a sample; callers who know the list's pattern tell the planner.
problem_spec problem_of(const sample& sample, std::uint64_t count);

/// Bytes of the arrays that every copy has.
std::uint64_t bytes_of_copy(const array_shapes& shapes) noexcept;

/// job::fill and job::count_mistakes on any backend: where item loops do not reach the memory, through host memory.
void fill(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place, records array);
std::uint64_t count_mistakes(const context& ctx, const problem_spec& problem, const array_set& arrays,
                             bool with_side_outputs = false);

/// The way through host memory, which those take for backends without item loops.
void fill_through_host(const context& ctx, const problem_spec& problem, std::uint64_t copy, std::size_t place,
                       records array);
std::uint64_t count_mistakes_through_host(const context& ctx, const problem_spec& problem, const array_set& arrays,
                                          bool with_side_outputs);

}  // namespace sheaf::jobs
