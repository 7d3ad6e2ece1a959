#include "apps/sheaf/corrections.hpp"

#include <chrono>
#include <limits>
#include <tuple>

#include "lab/description/arrays.hpp"

namespace sheaf::jobs {
namespace {

using primitives::entry;

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::uint64_t least_bytes = 64 * 1024;
constexpr std::uint64_t steps_between_sizes = 16;  // each size is so many times the one before
// Beyond these a factor says no more than which side it is on.
constexpr double least_factor = 0.1;
constexpr double most_factor = 10;

// Three digits: the others are noise.
double rounded(double value) { return std::round(value * 1000) / 1000; }

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::vector<std::uint64_t> sizes_of(const context& ctx, const machine& m, std::uint64_t most_bytes) {
  const std::uint64_t usual = ctx.backend() == backend_kind::cpu ? 256 * MiB : 4096 * MiB;
  const std::uint64_t most = std::min(most_bytes != 0 ? most_bytes : usual, m.memory_bytes / 16);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = least_bytes; bytes < most; bytes *= steps_between_sizes) sizes.push_back(bytes);
  sizes.push_back(most);
  return sizes;
}

/// The problems of a calibrated name: as its callers tell the planner, and as those call that say nothing of their
/// list.
std::vector<problem_spec> problems_of(std::string_view name, std::uint64_t bytes) {
  problem_spec problem = problem_of({name}, 1);
  problem = problem_of({name}, std::max<std::uint64_t>(1, bytes / problem.record_bytes));
  std::vector<problem_spec> problems{problem};
  if (problem.access != access_pattern::unknown() && entry_of(problem).takes(primitives::fields::pattern)) {
    problem.access = access_pattern::unknown();
    problems.push_back(problem);
  }
  return problems;
}

std::vector<variant_estimate> competing(const problem_spec& p, const context& ctx, const machine& m) {
  std::vector<variant_estimate> variants = entry_of(p).estimates(p, ctx.backend(), m);
  std::erase_if(variants, [](const variant_estimate& v) { return !v.applicable || !v.reason.empty(); });
  return variants.size() > 1 ? variants : std::vector<variant_estimate>{};
}

/// The least time of several runs, which each wait for the last.
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
      : ctx_(ctx), machine_(m), settings_(settings), arrays_(ctx), begin_(now()) {
    machine_.corrections.clear();
  }

  // Calls within calls are priced with the corrections of what they call, which come first in the order of the entries.
  void run() {
    std::size_t names = 0;
    for (const entry* const e : primitives::entries()) names += e->job->calibrated.size();
    std::size_t begun = 0;
    for (const entry* const entry : primitives::entries()) {
      // Each has time for its names, also those that come later.
      const double share = static_cast<double>(begun) / static_cast<double>(names);
      begun += entry->job->calibrated.size();
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
    if (entry.place == nullptr || entry.job->calibrated.empty()) return found;
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
    for (const std::string_view name : e.job->calibrated) {
      for (const problem_spec& p : problems_of(name, bytes)) {
        if (now() >= deadline_) return false;
        measure(e, p, found);
      }
    }
    return true;
  }

  void measure(const entry& entry, const problem_spec& problem, std::vector<variant_correction>& found) {
    const std::vector<variant_estimate> variants = competing(problem, ctx_, machine_);
    if (variants.empty() || !entry.job->unchecked(problem).empty()) return;
    arrays_.fill(problem, 1);
    ctx_.wait();
    const plan::measured_place place = entry.place(problem, ctx_.backend());
    for (const variant_estimate& v : variants) {
      const double seconds = least_seconds(ctx_, *entry.job, problem, arrays_, v.variant);
      const double factor = std::clamp(seconds / v.seconds, least_factor, most_factor);
      found.push_back(
          {std::string(place.primitive), v.variant, place.order, place.record_bytes, place.count, place.range, factor});
    }
  }

  context& ctx_;
  machine& machine_;
  const correction_settings& settings_;
  problem_arrays arrays_;
  double begin_;
  double deadline_ = 0;
};

}  // namespace

void measure_corrections(context& ctx, machine& m, const correction_settings& settings) {
  ctx.use(m);
  correction_run(ctx, m, settings).run();
}

}  // namespace sheaf::jobs
