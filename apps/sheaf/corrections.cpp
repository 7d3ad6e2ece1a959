#include "apps/sheaf/corrections.hpp"

#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include <sheaf/gather.hpp>
#include <sheaf/memory.hpp>

#include "core/backends.hpp"
#include "lab/description/arrays.hpp"

namespace sheaf::jobs {
namespace {

using primitives::entry;

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::uint64_t steps_between_sizes = 16;  // each size is so many times the one before
// Beyond these a factor says no more than which side it is on.
constexpr double least_factor = 0.1;
constexpr double most_factor = 10;

// Three digits: the others are noise.
double rounded(double value) { return std::round(value * 1000) / 1000; }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<std::uint64_t> sizes_of(const context& ctx, const machine& m, std::uint64_t most_bytes) {
  const bool is_cpu = ctx.backend() == backend_kind::cpu;
  const std::uint64_t usual = is_cpu ? 256 * MiB : 4096 * MiB;
  const std::uint64_t least_bytes = is_cpu ? MiB / 64 : MiB / 16;
  const std::uint64_t most = std::min(most_bytes != 0 ? most_bytes : usual, m.memory_bytes / 16);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = least_bytes; bytes < most; bytes *= steps_between_sizes) sizes.push_back(bytes);
  sizes.push_back(most);
  return sizes;
}

std::vector<std::string_view> calibrated_names(const entry& e, backend_kind backend) {
  std::vector<std::string_view> names(e.job->calibrated.begin(), e.job->calibrated.end());
  if (core::backend_of(backend).processor == core::processor_kind::host_threads) {
    names.insert(names.end(), e.job->calibrated_on_host.begin(), e.job->calibrated_on_host.end());
  }
  return names;
}

/// Whether a call whose caller says nothing of its list finds the order.
bool is_found(const problem_spec& p, backend_kind backend) {
  const entry& e = entry_of(p);
  return e.found != nullptr && e.found(p, backend) != access_pattern::unknown();
}

/// The problems of a calibrated name: as its callers tell the planner, and as those call that say nothing of their
/// list, unless the call finds its order.
std::vector<problem_spec> problems_of(std::string_view name, std::uint64_t bytes, backend_kind backend) {
  problem_spec problem = problem_of({name}, 1);
  problem = problem_of({name}, std::max<std::uint64_t>(1, bytes / problem.record_bytes));
  std::vector<problem_spec> problems{problem};
  if (problem.access == access_pattern::unknown() || !entry_of(problem).takes(primitives::fields::pattern)) {
    return problems;
  }
  problem.access = access_pattern::unknown();
  if (!is_found(problem, backend)) problems.push_back(problem);
  return problems;
}

/// The variants that may be chosen. Where there is but one, its correction says how long a call takes.
std::vector<variant_estimate> competing(const problem_spec& p, const context& ctx, const machine& m) {
  std::vector<variant_estimate> variants = entry_of(p).estimates(p, ctx.backend(), m);
  std::erase_if(variants, [](const variant_estimate& v) { return !v.applicable || !v.reason.empty(); });
  return variants;
}

/// Takes what other calls have left in the caches of the host's threads out of them, by reading twice the last cache.
class cache_eviction {
 public:
  cache_eviction(const context& ctx, const machine& m) : ctx_(ctx) {
    if (core::backend_of(ctx.backend()).processor != core::processor_kind::host_threads) return;
    count_ = 2 * m.cache_bytes / line_bytes;
    from_ = buffer(ctx, count_ * line_bytes);
    to_ = buffer(ctx, count_ * line_bytes);
    list_ = buffer(ctx, count_ * sizeof(std::uint32_t));
    std::memset(from_.data(), 1, count_ * line_bytes);
    auto* const list = reinterpret_cast<std::uint32_t*>(list_.data());
    for (std::uint64_t i = 0; i < count_; ++i) list[i] = static_cast<std::uint32_t>(i);
  }

  /// Bytes of arrays from which on calls find nothing in the caches anyway; 0 on devices.
  std::uint64_t most_bytes() const noexcept { return count_ * line_bytes; }
  void run() const {
    gather(ctx_, {from_.data(), count_, line_bytes}, {list_.data(), count_, index_type::u32},
           {to_.data(), count_, line_bytes}, {.pattern = access_pattern::sequential()});
  }

 private:
  static constexpr std::uint64_t line_bytes = 64;

