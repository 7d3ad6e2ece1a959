#include "cuda/split_cost.hpp"

#include <algorithm>

namespace sheaf::cuda {
namespace {

using primitives::split_problem;
using primitives::split_product;

/// Records that one multiprocessor ranks or counts a second, where that is what a pass waits for.
constexpr double counted_per_second = 6.2e9;
constexpr double stable_per_second = 1.55e9;
constexpr double unordered_per_second = 3.0e9;
constexpr double wide_per_second = 2.0e9;
/// How well ranking and streaming overlap, as in planned::add_beside.
constexpr double sharpness = 3;

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
  plan.add_beside(sharpness, {{"streamed", bytes.moved / bus / share},
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
  add_pass(plan, m, static_cast<double>(p.count), static_cast<double>(p.categories), bytes_of(p),
           kind_of(false, wide, p.word_bytes));
  return plan;
}

plan::planned passes_cost(const split_problem& p, const machine& m, std::uint32_t passes, std::uint32_t word_bytes,
                          bool pairs) {
  const auto count = static_cast<double>(p.count);
  const auto word = static_cast<double>(word_bytes);
  plan::planned one;
  add_pass(one, m, count, 256, {count * word, 2 * count * word, word}, kind_of(true, false, word_bytes));
  plan::planned plan;
  plan.add("latency", m.launch_seconds);
  plan.add("passes", (one.seconds - m.launch_seconds) * passes);
  if (pairs) plan.add("pairs", (bytes_of(p).moved + 2 * count * word) / m.copy_bytes_per_second);
  return plan;
}

}  // namespace sheaf::cuda
