#include "plan/list_glance.hpp"

#include <bit>
#include <cmath>

namespace sheaf::plan {
namespace {

constexpr std::uint64_t records_of_group = 16;  // as in list_order.cpp

// Distinct values that so many draws from `values` have on average.
double distinct_on_average(double draws, double values) {
  return -values * std::expm1(draws * std::log1p(-1 / values));
}

// What the steps between the entries of one run of a glance show.
struct glanced_run {
  std::uint64_t good = 0;    // entries that name records
  bool in_order = false;     // nearly all steps are by at most one record
  std::uint64_t stride = 0;  // of nearly all steps; 0 if they differ
  std::uint64_t window = 0;  // records among which entries lie, if at random
};

glanced_run glance_at(std::span<const std::uint64_t> run, std::uint64_t records) {
  std::array<std::uint64_t, glance_entries> steps;
  glanced_run seen;
  std::uint64_t count = 0;
  std::uint64_t close = 0;
  std::uint64_t before = 0;
  for (const std::uint64_t entry : run) {
    if (entry >= records) continue;
    if (seen.good++ > 0) {
      steps[count] = std::max(entry, before) - std::min(entry, before);
      close += steps[count++] <= 1 ? 1 : 0;
    }
    before = entry;
  }
  if (count == 0) return seen;
  const std::uint64_t nearly_all = count - count / 20;
  seen.in_order = close >= nearly_all;
  if (seen.in_order) return seen;
  // The median of some of the steps: all would take half of a glance.
  constexpr std::size_t samples = 16;
  std::array<std::uint64_t, samples> sampled;
  for (std::size_t i = 0; i < samples; ++i) sampled[i] = steps[i * count / samples];
  std::ranges::nth_element(sampled, sampled.begin() + samples / 2);
  const std::uint64_t median = sampled[samples / 2];
  const auto alike = std::count(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(count), median);
  if (static_cast<std::uint64_t>(alike) >= nearly_all) seen.stride = median;
  seen.window = std::max<std::uint64_t>(2, median * 7 / 2);  // as in order_of_run
  return seen;
}

// Distinct values of entry >> shift among the entries below `records`: a table of their low bits, at most half full.
std::uint64_t count_low_distinct(std::span<const std::uint64_t> entries, std::uint64_t records, unsigned shift) {
  constexpr std::size_t most_on_stack = std::size_t{1} << 11;
  const unsigned table_bits = static_cast<unsigned>(std::bit_width(2 * entries.size() - 1));
  std::array<std::uint32_t, most_on_stack> small;
  std::vector<std::uint32_t> large;
  const std::size_t slots = std::size_t{1} << table_bits;
  std::uint32_t* table = small.data();
  if (slots > most_on_stack) {
    large.resize(slots);
    table = large.data();
  } else {
    std::fill_n(table, slots, 0U);
  }
  std::uint64_t distinct = 0;
  for (const std::uint64_t entry : entries) {
    if (entry >= records) continue;
    const auto value = static_cast<std::uint32_t>(entry >> shift) + 1;
    if (value == 0) continue;  // one of 2^32 stands for an empty slot
    std::size_t slot = std::uint64_t{value} * 0x9e3779b97f4a7c15U >> (64 - table_bits);
    while (table[slot] != 0 && table[slot] != value) slot = (slot + 1) & (slots - 1);
    distinct += table[slot] == 0 ? 1 : 0;
    table[slot] = value;
  }
  return distinct;
}

std::uint64_t nearest_power_of_two(std::uint64_t x) {
  const std::uint64_t below = std::bit_floor(std::max<std::uint64_t>(1, x));
  return x - below > below / 2 ? 2 * below : below;
}

// Streams of `drawn` neighbours that lie in so many groups of records, or 0 if there are too many groups. Each stream
// begins a group more than its records fill.
std::uint64_t streams_of(std::uint64_t groups, std::uint64_t drawn, std::uint64_t records) {
  const double expected =
      distinct_on_average(static_cast<double>(drawn), std::ceil(static_cast<double>(records) / records_of_group));
  if (static_cast<double>(groups) >= 0.6 * expected) return 0;
  return std::max<std::uint64_t>(2, groups - std::min(groups, drawn / records_of_group));
}

// Some of the entries of all runs, at even and odd places of each: enough to see that few records come often.
struct some_entries {
  std::array<std::uint64_t, 4 * glance_entries> entries;
  std::size_t count = 0;
};

some_entries some_of(std::span<const std::uint64_t> entries, std::uint64_t records) {
  some_entries some;
  const std::size_t step = std::max<std::size_t>(1, entries.size() / some.entries.size());
  for (std::size_t i = 0; i + step <= entries.size() && some.count < some.entries.size(); i += step) {
    const std::uint64_t entry = entries[i + i / step % step];
    if (entry < records) some.entries[some.count++] = entry;
  }
  return some;
}

}  // namespace

access_pattern order_of_glance(std::span<const std::uint64_t> entries, std::uint64_t records) {
  std::uint64_t in_order = 0;
  std::uint64_t strided = 0;
  std::uint64_t local = 0;
  std::uint64_t stride = 0;
  std::uint64_t window = 0;
  const std::uint64_t runs = entries.size() / glance_entries;
  for (std::uint64_t r = 0; r < runs; ++r) {
    const glanced_run run = glance_at(entries.subspan(r * glance_entries, glance_entries), records);
    if (run.good < glance_entries / 2) return access_pattern::unknown();
    if (run.in_order) {
      ++in_order;
    } else if (run.stride != 0 && (strided == 0 || stride == run.stride)) {
      ++strided;
      stride = run.stride;
    } else if (run.window <= records / 8) {
      ++local;
      window = std::max(window, run.window);
    }
  }
  if (in_order < runs && strided == runs) return access_pattern::strided(stride);
  const some_entries few = some_of(entries, records);
  if (few.count < glance_entries) return access_pattern::unknown();
  const std::uint64_t distinct = count_low_distinct({few.entries.data(), few.count}, records, 0);
  if (distinct <= few.count / 16 && distinct <= records / 2)
    return access_pattern::repeated(nearest_power_of_two(distinct));
  if (in_order == runs) return access_pattern::sequential();
  if (strided > 0) return access_pattern::unknown();
  if (in_order + local == runs) return access_pattern::clustered(nearest_power_of_two(window));
  const std::uint64_t scattered = runs - in_order - local;
  if (scattered < runs) return 2 * scattered >= runs ? access_pattern::random() : access_pattern::unknown();
  const auto drawn = static_cast<double>(few.count);
  if (static_cast<double>(distinct) < 0.93 * distinct_on_average(drawn, static_cast<double>(records))) {
    return access_pattern::skewed();
  }
  // A few streams show in runs as short as these.
  std::uint64_t streams = 0;
  for (std::uint64_t r = 0; r < runs; ++r) {
    const auto run = entries.subspan(r * glance_entries, glance_entries);
    const std::uint64_t of_run =
        streams_of(count_low_distinct(run, records, std::countr_zero(records_of_group)), glance_entries, records);
    if (of_run == 0) return access_pattern::random();
    streams = std::max(streams, of_run);
  }
  return access_pattern::partitioned(nearest_power_of_two(streams));
}

access_pattern order_of_neighbours(std::span<const std::uint64_t> neighbours, std::uint64_t records) {
  const std::uint64_t groups = count_low_distinct(neighbours, records, std::countr_zero(records_of_group));
  std::uint64_t streams = streams_of(groups, neighbours.size(), records);
  // Streams whose records fill whole groups begin none; a glance has seen that there are more than a few.
  if (streams != 0) streams = std::max(streams, groups / 4);
  return streams == 0 ? access_pattern::random() : access_pattern::partitioned(nearest_power_of_two(streams));
}

}  // namespace sheaf::plan
