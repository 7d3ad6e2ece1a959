#include "lab/description/hash/matches.hpp"

#include <algorithm>
#include <cmath>

#include "lab/description/hash/entry.hpp"
#include "lab/description/seeds.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::jobs {
namespace {

using primitives::problem_spec;

constexpr std::uint64_t unknown = ~std::uint64_t{0};

/// The mean records of a key.
double mean_chain(const primitives::keyed_table& t) {
  return static_cast<double>(t.records) / static_cast<double>(t.distinct);
}

/// The mean records of what a probe asks for by a power law. The first ranks are looked up: some of them are asked for
/// by every tenth probe. Others are so many that they have the mean of all keys.
double mean_by_power_law(const primitives::keyed_table& t, std::uint64_t seed) {
  constexpr std::uint64_t most_looked_up = 1 << 16;
  if (t.distinct == 1) return static_cast<double>(t.records_of_key(0));
  const double all = std::log2(static_cast<double>(t.distinct));
  const std::uint64_t looked_up = std::min(t.distinct - 1, most_looked_up);
  double sum = 0;
  for (std::uint64_t rank = 0; rank < looked_up; ++rank) {
    const double share = std::log2(static_cast<double>(rank + 2) / static_cast<double>(rank + 1)) / all;
    sum += share * static_cast<double>(t.records_of_key(inputs::permute(rank, t.distinct, seed + 1)));
  }
  return sum + (1 - std::log2(static_cast<double>(looked_up + 1)) / all) * mean_chain(t);
}

}  // namespace

std::uint64_t likely_matches(const problem_spec& p) {
  const std::uint64_t most = primitives::most_matches(p);
  if (most != unknown) return most;
  const primitives::keyed_table table = primitives::table_of(p);
  const inputs::pattern order = pattern_of_copy(p, 0);
  double mean = mean_chain(table);
  if (order.kind == inputs::pattern_kind::zipf) mean = mean_by_power_law(table, order.seed);
  if (order.kind == inputs::pattern_kind::same) {
    mean = static_cast<double>(table.records_of_key(inputs::pattern_entry(order, 0, table.distinct)));
  }
  const double matches = mean * static_cast<double>(p.count) * p.hit_percent / 100;
  constexpr double most_counted = 0x1p62;
  return static_cast<std::uint64_t>(std::min(matches, most_counted));
}

std::uint64_t room_for_matches(const problem_spec& p) {
  const std::uint64_t likely = likely_matches(p);
  if (primitives::most_matches(p) != unknown) return likely;
  return likely + likely / 4 + primitives::table_of(p).longest_chain();
}

}  // namespace sheaf::jobs
