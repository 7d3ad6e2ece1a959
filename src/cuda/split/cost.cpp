#include "cuda/split/cost.hpp"

#include "cuda/device/speeds.hpp"
#include "cuda/split/passes.hpp"

namespace sheaf::cuda {
namespace {

using namespace primitives;

/// How many records the kernels count or rank in the time in which the L2 cache moves a byte, where a pass waits for
/// that.
struct split_tuning {
  double counted = 0.0941;
  double ranked_stable = 0.0235;
  double ranked_unordered = 0.0456;
  double ranked_two_categories = 0.0273;  ///< unordered: all threads add to one of two counters
  double ranked_wide = 0.0304;
  double ranked_wide_separate_keys = 0.0425;
  double ranked_pairs = 0.0182;
  /// How much longer a pass takes over records that another pass has split: their digits come in runs.
  double later_pass_slowdown = 1.15;
  /// How much longer passes over separate keys are priced where each key has so many records: if they are sorted, most
  /// warps then have two keys or three, and take longer than at random.
  double sorted_pairs_slowdown = 1.1;
  double least_sorted_run = 16;
  double most_sorted_run = 1000;
  /// How well ranking and streaming overlap, as in planned::add_overlapped.
  double overlap_exponent = 3;
};
constexpr split_tuning tuning;

struct pass_rates {
  double ranked;  ///< records for a byte of the L2 cache, as in split_tuning
  double tile_records;
  double steps;       ///< latency of its kernels and of the few blocks of a short list, in steps of the profile
  double tile_steps;  ///< latency of a list that is one tile
};

pass_rates rates_of(bool stable, bool wide, bool has_separate_keys, std::uint32_t word_bytes) {
  const double tile_records = wide ? 16384 : word_bytes == 16 ? 4096 : 8192;
  const double ranked = stable ? tuning.ranked_stable : wide ? tuning.ranked_wide : tuning.ranked_unordered;
  return {ranked, tile_records, stable ? 12.0 : 8.0, !stable ? 2.0 : has_separate_keys ? 4.5 : 3.0};
}

struct pass_bytes {
  double counted;         ///< bytes that the histogram kernel reads
  double moved;           ///< bytes that the scatter kernel reads and writes
  double written_record;  ///< bytes of a record of the output
};

/// The share of copy bandwidth that is left when the output is written in runs of this many bytes: the sectors at both
/// ends of a run are written twice.
double bandwidth_share(double run_bytes) { return 0.86 * run_bytes / (run_bytes + 55); }

void add_pass(plan::planned& plan, const machine& machine, double count, double categories, pass_bytes bytes,
              pass_rates rates) {
  const double bandwidth = machine.copy_bytes_per_second;
  const double multiprocessors = std::max(1.0, static_cast<double>(machine.parallelism));
  const double busy_share = std::min(1.0, std::max(1.0, count / rates.tile_records) / multiprocessors);
  const double records_in_run = std::max(1.0, rates.tile_records / std::max(1.0, categories));
  const double share = bandwidth_share(records_in_run * bytes.written_record);
  const bool has_histogram = count > rates.tile_records;
  plan.add("latency", machine.launch_seconds + (has_histogram ? rates.steps : rates.tile_steps) * machine.step_seconds);
  if (has_histogram) {
    plan.add("counted",
             std::max(bytes.counted / bandwidth / 0.97, instruction_seconds(count, tuning.counted, machine)));
  }
  plan.add_overlapped(tuning.overlap_exponent,
                      {{"streamed", bytes.moved / bandwidth / share},
                       {"ranked", instruction_seconds(count, rates.ranked * busy_share, machine)}});
}

pass_bytes bytes_of(const split_problem& problem) {
  const auto count = static_cast<double>(problem.count);
  const double key =
      static_cast<double>(problem.has_separate_key() ? problem.key_stride_bytes : problem.in_stride_bytes);
  const double read = problem.product == split_product::records ? static_cast<double>(problem.in_stride_bytes) : 0;
  const double written = static_cast<double>(problem.out_stride_bytes);
  return {count * key, count * (written + (problem.has_separate_key() ? key + read : read)), written};
}

}  // namespace

plan::planned stable_pass_cost(const split_problem& p, const machine& m) {
  plan::planned plan;
  pass_rates rates = rates_of(true, false, p.has_separate_key(), p.word_bytes);
  rates.steps += p.has_separate_key() ? 2.8 : 1.4;
  add_pass(plan, m, static_cast<double>(p.count), static_cast<double>(p.categories), bytes_of(p), rates);
  return plan;
}

plan::planned unordered_pass_cost(const split_problem& problem, const machine& machine, bool wide) {
  plan::planned plan;
  pass_rates rates = rates_of(false, wide, problem.has_separate_key(), problem.word_bytes);
  if (wide && problem.has_separate_key()) rates.ranked = tuning.ranked_wide_separate_keys;
  if (problem.categories <= 2) rates.ranked = tuning.ranked_two_categories;
  add_pass(plan, machine, static_cast<double>(problem.count), static_cast<double>(problem.categories),
           bytes_of(problem), rates);
  return plan;
}

plan::planned passes_cost(const split_problem& problem, const machine& machine, std::uint32_t first_bits,
                          std::uint32_t later_passes, bool stable) {
  const auto count = static_cast<double>(problem.count);
  const auto word = static_cast<double>(problem.word_bytes);
  const pass_bytes bytes{count * word, 2 * count * word, word};
  plan::planned first_pass;
  add_pass(first_pass, machine, count, std::exp2(first_bits), bytes,
           rates_of(stable, (1U << first_bits) > narrow_bins, false, problem.word_bytes));
  plan::planned later_pass;
  const std::uint32_t later_bits = (problem.bits.count - first_bits) / std::max(1U, later_passes);
  add_pass(later_pass, machine, count, std::exp2(later_bits), bytes, rates_of(true, false, false, problem.word_bytes));
  plan::planned plan;
  plan.add("latency", machine.launch_seconds);
  plan.add("first pass", first_pass.seconds - machine.launch_seconds);
  plan.add("more passes", (later_pass.seconds - machine.launch_seconds) * later_passes * tuning.later_pass_slowdown);
  return plan;
}

plan::planned pair_passes_cost(const split_problem& problem, const machine& machine, std::uint32_t key_bits,
                               std::uint32_t passes, bool stable) {
  constexpr double key_bytes = 4;  // between passes
  const auto count = static_cast<double>(problem.count);
  const double value_bytes = static_cast<double>(problem.out_stride_bytes);
  const double caller_key_bytes = static_cast<double>(problem.key_stride_bytes);
  const double read_value_bytes = problem.product == split_product::records ? value_bytes : 0;
  const auto pass_seconds = [&](double counted, double moved, bool is_stable) {
    plan::planned one;
    pass_rates rates = rates_of(is_stable, false, true, problem.word_bytes);
    rates.ranked = std::min(rates.ranked, tuning.ranked_pairs);
    add_pass(one, machine, count, std::exp2(key_bits / passes), {count * counted, count * moved, value_bytes}, rates);
    return one.seconds - machine.launch_seconds;
  };
  const double run = count / std::exp2(key_bits);
  const bool has_short_runs = run >= tuning.least_sorted_run && run < tuning.most_sorted_run;
  const double slowdown = has_short_runs ? tuning.sorted_pairs_slowdown : 1;
  plan::planned plan;
  plan.add("latency", machine.launch_seconds);
  plan.add(
      "first pass",
      slowdown * pass_seconds(caller_key_bytes, caller_key_bytes + read_value_bytes + key_bytes + value_bytes, stable));
  if (passes > 2) {
    plan.add("more passes", slowdown * pass_seconds(key_bytes, 2 * (key_bytes + value_bytes), true) * (passes - 2));
  }
  plan.add("last pass", slowdown * pass_seconds(key_bytes, key_bytes + 2 * value_bytes, true));
  return plan;
}

plan::planned pair_passes_cost(const pair_passes& passes, const machine& machine) {
  split_problem split;
  split.count = passes.count;
  split.record_bytes = split.in_stride_bytes = split.out_stride_bytes = passes.value_bytes;
  split.word_bytes = passes.value_bytes;
  split.key_from = split_key::kind::category;
  split.key_stride_bytes = passes.keys.stride;
  return pair_passes_cost(split, machine, passes.key_bits, pass_count(passes), passes.stable);
}

}  // namespace sheaf::cuda
