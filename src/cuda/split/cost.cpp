#include "cuda/split/cost.hpp"

#include <algorithm>
#include <cmath>

#include "cuda/split/passes.hpp"

namespace sheaf::cuda {
namespace {

using primitives::split_problem;
using primitives::split_product;

/// Records that one multiprocessor ranks or counts a second, where that is what a pass waits for.
constexpr double counted_per_second = 6.2e9;
constexpr double stable_per_second = 1.55e9;
constexpr double unordered_per_second = 3.0e9;
constexpr double unordered_pairs_per_second = 1.8e9;  ///< of two categories, whose counters all threads want
constexpr double wide_per_second = 2.0e9;
constexpr double wide_apart_per_second = 2.8e9;
constexpr double pairs_per_second = 1.2e9;
/// How well ranking and streaming overlap, as in planned::add_overlapped.
constexpr double overlap_exponent = 3;

/// How a pass is done.
struct pass_kind {
  double ranked_per_second;
  double tile;   ///< records
  double steps;  ///< what it waits for kernels and for the few blocks of a short list, in steps of the profile
};

pass_kind kind_of(bool stable, bool wide, std::uint32_t word_bytes) {
  const double tile = wide ? 16384 : word_bytes == 16 ? 4096 : 8192;
  return {stable ? stable_per_second : wide ? wide_per_second : unordered_per_second, tile, stable ? 12.0 : 8.0};
}

struct pass_bytes {
  double counted;  ///< read before, to count
  double moved;    ///< read and written in the pass
  double run;      ///< of a record as it is written
};

/// The share of copy bandwidth that writing runs of this many bytes leaves: the sectors at their ends are written
/// twice.
double share_of(double run_bytes) { return 0.86 * run_bytes / (run_bytes + 55); }

void add_pass(plan::planned& plan, const machine& m, double count, double categories, pass_bytes bytes,
              pass_kind kind) {
  const double bus = m.copy_bytes_per_second;
  const double multiprocessors = std::max(1.0, static_cast<double>(m.parallelism));
  const double busy = std::min(1.0, std::max(1.0, count / kind.tile) / multiprocessors);
  const double share = share_of(std::max(bytes.run, kind.tile / std::max(1.0, categories) * bytes.run));
  const bool counts = count > kind.tile;
  plan.add("latency", m.launch_seconds + (counts ? kind.steps : 2) * m.step_seconds);
  if (counts) plan.add("counted", std::max(bytes.counted / bus / 0.97, count / (counted_per_second * multiprocessors)));
  plan.add_overlapped(overlap_exponent, {{"streamed", bytes.moved / bus / share},
                                         {"ranked", count / (kind.ranked_per_second * multiprocessors * busy)}});
}

pass_bytes bytes_of(const split_problem& p) {
  const auto count = static_cast<double>(p.count);
  const double key = static_cast<double>(p.key_is_apart() ? p.key_stride_bytes : p.in_stride_bytes);
  const double read = p.product == split_product::records ? static_cast<double>(p.in_stride_bytes) : 0;
  const double written = static_cast<double>(p.out_stride_bytes);
  return {count * key, count * (written + (p.key_is_apart() ? key + read : read)), written};
}

}  // namespace

plan::planned stable_pass_cost(const split_problem& p, const machine& m) {
  plan::planned plan;
  add_pass(plan, m, static_cast<double>(p.count), static_cast<double>(p.categories), bytes_of(p),
           kind_of(true, false, p.word_bytes));
  return plan;
}

plan::planned unordered_pass_cost(const split_problem& p, const machine& m, bool wide) {
  plan::planned plan;
  pass_kind kind = kind_of(false, wide, p.word_bytes);
  if (wide && p.key_is_apart()) kind.ranked_per_second = wide_apart_per_second;
  if (p.categories <= 2) kind.ranked_per_second = unordered_pairs_per_second;
  add_pass(plan, m, static_cast<double>(p.count), static_cast<double>(p.categories), bytes_of(p), kind);
  return plan;
}

plan::planned passes_cost(const split_problem& p, const machine& m, std::uint32_t first, std::uint32_t more,
                          bool stable) {
  const auto count = static_cast<double>(p.count);
  const auto word = static_cast<double>(p.word_bytes);
  const pass_bytes bytes{count * word, 2 * count * word, word};
  plan::planned of_first;
  add_pass(of_first, m, count, std::exp2(first), bytes, kind_of(stable, (1U << first) > narrow_bins, p.word_bytes));
  plan::planned of_more;
  const std::uint32_t other_bits = (p.bits.count - first) / std::max(1U, more);
  add_pass(of_more, m, count, std::exp2(other_bits), bytes, kind_of(true, false, p.word_bytes));
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("first pass", of_first.seconds - m.launch_seconds);
  plan.add("more passes", (of_more.seconds - m.launch_seconds) * more);
  return plan;
}

plan::planned pair_passes_cost(const split_problem& p, const machine& m, std::uint32_t key_bits, std::uint32_t passes,
                               bool stable) {
  const auto count = static_cast<double>(p.count);
  const double value = static_cast<double>(p.out_stride_bytes);
  const double given = static_cast<double>(p.key_stride_bytes);
  const double read = p.product == split_product::records ? value : 0;
  constexpr double key = 4;
  const auto pass = [&](double counted, double moved, bool keeps_order) {
    plan::planned one;
    pass_kind kind = kind_of(keeps_order, false, p.word_bytes);
    kind.ranked_per_second = std::min(kind.ranked_per_second, pairs_per_second);
    add_pass(one, m, count, std::exp2(key_bits / passes), {count * counted, count * moved, value}, kind);
    return one.seconds - m.launch_seconds;
  };
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("first pass", pass(given, given + read + key + value, stable));
  if (passes > 2) plan.add("more passes", pass(key, 2 * (key + value), true) * (passes - 2));
  plan.add("last pass", pass(key, key + 2 * value, true));
  return plan;
}

}  // namespace sheaf::cuda
