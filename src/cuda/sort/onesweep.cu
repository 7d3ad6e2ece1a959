#include <cmath>

#include "cuda/sort/onesweep/run.hpp"
#include "cuda/sort/run_words.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "cuda/sort/variants.hpp"
#include "cuda/sort/word_costs.hpp"

// cuda.onesweep: LSD radix sort of keys of 4 bytes in one kernel (Adinets and Merrill 2022). Here are its plan and its
// entry in the list of variants; onesweep/ has the kernel.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

/// Fitted to an H200, which sorts 2^28 random words (bench/results/h200-sort-model.json).
struct onesweep_tuning {
  word_cost histogram{0, 0.852};
  word_cost pass{27.8, 2.34};
  // Latencies, in steps of the profile.
  double histogram_steps = 4.27;
  latency_cost pass_steps{7.82, 8.89};
  double pass_of_8_byte_values_steps = 12.4;
  double short_tile_pass_steps = 6.4;  ///< a pass with values of 16 bytes, whose tiles are shorter
};
constexpr onesweep_tuning tuning;

plan::planned plan_onesweep(const sort_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  const word_encoding encoding = onesweep_encoding_of(p);
  if (encoding.limbs != 1)
    return plan::rejected("sorts by one key of 4 bytes, alone or with values of 4, 8 or 16 bytes");
  if (p.count >= most_onesweep_words) return plan::rejected("counts in 30 bits");
  const auto count = static_cast<double>(p.count);
  const double bytes = 4.0 + (encoding.payload == word_payload::separate ? separate_value_bytes(p, encoding) : 0);
  const double passes = std::ceil(encoding.key_bits / 8.0);
  const double steps_a_pass = bytes > 12 ? tuning.short_tile_pass_steps
                              : bytes == 12
                                  ? tuning.pass_of_8_byte_values_steps
                                  : (encoding.is_stable() ? tuning.pass_steps.stable : tuning.pass_steps.any_order);
  const double read = encoding.rows_are_words ? 4.0 : static_cast<double>(p.rows.in_stride_bytes);
  plan::planned plan;
  plan.add("latency",
           m.launch_seconds + tuning.histogram_steps * m.step_seconds + passes * steps_a_pass * m.step_seconds);
  plan.add("digits counted", count * tuning.histogram.seconds(read, m));
  plan.add("passes", passes * count * tuning.pass.seconds(bytes, m));
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
