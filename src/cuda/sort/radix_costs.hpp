#pragma once

#include "cuda/device/speeds.hpp"
#include "cuda/sort/scratch_layout.hpp"

// What the phases of the radix sort take, which the plans of cuda.msd and cuda.onesweep are made of.
namespace sheaf::cuda {

/// Fitted to an H200, which sorts 10^8 words, uniform and with most bits 0; the histogram to an H100 that sorts as
/// many, latencies to one that sorts 2^14.
struct radix_costs {
  word_cost histogram{0, 0.5};
  word_cost pass{22.6, 2.45};
  double pass_with_values = 1.05;  ///< values that are read in every pass, as row numbers are not, take so much longer
  double histogram_steps = 4.27;
  // Of a pass, however few words there are.
  double pass_steps = 3.3;
  double stable_pass_steps = 4.6;
  double pass_steps_of_wide_values = 5;  ///< of 8 and 16 bytes
};
constexpr radix_costs radix_tuning;

/// Adds the extraction of keys, and for each round the histogram and `passes` passes, to a plan.
inline void add_passes(plan::planned& plan, const primitives::sort_problem& p, const word_encoding& encoding,
                       double passes, const machine& m) {
  const auto count = static_cast<double>(p.count);
  const auto key = static_cast<double>(encoding.word_bytes());
  const double value = encoding.is_stable() ? separate_value_bytes(p, encoding) : 0;
  const double rounds = encoding.rounds;
  const double steps_a_pass = value >= 8             ? radix_tuning.pass_steps_of_wide_values
                              : encoding.is_stable() ? radix_tuning.stable_pass_steps
                                                     : radix_tuning.pass_steps;
  const bool are_words = encoding.rows_are_words || encoding.is_extracted;
  const double read = are_words ? key : static_cast<double>(p.rows.in_stride_bytes);
  plan.add("latency",
           m.launch_seconds + rounds * (radix_tuning.histogram_steps + passes * steps_a_pass) * m.step_seconds);
  if (encoding.is_extracted) plan.add("rows read", extraction_seconds(p, encoding.rounds, encoding.word_bytes(), m));
  plan.add("digits counted", rounds * count * radix_tuning.histogram.seconds(read, m));
  // The first pass does not read row numbers.
  const double unread = encoding.sorts_row_numbers ? value : 0;
  const double slowdown = value > 0 && !encoding.sorts_row_numbers ? radix_tuning.pass_with_values : 1;
  plan.add("passes", rounds * count *
                         (slowdown * passes * radix_tuning.pass.seconds(key + value, m) -
                          radix_tuning.pass.copied_bytes / 2 * unread / m.copy_bytes_per_second));
}

}  // namespace sheaf::cuda
