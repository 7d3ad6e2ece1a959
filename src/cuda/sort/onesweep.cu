#include <cmath>

#include "cuda/sort/onesweep/run.hpp"
#include "cuda/sort/run_words.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "cuda/sort/word_costs.hpp"

// cuda.onesweep: LSD radix sort of keys of 4 bytes in one kernel (Adinets and Merrill 2022). Here are its plan and its
// entry in the list of variants; onesweep/ has the kernel.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

constexpr word_cost histogram_cost{0, 0.2e-12};
constexpr word_cost pass_cost{3.2e-12, 0.55e-12};
constexpr double histogram_latency = 6e-6;
constexpr latency_cost pass_latency{11e-6, 12.5e-6};
constexpr double short_tile_pass_latency = 9e-6;  ///< a pass with values of 16 bytes, whose tiles are shorter

plan::planned plan_onesweep(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  const word_encoding encoding = onesweep_encoding_of(p);
  if (encoding.limbs != 1)
    return plan::rejected("sorts by one key of 4 bytes, alone or with values of 4, 8 or 16 bytes");
  if (p.count >= most_onesweep_words) return plan::rejected("counts in 30 bits");
  const auto count = static_cast<double>(p.count);
  const double bytes = 4.0 + (encoding.payload == word_payload::separate ? separate_value_bytes(p, encoding) : 0);
  const double slowdown = reference_bandwidth / m.copy_bytes_per_second;
  const double passes = std::ceil(encoding.key_bits / 8.0);
  const double latency_a_pass = bytes > 12 ? short_tile_pass_latency : pass_latency.seconds(encoding.is_stable());
  const double read = encoding.rows_are_words ? 4.0 : static_cast<double>(p.rows.in_stride_bytes);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + histogram_latency + passes * latency_a_pass);
  plan.add("digits counted", count * histogram_cost.seconds(read, slowdown));
  plan.add("passes", passes * count * pass_cost.seconds(bytes, slowdown));
  if (encoding.sorts_row_numbers && p.product == sort_product::records) plan.add("gathered", gather_seconds(p, m));
  plan.scratch_bytes = sort_scratch_layout(p, encoding).bytes;
  return plan;
}

void run_onesweep_variant(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  sort_by_words(ctx, "cuda.onesweep", p, plan, b, word_sort_algorithm::onesweep);
}

}  // namespace

constinit const primitives::sort_variant sort_onesweep{"cuda.onesweep", plan_onesweep, run_onesweep_variant};

}  // namespace sheaf::cuda
