#pragma once

#include "cuda/device/speeds.hpp"
#include "cuda/sort/radix/run.hpp"
#include "cuda/sort/words/encoding.hpp"

// What cuda.sample and cuda.onesweep share around the radix sort of words: scratch, costs and the run.
namespace sheaf::cuda {

// ---- the scratch of a sort of words, and the description of such a sort without its addresses; plans need the size,
// runs the places

/// Whether every second pass writes words to the output of the rows instead of to scratch.
bool passes_use_output(const primitives::sort_problem& problem, const word_encoding& encoding);

/// Bytes of the entries of the order that a sort of fewer than 2^32 rows yields.
std::uint32_t row_number_bytes(const primitives::sort_problem& problem);

/// Bytes of the caller's value or of the row number that moves beside a word (word_payload::separate).
std::uint32_t separate_value_bytes(const primitives::sort_problem& problem, const word_encoding& encoding);

/// A sort of the problem's words by key_bits bits of the key, without addresses.
word_sort word_sort_of(const primitives::sort_problem& problem, const word_encoding& encoding, sort_method method,
                       std::uint32_t key_bits);

/// Where the arrays of a sort begin in its scratch, in bytes.
struct sort_scratch_layout {
  std::uint64_t words[2] = {};      ///< arrays that passes write words to: buffers[1], and [2] unless passes_use_output
  std::uint64_t extracted = 0;      ///< extracted keys whose row numbers are separate; others lie in words[1]
  std::uint64_t order = 0;          ///< row numbers in order, if they are not wanted by the caller
  std::uint64_t order_between = 0;  ///< the order after every second round, if there are several
  std::uint64_t values = 0;  ///< separate values that passes write to; the other array is the caller's, or an order
  std::uint64_t tables = 0;  ///< tables of the radix sort; afterwards scratch of the gathers
  std::uint64_t bytes = 0;   ///< bytes of the whole scratch

  sort_scratch_layout(const primitives::sort_problem& problem, const word_encoding& encoding, sort_method method);
};

/// What the plans of cuda.sample and cuda.onesweep decide for run.
struct word_sort_decision {
  word_encoding encoding;
  sort_scratch_layout layout;
  sort_method method;

  void tell(plan::told& to) const {
    to.add("method", method == sort_method::onesweep ? "onesweep" : "sample").add("key_bits", encoding.key_bits);
  }
};

/// Completes the plan of a sort by words: its decision, its scratch, and the gathers that it ends with, if any.
void complete_plan(const primitives::sort_problem& problem, const word_encoding& encoding, sort_method method,
                   const plan::scope& in, plan::planned& plan);

// ---- what the phases of the radix sort take

/// Bytes moved are fitted to two lists of 10^8 words on an H200 (the histogram's on an H100): of uniform keys, and of
/// keys whose bits are mostly 0, though all digits differ, so that no pass is left out. Steps are fitted to 2^14 words
/// on an H100.
struct radix_costs {
  word_cost histogram{0, 0.5};
  word_cost pass{22.6, 2.45};
  double pass_with_values = 1.05;  ///< time of passes with a caller's values over that without
  double histogram_steps = 4.27;
  /// A block with one tile counts it in rounds, each of which waits for memory; all but the first, which is in
  /// histogram_steps. 2^20 words are some 150 long tiles, one for each multiprocessor: by one digit 6 to 8 us more than
  /// their passes. Longer lists stream past meanwhile.
  double later_counting_round_steps = 3;
  /// Each gather of rows or values behind a sort: 4.2 to 5 us for 2^12 and 2^16 rows, though they are in the cache.
  double gather_steps = 3;
  // Of a pass, however few words there are.
  double pass_steps = 3.3;
  double pass_steps_with_values = 4.6;   ///< values or row numbers
  double pass_steps_of_wide_values = 5;  ///< of 8 and 16 bytes
};
constexpr radix_costs radix_tuning;

/// Adds the extraction of keys, and for each round the histogram and `passes` passes, to a plan.
inline void add_passes(plan::planned& plan, const primitives::sort_problem& problem, const word_encoding& encoding,
                       sort_method method, double passes, const machine& machine) {
  const auto count = static_cast<double>(problem.count);
  const auto key = static_cast<double>(encoding.word_bytes());
  const double value = encoding.has_values() ? separate_value_bytes(problem, encoding) : 0;
  const double rounds = encoding.rounds;
  const double steps_a_pass = value >= 8              ? radix_tuning.pass_steps_of_wide_values
                              : encoding.has_values() ? radix_tuning.pass_steps_with_values
                                                      : radix_tuning.pass_steps;
  const bool are_words = encoding.rows_are_words || encoding.is_extracted;
  const double read = are_words ? key : static_cast<double>(problem.rows.in_stride_bytes);
  plan.add("latency", machine.launch_seconds +
                          rounds * (radix_tuning.histogram_steps + passes * steps_a_pass) * machine.step_seconds);
  if (encoding.is_extracted)
    plan.add("rows read", extraction_seconds(problem, encoding.rounds, encoding.word_bytes(), machine));
  const double later_rounds = counting_rounds(word_sort_of(problem, encoding, method, encoding.key_bits)) - 1;
  plan.add("digits counted",
           rounds * std::max(count * radix_tuning.histogram.seconds(read, machine),
                             later_rounds * radix_tuning.later_counting_round_steps * machine.step_seconds));
  // The first pass of the first round makes the row numbers, and reads none.
  const double unread = encoding.yields_order ? value : 0;
  const double slowdown = value > 0 && !encoding.yields_order ? radix_tuning.pass_with_values : 1;
  plan.add("passes", count * (rounds * slowdown * passes * radix_tuning.pass.seconds(key + value, machine) -
                              radix_tuning.pass.copied_bytes / 2 * unread / machine.copy_bytes_per_second));
}

// ---- the run

/// Queues a planned sort: encodes rows as words, sorts these, and writes rows or row numbers, or gathers rows and
/// values by the sorted row numbers. cuda.sample and cuda.onesweep run this. A finisher of groups takes the place of
/// those of radix/.
void sort_by_words(const context& ctx, const primitives::sort_problem& problem, const plan::planned& plan,
                   const primitives::sort_buffers& buffers, std::byte* scratch, group_finisher finisher = nullptr);

// ---- the plan of cuda.sample, in sample.cu

/// The plan of a sample sort that takes finish_slowdown times as long as cuda.sample to finish the groups in shared
/// memory.
plan::planned plan_sample_sort(const primitives::sort_problem& problem, const plan::scope& scope,
                               double finish_slowdown);

}  // namespace sheaf::cuda
