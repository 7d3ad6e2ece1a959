#include "cuda/sort/msd.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/sort/run_words.hpp"
#include "cuda/sort/scratch_layout.hpp"
#include "cuda/sort/variants.hpp"
#include "cuda/sort/word_costs.hpp"

// cuda.msd: MSD radix sort of words of 4 to 16 bytes (He et al. 2007, section 4.1). Here are its plan and its entry in
// the list of variants; msd/ has the kernels.
namespace sheaf::cuda {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

constexpr std::uint64_t most_words = (std::uint64_t{1} << 32) - 1;

/// Fitted to an H200, which sorts 2^28 random words (bench/results/h200-sort-model.json).
struct msd_tuning {
  // The phases of an MSD pass, and the finishing of groups, for each word.
  word_cost histogram{0, 0.98};
  word_cost scatter{17.4, 2.13};
  word_cost stable_scatter{24.3, 2.22};
  word_cost finish{22.6, 2.98};
  word_cost stable_finish{68.7, 1.87};
  double three_limb_slowdown = 1.35;  ///< words of 12 bytes take so many times longer
  double lone_pass_slowdown = 1.2;    ///< a stable scatter that no other phase follows takes so much longer

  // Latencies, in steps of the profile.
  latency_cost one_pass{19.2, 27};
  latency_cost all_passes{41.3, 49.8};  ///< of a list that takes several passes
  latency_cost group{3.91, 6.76};       ///< one block that finishes a group
  double group_limb = 0.925;            ///< that block, for each limb but the first
  double hot_group = 21.3;              ///< a group of words of 8 bytes and more that have few different keys

  /// Keys of 4 bytes in short lists, where a sample is dear or not taken: how much longer keys of usual distributions
  /// take than the uniform ones that the rest is fitted to. From 8192 to 2^22 keys normal ones take 1.0 to 1.9 times as
  /// long, Pareto's 1.3 to 2.4.
  double usual_keys = 1.7;
  /// By how much longer in a list that is one group of group_words; in shorter ones by the square of their share.
  double usual_keys_in_a_group = 0.45;
  /// Likewise in long lists with values.
  double usual_keys_with_values = 1.15;
  /// Keys of 8 bytes in lists of which a pass makes groups if keys are uniform: others take a second pass, or their
  /// groups are merged. 300,000 and 2^20 usual keys take 1.2 to 3.4 times as long as uniform ones.
  double usual_keys_of_8_bytes = 2.2;
};
constexpr msd_tuning tuning;

// Rows are read and encoded by the first kernel, or by a kernel before.
double encode_seconds(const sort_problem& p, const machine& m, const word_encoding& encoding) {
  if (encoding.is_extracted) return extraction_seconds(p, encoding.rounds, encoding.word_bytes(), m);
  const double read = static_cast<double>(std::min<std::uint64_t>(p.rows.in_stride_bytes, 64));
  const bool is_contiguous = p.rows.in_stride_bytes == encoding.word_bytes();
  return static_cast<double>(p.count) * (is_contiguous ? read / 2 : 2 * read) / m.copy_bytes_per_second;
}

/// How much longer the keys that users have take than uniform ones.
double usual_keys_slowdown(const sort_problem& p, const word_encoding& encoding) {
  constexpr std::uint64_t long_list = std::uint64_t{1} << 23;
  constexpr std::uint64_t list_of_one_pass = std::uint64_t{1} << 20;
  if (encoding.key_bits <= 16) return 1;
  if (p.count <= group_words) {
    const double filled = static_cast<double>(p.count) / group_words;
    return encoding.limbs <= 2 ? 1 + tuning.usual_keys_in_a_group * filled * filled : 1;
  }
  if (encoding.limbs == 2 && encoding.words_are_keys())
    return p.count <= list_of_one_pass ? tuning.usual_keys_of_8_bytes : 1;
  if (encoding.limbs > 1) return 1;
  if (p.count < long_list) return tuning.usual_keys;
  return encoding.payload == word_payload::separate ? tuning.usual_keys_with_values : 1;
}

void run_msd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
             std::byte* scratch) {
  sort_by_words(ctx, "cuda.msd", p, plan, b, scratch, word_sort_algorithm::msd);
}

plan::planned plan_msd_radix(const sort_problem& p, const plan::scope& scope) { return plan_msd(p, scope, 1); }

}  // namespace

plan::planned plan_msd(const sort_problem& p, const plan::scope& scope, double finish_slowdown) {
  const machine& m = scope.machine;
  if (p.count > most_words) return plan::rejected("counts in 32 bits");
  const word_encoding encoding = encoding_of(p);
  const bool is_stable = encoding.is_stable();
  const double word = static_cast<double>(encoding.word_bytes());
  const double bytes = word + (encoding.payload == word_payload::separate ? separate_value_bytes(p, encoding) : 0);
  const double rounds = encoding.rounds;
  const auto count = static_cast<double>(p.count);
  const double width_slowdown = encoding.limbs == 3 ? tuning.three_limb_slowdown : 1;
  const double split_bits = std::max(0.0, std::log2(count / group_words));
  const double passes = std::min(std::ceil(encoding.key_bits / 8.0), std::ceil(split_bits / 8));
  plan::planned plan;
  const double latency = passes == 0 ? 0 : (passes > 1 ? tuning.all_passes : tuning.one_pass).seconds(is_stable, m);
  const double kernel_steps = passes == 0 ? 1 : 3;
  plan.add("latency", m.launch_seconds + rounds * (kernel_steps * m.step_seconds + latency));
  if (!encoding.rows_are_words) plan.add("rows read", encode_seconds(p, m, encoding));

  const word_cost& scatter = is_stable ? tuning.stable_scatter : tuning.scatter;
  const bool ends_with_pass = encoding.rows_are_words && encoding.key_bits <= 8 && passes > 0;
  const double scatter_slowdown = ends_with_pass && is_stable ? tuning.lone_pass_slowdown : 1;
  plan.add("passes", rounds * passes * count * width_slowdown *
                         (tuning.histogram.seconds(word, m) + scatter_slowdown * scatter.seconds(bytes, m)));

  const word_cost& finish = is_stable ? tuning.stable_finish : tuning.finish;
  const bool has_hot_group = encoding.key_bits <= 8 && (encoding.limbs > 1 || encoding.is_extracted);
  const double group =
      has_hot_group ? tuning.hot_group * m.step_seconds
                    : tuning.group.seconds(is_stable, m) + (encoding.limbs - 1) * tuning.group_limb * m.step_seconds;
  const double finishing = ends_with_pass ? 0 : std::max(count * width_slowdown * finish.seconds(bytes, m), group);
  plan.add("groups finished", rounds * finishing * finish_slowdown);
  const double usual = usual_keys_slowdown(p, encoding);
  if (usual > 1) plan.add("uneven keys", (usual - 1) * plan.seconds);
  finish_plan(p, encoding, scope, plan);
  return plan;
}

constinit const primitives::sort_variant sort_msd{"cuda.msd", backend_kind::cuda, plan_msd_radix, run_msd};

}  // namespace sheaf::cuda
