#include <cmath>

#include "cuda/sort/onesweep/run.hpp"
#include "cuda/sort/run_words.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "cuda/sort/variants.hpp"
#include "cuda/sort/word_costs.hpp"

// cuda.onesweep: LSD radix sort of keys of 4 and 8 bytes in one kernel (Adinets and Merrill 2022). Here are its plan
// and its entry in the list of variants; onesweep/ has the kernel.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

/// Fitted to an H200, which sorts 10^8 words, uniform and with most bits 0; the histogram to an H100 that sorts as
/// many, latencies of passes to one that sorts 2^14.
struct onesweep_costs {
  word_cost histogram{0, 0.5};
  word_cost pass{22.6, 2.45};
  double pass_with_values = 1.05;  ///< values that are read in every pass, as row numbers are not, take so much longer
  // Latencies, in steps of the profile.
  double histogram_steps = 4.27;
  latency_cost pass_steps{3.3, 4.6};
  double pass_of_wide_values_steps = 5;  ///< of 8 and 16 bytes
};
constexpr onesweep_costs tuning;

plan::planned plan_onesweep(const sort_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const word_encoding encoding = onesweep_encoding_of(p);
  if (encoding.limbs > 2 || !encoding.words_are_keys()) return plan::rejected("sorts by one key of 4 or 8 bytes");
  if (!keys_are_aligned(p, encoding)) return plan::rejected("loads words of 8 bytes at multiples of 8");
  if (p.count >= most_onesweep_words) return plan::rejected("counts in 30 bits");
  const auto count = static_cast<double>(p.count);
  const double key = 4.0 * encoding.limbs;
  const double bytes = key + (encoding.payload == word_payload::separate ? separate_value_bytes(p, encoding) : 0);
  const double rounds = encoding.rounds;
  const double passes = std::ceil(p.key.bits / 8.0);
  const double steps_a_pass = bytes - key >= 8       ? tuning.pass_of_wide_values_steps
                              : encoding.is_stable() ? tuning.pass_steps.stable
                                                     : tuning.pass_steps.any_order;
  const bool are_words = encoding.rows_are_words || encoding.is_extracted;
  const double read = are_words ? key : static_cast<double>(p.rows.in_stride_bytes);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + (rounds * tuning.histogram_steps + passes * steps_a_pass) * m.step_seconds);
  if (encoding.is_extracted) plan.add("rows read", extraction_seconds(p, encoding.rounds, encoding.word_bytes(), m));
  plan.add("digits counted", rounds * count * tuning.histogram.seconds(read, m));
  // The first pass does not read row numbers.
  const double unread = encoding.sorts_row_numbers ? bytes - key : 0;
  const double slowdown = bytes > key && !encoding.sorts_row_numbers ? tuning.pass_with_values : 1;
  plan.add("passes", count * (slowdown * passes * tuning.pass.seconds(bytes, m) -
                              tuning.pass.copied_bytes / 2 * unread / m.copy_bytes_per_second));
  finish_plan(p, encoding, scope, plan);
  return plan;
}

void run_onesweep_variant(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                          std::byte* scratch) {
  sort_by_words(ctx, "cuda.onesweep", p, plan, b, scratch, word_sort_algorithm::onesweep);
}

}  // namespace

constinit const primitives::sort_variant sort_onesweep{"cuda.onesweep", backend_kind::cuda, plan_onesweep,
                                                       run_onesweep_variant};

}  // namespace sheaf::cuda
