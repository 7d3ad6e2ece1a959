#include "cuda/split_cost.hpp"

#include <algorithm>

namespace sheaf::cuda {
namespace {

using primitives::split_problem;
using primitives::split_product;

/// Shares of copy bandwidth that passes reach where streaming is what they wait for.
constexpr double counting_share = 0.97;
constexpr double stable_share = 0.70;
constexpr double unordered_share = 0.75;
constexpr double wide_share = 0.58;
/// Records ranked a second and multiprocessor where that is what they wait for.
constexpr double stable_ranks = 1.9e9;
constexpr double unordered_ranks = 2.4e9;
constexpr double wide_ranks = 1.5e9;
/// Records that every multiprocessor should have a tile of, before all of them have work.
constexpr double tile_records = 8192;

struct pass_bytes {
  double counted;  // read before, to count
  double moved;    // read and written in the pass
};

double multiprocessors(const machine& m) { return std::max(1.0, static_cast<double>(m.parallelism)); }

void add_pass(plan::planned& plan, const machine& m, double count, pass_bytes bytes, double share, double ranks,
              int kernels) {
  // A list of few tiles leaves multiprocessors idle.
  const double busy = std::min(1.0, std::max(1.0, count / tile_records) / multiprocessors(m));
  const double bus = m.copy_bytes_per_second * std::min(1.0, 2 * busy);
  const bool counts = count > tile_records;
  plan.add("latency", m.launch_seconds + (counts ? kernels : 1) * m.step_seconds);
  if (counts) plan.add("counted", bytes.counted / bus / counting_share);
  plan.add_beside(4,
                  {{"streamed", bytes.moved / bus / share}, {"ranked", count / (ranks * multiprocessors(m) * busy)}});
}

pass_bytes bytes_of(const split_problem& p) {
  const auto count = static_cast<double>(p.count);
  const double key =
      p.key_is_apart() ? static_cast<double>(p.key_stride_bytes) : static_cast<double>(p.in_stride_bytes);
  const double read = p.product == split_product::records ? static_cast<double>(p.in_stride_bytes) : 0;
  const double written = static_cast<double>(p.out_stride_bytes);
  return {count * key, count * (written + (p.key_is_apart() ? key + read : read))};
}

}  // namespace

plan::planned stable_pass_cost(const split_problem& p, const machine& m) {
  plan::planned plan;
  add_pass(plan, m, static_cast<double>(p.count), bytes_of(p), stable_share, stable_ranks, 5);
  return plan;
}

plan::planned unordered_pass_cost(const split_problem& p, const machine& m, bool wide) {
  plan::planned plan;
  add_pass(plan, m, static_cast<double>(p.count), bytes_of(p), wide ? wide_share : unordered_share,
           wide ? wide_ranks : unordered_ranks, 4);
  return plan;
}

plan::planned passes_cost(const split_problem& p, const machine& m, std::uint32_t passes, std::uint32_t word_bytes,
                          bool pairs) {
  const auto count = static_cast<double>(p.count);
  const auto word = static_cast<double>(word_bytes);
  plan::planned one;
  add_pass(one, m, count, {count * word, 2 * count * word}, stable_share, stable_ranks, 5);
  plan::planned plan;
  plan.add("latency", m.launch_seconds + 5 * passes * m.step_seconds);
  plan.add("passes", (one.seconds - m.launch_seconds - 5 * m.step_seconds) * passes);
  if (pairs) {
    const pass_bytes once = bytes_of(p);
    plan.add("pairs", (once.moved + 2 * count * word) / m.copy_bytes_per_second);
  }
  return plan;
}

}  // namespace sheaf::cuda
