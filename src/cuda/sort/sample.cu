#include "cuda/sort/by_words.hpp"
#include "cuda/sort/radix/arguments.cuh"
#include "cuda/sort/radix/run.hpp"

// cuda.sample: sample sort of words of 4 to 16 bytes. A sample of the keys chooses codes that ascend with the key and
// have about equally many keys each. LSD radix passes of up to 8 bits sort by codes, as many as leave groups that fit
// shared memory, where a block sorts each group by the key. If keys are spread evenly over their highest bits, these
// bits are the codes. If the sample says that it is faster, passes sort by the digits of the key instead. Up to 2^20
// words of 8 bytes are not sampled: the histogram of all digits says whether one pass, by the highest, suffices.
// Here are its plan and its entry in the list of variants; radix/ has the kernels.
namespace sheaf::cuda {
namespace {

using namespace primitives;

/// Costs with values are those with row numbers, too.
struct sample_sort_costs {
  word_cost finish{22.6, 2.98};
  word_cost finish_with_values{68.7, 1.87};
  // Latencies, in steps of the profile.
  double codes_steps = 12;  ///< the sample and the map, codes found, groups listed
  double group = 3.91;      ///< one block that finishes a group
  double group_with_values = 6.76;
  double group_limb = 0.925;  ///< that block, for each limb but the first
  double uneven_keys = 3;     ///< time of uneven keys over that of even ones, in sampled lists of up to 2^21 words
};
constexpr sample_sort_costs tuning_of_sample_sort;

/// Measured time of a whole sort of uneven keys over that of evenly spread ones, to which the costs above are fitted.
/// Plans of lists that are sampled assume uneven keys, because evenly spread ones are rare. Lists that try the highest
/// digit have no such factor: they are priced halfway between one pass with groups and all passes, if all take longer.
double uneven_keys_slowdown(const sort_problem& p, const word_encoding& encoding) {
  if (encoding.limbs > 2) return 1;
  if (p.count <= std::uint64_t{1} << 21) return tuning_of_sample_sort.uneven_keys;
  const bool moves_values = encoding.has_values() && !encoding.yields_order;
  return encoding.limbs == 2 || (p.count >= std::uint64_t{1} << 26 && !moves_values) ? 1 : 1.3;
}

void run_sample_sort(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
                     std::byte* scratch) {
  sort_by_words(ctx, p, plan, b, scratch);
}

plan::planned plan_for_choice(const sort_problem& p, const plan::scope& scope) { return plan_sample_sort(p, scope, 1); }

}  // namespace

plan::planned plan_sample_sort(const sort_problem& problem, const plan::scope& scope, double finish_slowdown) {
  const machine& machine = scope.machine;
  if (problem.count >= sorted_words_limit) return plan::rejected("counts in 31 bits");
  const word_encoding encoding = encoding_of(problem);
  const bool is_one = problem.count <= most_group_words;
  if (!is_one && encoding.key_bits <= 16) return plan::rejected("passes by codes sort by more than 16 bits");
  const bool has_values = encoding.has_values();
  const double key = static_cast<double>(encoding.word_bytes());
  const double bytes = key + (has_values ? separate_value_bytes(problem, encoding) : 0);
  const double rounds = encoding.rounds;
  const auto count = static_cast<double>(problem.count);
  plan::planned plan;
  const bool tries_digit =
      !is_one && tries_highest_digit(word_sort_of(problem, encoding, sort_method::sample, encoding.key_bits));
  if (is_one) {
    plan.add("latency", machine.launch_seconds + rounds * machine.step_seconds);
    if (encoding.is_extracted)
      plan.add("rows read", extraction_seconds(problem, encoding.rounds, encoding.word_bytes(), machine));
  } else if (tries_digit) {
    add_passes(plan, problem, encoding, sort_method::sample, 1, machine);
  } else {
    const std::uint32_t codes = codes_of_even_keys(static_cast<std::uint32_t>(problem.count));
    add_passes(plan, problem, encoding, sort_method::sample, passes_of_codes(codes), machine);
    plan.add("codes", rounds * tuning_of_sample_sort.codes_steps * machine.step_seconds);
  }
  const double group = ((has_values ? tuning_of_sample_sort.group_with_values : tuning_of_sample_sort.group) +
                        (encoding.limbs - 1) * tuning_of_sample_sort.group_limb) *
                       machine.step_seconds;
  const double finish =
      count *
      (has_values ? tuning_of_sample_sort.finish_with_values : tuning_of_sample_sort.finish).seconds(bytes, machine);
  plan.add("groups finished", rounds * std::max(finish, group) * finish_slowdown);
  if (tries_digit) {
    plan::planned by_digits;
    add_passes(by_digits, problem, encoding, sort_method::sample, std::ceil(encoding.key_bits / 8.0), machine);
    if (by_digits.seconds > plan.seconds) plan.add("uneven keys", (by_digits.seconds - plan.seconds) / 2);
  } else if (const double usual = is_one ? 1 : uneven_keys_slowdown(problem, encoding); usual > 1) {
    plan.add("uneven keys", (usual - 1) * plan.seconds);
  }
  complete_plan(problem, encoding, sort_method::sample, scope, plan);
  return plan;
}

extern constinit const sort_variant sort_by_sample{"cuda.sample", backend_kind::cuda, plan_for_choice, run_sample_sort};

}  // namespace sheaf::cuda