  context ctx_;
  std::uint64_t count_ = 0;
  buffer from_;
  buffer to_;
  buffer list_;
};

/// Copies among which the runs of a problem take turns. A branch predictor learns some ten thousand entries of one
/// list.
std::uint64_t copies_of(const problem_spec& problem, const cache_eviction& eviction) {
  constexpr std::uint64_t most_copies = 8;
  const std::uint64_t bytes = std::max<std::uint64_t>(1, bytes_of_arrays(problem, 1));
  return bytes >= eviction.most_bytes() ? 1 : std::clamp<std::uint64_t>(2 * MiB / bytes, 2, most_copies);
}

double lower_quartile(std::vector<double>& seconds) {
  std::ranges::sort(seconds);
  return seconds[(seconds.size() - 1) / 4];
}

/// The time of a call that does not know what the caches hold: the geometric mean of the times of runs that find their
/// arrays in none, and of runs that find them where the run before has left them. Lower quartiles. The untimed call
/// before each has threads awake and code in the cache.
double host_seconds(const context& ctx, const job& j, const problem_spec& problem, const problem_arrays& arrays,
                    std::uint64_t copies, std::string_view variant, const cache_eviction& eviction) {
  constexpr std::size_t least_runs = 3;
  constexpr std::size_t most_runs = 9;
  constexpr double enough_seconds = 0.005;
  constexpr double long_seconds = 0.1;  // then one run is enough: what disturbs it is short beside it
  const auto run = [&](std::uint64_t copy) {
    const double begin = now();
    j.run(ctx, problem, arrays.of_copy(copy % copies), {.variant = variant});
    ctx.wait();
    return now() - begin;
  };
  std::vector<double> cold;
  std::vector<double> warm;
  double spent = 0;
  for (std::uint64_t copy = 0;
       spent < long_seconds && (cold.size() < least_runs || (cold.size() < most_runs && spent < enough_seconds));
       copy += 2) {
    if (copies > 1) eviction.run();
    if (copies > 1 || copy == 0) run(copy);
    cold.push_back(run(copy + 1));
    if (copies > 1) warm.push_back(run(copy + 1));
    spent += cold.back();
  }
  return copies > 1 ? std::sqrt(lower_quartile(cold) * lower_quartile(warm)) : lower_quartile(cold);
}

/// On a device, the least time of several runs, which each wait for the last.
double least_seconds(const context& ctx, const job& j, const problem_spec& problem, const problem_arrays& arrays,
                     std::string_view variant) {
  constexpr int most_runs = 30;
  constexpr int least_runs = 4;
  constexpr double enough_seconds = 0.02;
  constexpr double long_seconds = 0.25;  // then two runs are enough: what disturbs them is short beside them
  double least = std::numeric_limits<double>::infinity();
  double spent = 0;
  const auto goes_on = [&](int run) {
    return run < 2 || (spent < long_seconds && (run < least_runs || spent < enough_seconds));
  };
  for (int run = 0; run < most_runs && goes_on(run); ++run) {
    const double begin = now();
    j.run(ctx, problem, arrays.of_copy(0), {.variant = variant});
    ctx.wait();
    const double seconds = now() - begin;
    if (run > 0) least = std::min(least, seconds);  // the first call takes scratch and loads code
    spent += seconds;
  }
  return least;
}

/// Sorts corrections, and makes one of all that are for the same problem: lists of several orders are one problem to a
/// plan that is told none. Their factor is the geometric mean.
void merge_corrections(std::vector<variant_correction>& all) {
  const auto key = [](const variant_correction& c) {
    return std::tie(c.primitive, c.variant, c.order, c.record_bytes, c.count, c.range);
  };
  std::ranges::sort(all, [&](const variant_correction& a, const variant_correction& b) { return key(a) < key(b); });
  std::vector<variant_correction> merged;
  for (std::size_t first = 0, last; first < all.size(); first = last) {
    double log_sum = 0;
    for (last = first; last < all.size() && key(all[last]) == key(all[first]); ++last) {
      log_sum += std::log(all[last].factor);
    }
    merged.push_back(all[first]);
    merged.back().factor = rounded(std::exp(log_sum / static_cast<double>(last - first)));
  }
  all = std::move(merged);
}

class correction_run {
 public:
  correction_run(context& ctx, machine& m, const correction_settings& settings)
      : ctx_(ctx), machine_(m), settings_(settings), arrays_(ctx), eviction_(ctx, m), begin_(now()) {
    machine_.corrections.clear();
  }

