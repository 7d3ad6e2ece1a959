#include "plan/list_order.hpp"

#include <bit>
#include <cmath>

namespace sheaf::plan {
namespace {

constexpr std::uint64_t least_entries = 256;      // of a run that shows an order
constexpr std::uint64_t entries_a_run = 1 << 17;  // of the list; a long list has one run for each, up to most_runs
constexpr std::uint64_t most_runs = 16;
constexpr std::uint64_t group_records = 16;  // records that lie so close together that reading one brings others

using entry_list = std::vector<std::uint64_t>;

entry_list good_entries(std::span<const std::uint64_t> run, std::uint64_t records) {
  entry_list good;
  good.reserve(run.size());
  for (const std::uint64_t entry : run) {
    if (entry < records) good.push_back(entry);
  }
  return good;
}

// Distinct values of entry >> shift. An open-addressing table that is at most half full.
std::uint64_t count_distinct(const entry_list& entries, unsigned shift) {
  const unsigned table_bits = static_cast<unsigned>(std::bit_width(2 * entries.size()));
  std::vector<std::uint64_t> table(std::size_t{1} << table_bits, ~std::uint64_t{0});
  std::uint64_t distinct = 0;
  for (const std::uint64_t entry : entries) {
    const std::uint64_t value = entry >> shift;
    std::uint64_t slot = value * 0x9e3779b97f4a7c15U >> (64 - table_bits);
    while (table[slot] != ~std::uint64_t{0} && table[slot] != value) slot = (slot + 1) & (table.size() - 1);
    if (table[slot] == value) continue;
    table[slot] = value;
    ++distinct;
  }
  return distinct;
}

// Distinct values that so many draws from `values` have on average.
double expected_distinct(double draws, double values) { return -values * std::expm1(draws * std::log1p(-1 / values)); }

struct step_counts {
  std::uint64_t median = 0;  // records from one entry to the next, up or down
  double of_median = 0;      // share of steps as long as the median
  double close = 0;          // share of steps by at most one record
};

step_counts count_steps(const entry_list& entries) {
  entry_list steps(entries.size() - 1);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = std::max(entries[i], entries[i + 1]) - std::min(entries[i], entries[i + 1]);
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  const auto count = [&](auto is_counted) {
    return static_cast<double>(std::ranges::count_if(steps, is_counted)) / static_cast<double>(steps.size());
  };
  const std::uint64_t median = *middle;
  return {median, count([&](std::uint64_t step) { return step == median; }),
          count([](std::uint64_t step) { return step <= 1; })};
}

bool is_scattered(const access_pattern& p) {
  return p.shape == access_pattern::kind::random || p.shape == access_pattern::kind::skewed;
}

}  // namespace

std::vector<std::uint64_t> sample_runs(std::uint64_t list_entries, list_sample size) {
  const std::uint64_t entries = run_entries(list_entries, size);
  if (list_entries <= entries) return {0};
  constexpr std::uint64_t least_runs = 2;
  const std::uint64_t runs = size == list_sample::large
                                 ? std::clamp<std::uint64_t>(list_entries / entries_a_run, least_runs, most_runs)
                                 : least_runs;
  std::vector<std::uint64_t> begins(runs);
  const std::uint64_t last = list_entries - entries;
  for (std::uint64_t r = 0; r < runs; ++r) begins[r] = last / (runs - 1) * r;
  return begins;
}

access_pattern order_of_run(std::span<const std::uint64_t> run, std::uint64_t records) {
  constexpr double nearly_all = 0.95;
  const entry_list entries = good_entries(run, records);
  if (entries.size() < least_entries) return access_pattern::unknown();
  const auto drawn = static_cast<double>(entries.size());
  const step_counts steps = count_steps(entries);
  const std::uint64_t distinct = count_distinct(entries, 0);

  if (distinct <= entries.size() / 16 && distinct <= records / 2) return access_pattern::repeated(distinct);
  if (steps.close >= nearly_all) return access_pattern::sequential();
  // A step that most pairs take is the median step.
  if (steps.of_median >= nearly_all) return access_pattern::strided(steps.median);
  // Two records of a window of P, drawn at random, lie P * 0.29 apart in the median.
  const std::uint64_t window = std::max<std::uint64_t>(2, steps.median * 7 / 2);
  if (window <= records / 8) return access_pattern::clustered(window);
  if (static_cast<double>(distinct) < 0.8 * expected_distinct(drawn, static_cast<double>(records))) {
    return access_pattern::skewed();
  }
  const std::uint64_t groups = count_distinct(entries, std::countr_zero(group_records));
  const double expected_groups = expected_distinct(drawn, std::ceil(static_cast<double>(records) / group_records));
  if (static_cast<double>(groups) < 0.6 * expected_groups) {
    // Each stream begins a group more than its records fill.
    const std::uint64_t filled = entries.size() / group_records;
    return access_pattern::partitioned(std::max<std::uint64_t>(2, groups - std::min(groups, filled)));
  }
  return access_pattern::random();
}

access_pattern order_of_runs(std::span<const access_pattern> runs) {
  const auto count = static_cast<double>(runs.size());
  std::vector<access_pattern> alike;
  for (const access_pattern& r : runs) {
    std::vector<access_pattern> same;
    std::ranges::copy_if(runs, std::back_inserter(same),
                         [&](const access_pattern& other) { return other.shape == r.shape; });
    if (same.size() > alike.size()) alike = std::move(same);
  }
  if (static_cast<double>(alike.size()) >= 0.9 * count) {
    const auto middle = alike.begin() + static_cast<std::ptrdiff_t>(alike.size() / 2);
    std::nth_element(alike.begin(), middle, alike.end(),
                     [](const access_pattern& a, const access_pattern& b) { return a.parameter < b.parameter; });
    return *middle;
  }
  const auto scattered = static_cast<double>(std::ranges::count_if(runs, is_scattered));
  return scattered >= 0.5 * count ? access_pattern::random() : access_pattern::unknown();
}

}  // namespace sheaf::plan
