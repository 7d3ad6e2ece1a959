#include "cuda/sort/msd.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/sort/run_words.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "cuda/sort/word_costs.hpp"

// cuda.msd: MSD radix sort of words of 4 to 16 bytes (He et al. 2007, section 4.1). Here are its plan and its entry in
// the list of variants; msd/ has the kernels.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;
using primitives::sort_product;

constexpr std::uint64_t most_words = (std::uint64_t{1} << 32) - 1;

// The phases of an MSD pass, and the finishing of groups, for each word.
constexpr word_cost histogram_cost{0, 0.23e-12};
constexpr word_cost scatter_cost{2.0e-12, 0.5e-12};
constexpr word_cost stable_scatter_cost{2.8e-12, 0.52e-12};
constexpr word_cost finish_cost{2.6e-12, 0.7e-12};
constexpr word_cost stable_finish_cost{7.9e-12, 0.44e-12};
constexpr double three_limb_slowdown = 1.35;  ///< words of 12 bytes take so many times longer
constexpr double lone_pass_slowdown = 1.2;    ///< a stable scatter that no other phase follows takes so much longer

// Latencies, in seconds.
constexpr latency_cost one_pass_latency{27e-6, 38e-6};
constexpr latency_cost all_passes_latency{58e-6, 70e-6};  ///< of a list that takes several passes
constexpr latency_cost group_latency{5.5e-6, 9.5e-6};     ///< one block that finishes a group
constexpr double group_limb_latency = 1.3e-6;             ///< that block, for each limb but the first
constexpr double hot_group_latency = 30e-6;  ///< a group of words of 8 bytes and more that have few different keys

// Rows are read and encoded by the first pass, where there is one and keys are whole limbs, else by a kernel before.
double encode_seconds(const sort_problem& p, const machine& m, const word_encoding& encoding) {
  const double count = static_cast<double>(p.count);
  const double word = static_cast<double>(encoding.word_bytes());
  const double read = static_cast<double>(std::min<std::uint64_t>(p.rows.in_stride_bytes, 64));
  const bool is_in_first_pass = p.count > group_words && key_is_whole_limbs(p);
  const bool is_contiguous =
      encoding.payload != word_payload::in_word && p.rows.in_stride_bytes == encoding.word_bytes();
  const double extra_bytes = !is_in_first_pass ? read + 2 * word : is_contiguous ? read / 2 : 2 * read;
  const double kernels = is_in_first_pass ? 0 : 5 * m.step_seconds;
  return kernels + count * extra_bytes / m.copy_bytes_per_second;
}

void run_msd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  sort_by_words(ctx, "cuda.msd", p, plan, b, word_sort_algorithm::msd);
}

plan::planned plan_msd_radix(const sort_problem& p, const machine& m) { return plan_msd(p, m, 1); }

}  // namespace

plan::planned plan_msd(const sort_problem& p, const machine& m, double finish_slowdown) {
  if (p.backend != backend_kind::cuda) return plan::rejected("works on CUDA memory");
  if (p.count > most_words) return plan::rejected("counts in 32 bits");
  const word_encoding encoding = encoding_of(p);
  const bool is_stable = encoding.is_stable();
  const double word = static_cast<double>(encoding.word_bytes());
  const double bytes = word + (encoding.payload == word_payload::separate ? separate_value_bytes(p, encoding) : 0);
  const double slowdown = reference_bandwidth / m.copy_bytes_per_second;
  const double rounds = encoding.rounds;
  const auto count = static_cast<double>(p.count);
  const double width_slowdown = encoding.limbs == 3 ? three_limb_slowdown : 1;
  const double split_bits = std::max(0.0, std::log2(count / group_words));
  const double passes = std::min(std::ceil(encoding.key_bits / 8.0), std::ceil(split_bits / 8));
  plan::planned plan;
  const double latency = passes == 0 ? 0 : (passes > 1 ? all_passes_latency : one_pass_latency).seconds(is_stable);
  plan.add("latency", m.launch_seconds + rounds * (3 * m.step_seconds + latency));
  if (!encoding.rows_are_words) plan.add("rows read", rounds * encode_seconds(p, m, encoding));

  const word_cost& scatter = is_stable ? stable_scatter_cost : scatter_cost;
  const bool ends_with_pass = encoding.rows_are_words && encoding.key_bits <= 8 && passes > 0;
  const double scatter_slowdown = ends_with_pass && is_stable ? lone_pass_slowdown : 1;
  plan.add("passes",
           rounds * passes * count * width_slowdown *
               (histogram_cost.seconds(word, slowdown) + scatter_slowdown * scatter.seconds(bytes, slowdown)));

  const word_cost& finish = is_stable ? stable_finish_cost : finish_cost;
  const bool has_hot_group = encoding.key_bits <= 8 && encoding.limbs > 1;
  const double group =
      has_hot_group ? hot_group_latency : group_latency.seconds(is_stable) + (encoding.limbs - 1) * group_limb_latency;
  const double finishing =
      ends_with_pass ? 0 : std::max(count * width_slowdown * finish.seconds(bytes, slowdown), group);
  plan.add("groups finished", rounds * finishing * finish_slowdown);
  if (encoding.sorts_row_numbers && p.product == sort_product::records) plan.add("gathered", gather_seconds(p, m));
  plan.scratch_bytes = sort_scratch_layout(p, encoding).bytes;
  return plan;
}

constinit const primitives::sort_variant sort_msd{"cuda.msd", plan_msd_radix, run_msd};

}  // namespace sheaf::cuda
