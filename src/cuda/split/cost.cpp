#include "cuda/split/cost.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/split/passes.hpp"

namespace sheaf::cuda {
namespace {

using primitives::split_problem;
using primitives::split_product;

/// Records a second that one multiprocessor of an H200 counts or ranks, where a pass waits for that.
constexpr double counted_per_second = 6.2e9;
constexpr double stable_per_second = 1.55e9;
constexpr double unordered_per_second = 3.0e9;
constexpr double two_categories_per_second = 1.8e9;  ///< unordered: all threads add to one of two counters
constexpr double wide_per_second = 2.0e9;
constexpr double wide_separate_keys_per_second = 2.8e9;
constexpr double pairs_per_second = 1.2e9;
/// How well ranking and streaming overlap, as in planned::add_overlapped.
constexpr double overlap_exponent = 3;

struct pass_rates {
  double ranked_per_second;
  double tile_records;
  double steps;  ///< latency of its kernels and of the few blocks of a short list, in steps of the profile
};

pass_rates rates_of(bool stable, bool wide, std::uint32_t word_bytes) {
  const double tile_records = wide ? 16384 : word_bytes == 16 ? 4096 : 8192;
  const double ranked_per_second = stable ? stable_per_second : wide ? wide_per_second : unordered_per_second;
  return {ranked_per_second, tile_records, stable ? 12.0 : 8.0};
}

struct pass_bytes {
  double counted;         ///< bytes that the histogram kernel reads
  double moved;           ///< bytes that the scatter kernel reads and writes
  double written_record;  ///< bytes of a record of the output
};

/// The share of copy bandwidth that is left when the output is written in runs of this many bytes: the sectors at both
/// ends of a run are written twice.
double bandwidth_share(double run_bytes) { return 0.86 * run_bytes / (run_bytes + 55); }

void add_pass(plan::planned& plan, const machine& m, double count, double categories, pass_bytes bytes,
              pass_rates rates) {
  const double bandwidth = m.copy_bytes_per_second;
  const double multiprocessors = std::max(1.0, static_cast<double>(m.parallelism));
  const double busy_share = std::min(1.0, std::max(1.0, count / rates.tile_records) / multiprocessors);
  const double records_in_run = std::max(1.0, rates.tile_records / std::max(1.0, categories));
  const double share = bandwidth_share(records_in_run * bytes.written_record);
  const bool has_histogram = count > rates.tile_records;
  plan.add("latency", m.launch_seconds + (has_histogram ? rates.steps : 2) * m.step_seconds);
  if (has_histogram) {
    plan.add("counted", std::max(bytes.counted / bandwidth / 0.97, count / (counted_per_second * multiprocessors)));
  }
  plan.add_overlapped(overlap_exponent, {{"streamed", bytes.moved / bandwidth / share},
                                         {"ranked", count / (rates.ranked_per_second * multiprocessors * busy_share)}});
}

pass_bytes bytes_of(const split_problem& p) {
  const auto count = static_cast<double>(p.count);
  const double key = static_cast<double>(p.has_separate_key() ? p.key_stride_bytes : p.in_stride_bytes);
  const double read = p.product == split_product::records ? static_cast<double>(p.in_stride_bytes) : 0;
  const double written = static_cast<double>(p.out_stride_bytes);
  return {count * key, count * (written + (p.has_separate_key() ? key + read : read)), written};
}

}  // namespace

plan::planned stable_pass_cost(const split_problem& p, const machine& m) {
  plan::planned plan;
  add_pass(plan, m, static_cast<double>(p.count), static_cast<double>(p.categories), bytes_of(p),
           rates_of(true, false, p.word_bytes));
  return plan;
}

plan::planned unordered_pass_cost(const split_problem& p, const machine& m, bool wide) {
  plan::planned plan;
  pass_rates rates = rates_of(false, wide, p.word_bytes);
  if (wide && p.has_separate_key()) rates.ranked_per_second = wide_separate_keys_per_second;
  if (p.categories <= 2) rates.ranked_per_second = two_categories_per_second;
  add_pass(plan, m, static_cast<double>(p.count), static_cast<double>(p.categories), bytes_of(p), rates);
  return plan;
}

plan::planned passes_cost(const split_problem& p, const machine& m, std::uint32_t first_bits,
                          std::uint32_t later_passes, bool stable) {
  const auto count = static_cast<double>(p.count);
  const auto word = static_cast<double>(p.word_bytes);
  const pass_bytes bytes{count * word, 2 * count * word, word};
  plan::planned first_pass;
  add_pass(first_pass, m, count, std::exp2(first_bits), bytes,
           rates_of(stable, (1U << first_bits) > narrow_bins, p.word_bytes));
  plan::planned later_pass;
  const std::uint32_t later_bits = (p.bits.count - first_bits) / std::max(1U, later_passes);
  add_pass(later_pass, m, count, std::exp2(later_bits), bytes, rates_of(true, false, p.word_bytes));
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("first pass", first_pass.seconds - m.launch_seconds);
  plan.add("more passes", (later_pass.seconds - m.launch_seconds) * later_passes);
  return plan;
}

plan::planned pair_passes_cost(const split_problem& p, const machine& m, std::uint32_t key_bits, std::uint32_t passes,
                               bool stable) {
  constexpr double key_bytes = 4;  // between passes
  const auto count = static_cast<double>(p.count);
  const double value_bytes = static_cast<double>(p.out_stride_bytes);
  const double caller_key_bytes = static_cast<double>(p.key_stride_bytes);
  const double read_value_bytes = p.product == split_product::records ? value_bytes : 0;
  const auto pass_seconds = [&](double counted, double moved, bool is_stable) {
    plan::planned one;
    pass_rates rates = rates_of(is_stable, false, p.word_bytes);
    rates.ranked_per_second = std::min(rates.ranked_per_second, pairs_per_second);
    add_pass(one, m, count, std::exp2(key_bits / passes), {count * counted, count * moved, value_bytes}, rates);
    return one.seconds - m.launch_seconds;
  };
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("first pass",
           pass_seconds(caller_key_bytes, caller_key_bytes + read_value_bytes + key_bytes + value_bytes, stable));
  if (passes > 2) {
    plan.add("more passes", pass_seconds(key_bytes, 2 * (key_bytes + value_bytes), true) * (passes - 2));
  }
  plan.add("last pass", pass_seconds(key_bytes, key_bytes + 2 * value_bytes, true));
  return plan;
}

}  // namespace sheaf::cuda