  // Calls within calls are priced with the corrections of what they call, which come first in the order of the entries.
  void run() {
    std::size_t names = 0;
    for (const entry* const e : primitives::entries()) names += calibrated_names(*e, ctx_.backend()).size();
    std::size_t begun = 0;
    for (const entry* const entry : primitives::entries()) {
      // Each has time for its names, also those that come later.
      const double share = static_cast<double>(begun) / static_cast<double>(names);
      begun += calibrated_names(*entry, ctx_.backend()).size();
      deadline_ = begin_ + settings_.seconds * static_cast<double>(begun) / static_cast<double>(names);
      std::vector<variant_correction> found = measure(*entry, share);
      machine_.corrections.insert(machine_.corrections.end(), found.begin(), found.end());
      merge_corrections(machine_.corrections);
      ctx_.use(machine_);
    }
  }

 private:
  std::vector<variant_correction> measure(const entry& entry, double share) {
    std::vector<variant_correction> found;
    if (entry.place == nullptr || calibrated_names(entry, ctx_.backend()).empty()) return found;
    if (settings_.progress) settings_.progress(entry.name, share);
    for (const std::uint64_t bytes : sizes_of(ctx_, machine_, settings_.most_bytes)) {
      std::vector<variant_correction> of_size;
      const bool is_whole = measure_size(entry, bytes, of_size);
      // Lists of all orders make one factor of plans that are told none: those of some orders alone would mislead it.
      if (!is_whole && entry.takes(primitives::fields::pattern)) {
        std::erase_if(of_size, [](const variant_correction& c) { return c.order == access_pattern::kind::unknown; });
      }
      found.insert(found.end(), of_size.begin(), of_size.end());
      if (!is_whole) break;
    }
    return found;
  }

  // Whether there was time for all problems of this size.
  bool measure_size(const entry& e, std::uint64_t bytes, std::vector<variant_correction>& found) {
    for (const std::string_view name : calibrated_names(e, ctx_.backend())) {
      for (const problem_spec& p : problems_of(name, bytes, ctx_.backend())) {
        if (now() >= deadline_) return false;
        measure(e, p, found);
      }
    }
    return true;
  }

  void measure(const entry& entry, const problem_spec& problem, std::vector<variant_correction>& found) {
    const std::vector<variant_estimate> variants = competing(problem, ctx_, machine_);
    if (variants.empty() || !entry.job->unchecked(problem).empty()) return;
    const std::uint64_t copies = copies_of(problem, eviction_);
    arrays_.fill(problem, copies);
    ctx_.wait();
    const plan::measured_place place = entry.place(problem, ctx_.backend());
    std::map<std::string, double> seconds_of;
    for (const variant_estimate& v : variants) {
      const double seconds = eviction_.most_bytes() > 0
                                 ? host_seconds(ctx_, *entry.job, problem, arrays_, copies, v.variant, eviction_)
                                 : least_seconds(ctx_, *entry.job, problem, arrays_, v.variant);
      seconds_of[v.variant] = seconds;
      keep(place, v, seconds, found);
    }
    if (problem.access == access_pattern::unknown() || !is_found(problem, ctx_.backend())) return;
    // Calls inside others know no order: the plans that they have took as long as those with it.
    problem_spec told_nothing = problem;
    told_nothing.access = access_pattern::unknown();
    for (const variant_estimate& v : competing(told_nothing, ctx_, machine_)) {
      const auto run = seconds_of.find(v.variant);
      if (run != seconds_of.end()) keep(entry.place(told_nothing, ctx_.backend()), v, run->second, found);
    }
  }

  static void keep(const plan::measured_place& place, const variant_estimate& v, double seconds,
                   std::vector<variant_correction>& found) {
    const double factor = std::clamp(seconds / v.seconds, least_factor, most_factor);
    found.push_back(
        {std::string(place.primitive), v.variant, place.order, place.record_bytes, place.count, place.range, factor});
  }

  context& ctx_;
  machine& machine_;
  const correction_settings& settings_;
  problem_arrays arrays_;
  cache_eviction eviction_;
  double begin_;
  double deadline_ = 0;
};

}  // namespace

void measure_corrections(context& ctx, machine& m, const correction_settings& settings) {
  ctx.use(m);
  correction_run(ctx, m, settings).run();
}

}  // namespace sheaf::jobs
