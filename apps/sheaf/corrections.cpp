#include "apps/sheaf/corrections.hpp"

#include <chrono>
#include <limits>
#include <map>
#include <tuple>

#include <sheaf/gather.hpp>
#include <sheaf/memory.hpp>

#include "core/backends.hpp"
#include "lab/description/arrays.hpp"
#include "lab/inputs/pattern.hpp"

namespace sheaf::jobs {
namespace {

using primitives::entry;

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::uint64_t steps_between_sizes = 16;  // each size is so many times the one before, or less near the last
constexpr std::uint64_t short_bytes = MiB / 4;     // up to here calls cost more than bytes, and times do not add up
constexpr std::uint64_t weighed_bytes = 16 * MiB;  // where the shares of the primitives are made
// Beyond these a factor says no more than which side it is on.
constexpr double least_factor = 0.1;
constexpr double most_factor = 10;

// Three digits: the others are noise.
double rounded(double value) { return std::round(value * 1000) / 1000; }

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_on_host(backend_kind backend) {
  return core::backend_of(backend).processor == core::processor_kind::host_threads;
}

std::uint64_t least_bytes_of(const context& ctx) { return is_on_host(ctx.backend()) ? MiB / 64 : MiB / 16; }

std::uint64_t most_bytes_of(const context& ctx, const machine& m, const correction_settings& settings) {
  const std::uint64_t usual = is_on_host(ctx.backend()) ? 256 * MiB : 4096 * MiB;
  return std::min(settings.most_bytes != 0 ? settings.most_bytes : usual, m.memory_bytes / 16);
}

std::vector<std::string_view> calibrated_names(const entry& e, backend_kind backend) {
  std::vector<std::string_view> names(e.job->calibrated.begin(), e.job->calibrated.end());
  const auto further = is_on_host(backend) ? e.job->calibrated_on_host : e.job->calibrated_on_devices;
  names.insert(names.end(), further.begin(), further.end());
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

/// The variants that may be chosen. Where there is but one, its correction says how long a call takes. References run
/// by name only, though a search that has no index yet may be theirs.
std::vector<variant_estimate> competing(const problem_spec& p, const context& ctx, const machine& m) {
  std::vector<variant_estimate> variants = entry_of(p).estimates(p, ctx.backend(), m);
  std::erase_if(variants, [](const variant_estimate& v) {
    return !v.applicable || !v.reason.empty() || std::string_view(v.variant).starts_with("reference.");
  });
  return variants;
}

/// Takes what other calls have left in the caches of the host's threads out of them: all threads read and write twice
/// the last cache.
class cache_eviction {
 public:
  cache_eviction(const context& ctx, const machine& m) : ctx_(ctx) {
    if (!is_on_host(ctx.backend())) return;
    pages_ = std::max<std::uint64_t>(1, m.cache_bytes / page_bytes);
    read_ = buffer(ctx, pages_ * page_bytes);
    written_ = buffer(ctx, pages_ * page_bytes);
    list_ = buffer(ctx, pages_ * sizeof(std::uint32_t));
    inputs::fill_records(ctx, {read_.data(), pages_, page_bytes}, 0);
    auto* const list = reinterpret_cast<std::uint32_t*>(list_.data());
    for (std::uint64_t i = 0; i < pages_; ++i) list[i] = static_cast<std::uint32_t>(i);
  }

  /// Bytes of arrays from which on calls find nothing in the caches anyway; 0 on devices.
  std::uint64_t most_bytes() const noexcept { return 2 * pages_ * page_bytes; }
  void run() const {
    gather(ctx_, {read_.data(), pages_, page_bytes}, {list_.data(), pages_, index_type::u32},
           {written_.data(), pages_, page_bytes}, {.pattern = access_pattern::sequential()});
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;

  context ctx_;
  std::uint64_t pages_ = 0;
  buffer read_;
  buffer written_;
  buffer list_;
};

/// Times the least time of other variants. A variant that is so far off runs once: nobody will choose it, and its
/// factor need not be exact.
constexpr double far_off = 3;

double lower_quartile(std::vector<double>& seconds) {
  std::ranges::sort(seconds);
  return seconds[(seconds.size() - 1) / 4];
}

constexpr std::uint64_t least_rounds = 3;  // of timed runs of all variants

/// Short runs are disturbed more, and copies of their arrays take little time to fill.
std::uint64_t rounds_of(const problem_spec& problem) {
  constexpr std::uint64_t most_rounds = 5;
  return bytes_of_arrays(problem, 1) < MiB ? most_rounds : least_rounds;
}

/// Copies among which the runs of a problem take turns, so that none finds its arrays in a cache: one for each run, but
/// no more than fill the last cache three times.
std::uint64_t copies_of(const problem_spec& problem, std::size_t variants, const cache_eviction& eviction) {
  const std::uint64_t bytes = std::max<std::uint64_t>(1, bytes_of_arrays(problem, 1));
  if (bytes >= eviction.most_bytes()) return 1;
  return std::min((1 + rounds_of(problem)) * variants, 3 * eviction.most_bytes() / 2 / bytes + 1);
}

/// The times of a problem's variants on the host's threads, as calls take that find their arrays in no cache, but
/// threads awake, code and scratch in the caches, and pages mapped: lower quartiles of rounds in which all variants run
/// in turn.
class host_runs {
 public:
  host_runs(const context& ctx, const job& j, const problem_spec& problem, const problem_arrays& arrays,
            std::uint64_t copies)
      : ctx_(ctx), job_(j), problem_(problem), arrays_(arrays), copies_(copies) {}

  std::map<std::string, double> seconds_of(const std::vector<variant_estimate>& variants) {
    std::vector<double> least;
    least.reserve(variants.size());
    for (const variant_estimate& v : variants) least.push_back(first_seconds(v, least));
    std::vector<std::vector<double>> seconds(variants.size());
    const std::uint64_t rounds = rounds_of(problem_);
    double spent = 0;
    for (std::uint64_t round = 0; round < rounds && (round < least_rounds || spent < enough_seconds); ++round) {
      const double fastest = std::ranges::min(least);
      for (std::size_t i = 0; i < variants.size(); ++i) {
        if (round > 0 && least[i] > far_off * fastest) continue;
        if (least[i] >= slow_seconds && (round > 0 || least[i] > far_off * fastest)) continue;
        seconds[i].push_back(run(variants[i].variant));
        spent += seconds[i].back();
        least[i] = std::min(least[i], seconds[i].back());
      }
    }
    std::map<std::string, double> found;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (std::isinf(least[i])) continue;
      found[variants[i].variant] = seconds[i].empty() ? least[i] : lower_quartile(seconds[i]);
    }
    return found;
  }

 private:
  static constexpr double enough_seconds = 0.01;
  static constexpr double slow_seconds = 0.02;     // beside this, scratch is taken and code loaded in no time
  static constexpr double slow_prediction = 0.05;  // not run if it is far off, because nobody will choose it

  // Of a run that takes scratch and loads code.
  double first_seconds(const variant_estimate& v, const std::vector<double>& others) {
    const double least = others.empty() ? std::numeric_limits<double>::infinity() : std::ranges::min(others);
    if (v.seconds > slow_prediction && v.seconds > far_off * least) return std::numeric_limits<double>::infinity();
    return run(v.variant);
  }

  double run(std::string_view variant) {
    const double begin = steady_seconds();
    job_.run(ctx_, problem_, arrays_.of_copy(runs_++ % copies_), {.variant = variant});
    ctx_.wait();
    return steady_seconds() - begin;
  }

  const context& ctx_;
  const job& job_;
  const problem_spec& problem_;
  const problem_arrays& arrays_;
  std::uint64_t copies_;
  std::uint64_t runs_ = 0;
};

/// On a device, the least time of several runs, which each wait for the last, until two agree.
double least_seconds(const context& ctx, const job& j, const problem_spec& problem, const problem_arrays& arrays,
                     std::string_view variant, double least_of_others) {
  constexpr int most_runs = 20;
  constexpr int least_runs = 3;
  constexpr double agreement = 1.03;
  constexpr double enough_seconds = 2e-3;  // below this runs are repeated even if they agree
  constexpr double long_seconds = 0.1;     // then one run is enough: what disturbs it is short beside it
  constexpr double slow_seconds = 0.02;    // beside this, scratch is taken and code loaded in no time
  double least = std::numeric_limits<double>::infinity();
  double second_least = least;
  double spent = 0;
  for (int run = 0; run <= most_runs; ++run) {
    const double begin = steady_seconds();
    j.run(ctx, problem, arrays.of_copy(0), {.variant = variant});
    ctx.wait();
    const double seconds = steady_seconds() - begin;
    spent += seconds;
    if (run == 0) {  // which takes scratch and loads code
      if (seconds > slow_seconds && seconds > far_off * least_of_others) return seconds;
      continue;
    }
    second_least = std::min(second_least, std::max(seconds, least));
    least = std::min(least, seconds);
    if (least > far_off * least_of_others || spent > long_seconds) break;
    if (run >= least_runs && spent > enough_seconds && second_least < agreement * least) break;
  }
  return least;
}

std::map<std::string, double> device_seconds(const context& ctx, const job& j, const problem_spec& problem,
                                             const problem_arrays& arrays,
                                             const std::vector<variant_estimate>& variants) {
  constexpr double slow_prediction = 0.05;  // not run if it is far off, because nobody will choose it
  std::map<std::string, double> seconds;
  double least = std::numeric_limits<double>::infinity();
  for (const variant_estimate& v : variants) {
    if (v.seconds > slow_prediction && v.seconds > far_off * least) continue;
    const double taken = seconds[v.variant] = least_seconds(ctx, j, problem, arrays, v.variant, least);
    least = std::min(least, taken);
  }
  return seconds;
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

/// What a variant took, and what was predicted without corrections of its primitive and by the shipped profile.
struct variant_run {
  std::string variant;
  double seconds = 0;
  double predicted = 0;
  double shipped = 0;  ///< infinite where it would not run the variant
};

struct problem_run {
  plan::measured_place place;
  std::vector<variant_run> variants;

  double least_seconds() const { return std::ranges::min_element(variants, {}, &variant_run::seconds)->seconds; }
};

variant_correction correction_of(const problem_run& p, std::string_view variant, double factor) {
  return {std::string(p.place.primitive),
          std::string(variant),
          p.place.order,
          p.place.record_bytes,
          p.place.count,
          p.place.range,
          factor};
}

bool is_at(const variant_correction& c, const plan::measured_place& place) {
  return c.primitive == place.primitive && c.order == place.order && c.record_bytes == place.record_bytes &&
         c.count == place.count && c.range == place.range;
}

/// The logarithm of what a choice loses: its time over the least one. `predicted(variant_run)` is what it is chosen by.
template <class Predicted>
double log_loss(const problem_run& p, Predicted predicted) {
  const auto chosen = std::ranges::min_element(p.variants, {}, predicted);
  return std::log(chosen->seconds / p.least_seconds());
}

class correction_run {
 public:
  correction_run(context& ctx, machine& m, const machine& shipped, const correction_settings& settings)
      : ctx_(ctx),
        machine_(m),
        shipped_(shipped),
        settings_(settings),
        most_bytes_(most_bytes_of(ctx, m, settings)),
        begin_(now()),
        arrays_(ctx),
        eviction_(ctx, m) {
    machine_.corrections.clear();
  }

  // Calls within calls are priced with the corrections of what they call, which come first in the order of the entries.
  std::vector<better_shipped> run() {
    // Each has time in proportion to what its variants are predicted to take, also those that come later.
    double all_weights = 0;
    for (const entry* const e : primitives::entries()) all_weights += weight_of(*e);
    double begun = 0;
    for (const entry* const entry : primitives::entries()) {
      const double weight = weight_of(*entry);
      if (weight == 0) continue;
      if (settings_.progress) settings_.progress(entry->name, begun / all_weights);
      begun += weight;
      deadline_ = begin_ + settings_.seconds * std::min(1.0, begun / all_weights);
      const std::vector<problem_run> runs = measure(*entry);
      if (runs.empty() && settings_.without_runs) settings_.without_runs(entry->name);
      if (runs.empty()) continue;
      const std::string primitive(runs.front().place.primitive);
      std::vector<problem_run>& all = runs_[primitive];  // of other entries, too: keys are sorted as records
      all.insert(all.end(), runs.begin(), runs.end());
      correct(primitive, all);
      ctx_.use(machine_);
    }
    std::vector<better_shipped> better;
    for (const auto& [primitive, loss] : better_) better.push_back(loss);
    return better;
  }

 private:
  double now() const { return settings_.now ? settings_.now() : steady_seconds(); }

  // The seconds that all problems of one size take: runs, and filling arrays before them.
  double weight_of(const entry& e) const {
    constexpr double filling_seconds = 0.03;
    constexpr double runs = 1 + least_rounds;
    double seconds = 0;
    for_each_problem(e, std::min(weighed_bytes, most_bytes_), [&](const problem_spec& p) {
      const std::vector<variant_estimate> variants = competing(p, ctx_, shipped_);
      for (const variant_estimate& v : variants) {
        const double least = std::ranges::min_element(variants, {}, &variant_estimate::seconds)->seconds;
        seconds += runs * std::min(v.seconds, far_off * least);
      }
      seconds += variants.empty() ? 0 : filling_seconds;
      return true;
    });
    return seconds;
  }

  // Calls body(problem) until it says that there is no time.
  template <class Body>
  bool for_each_problem(const entry& e, std::uint64_t bytes, Body body) const {
    if (e.place == nullptr) return true;
    for (const std::string_view name : calibrated_names(e, ctx_.backend())) {
      for (const problem_spec& p : problems_of(name, bytes, ctx_.backend())) {
        if (!body(p)) return false;
      }
    }
    return true;
  }

  std::vector<problem_run> measure(const entry& entry) {
    std::vector<problem_run> found;
    for (std::uint64_t bytes = std::min(least_bytes_of(ctx_), most_bytes_); bytes != 0;) {
      std::vector<problem_run> of_size;
      const double begin = now();
      const bool is_whole = measure_size(entry, bytes, of_size);
      // Lists of all orders make one factor of plans that are told none: those of some orders alone would mislead it.
      if (!is_whole && entry.takes(primitives::fields::pattern)) {
        std::erase_if(of_size, [](const problem_run& p) { return p.place.order == access_pattern::kind::unknown; });
      }
      std::ranges::move(of_size, std::back_inserter(found));
      bytes = is_whole ? next_size(bytes, now() - begin) : 0;
    }
    return found;
  }

  // The next size, or the largest power of two times this one that there is time for, at the seconds that this one
  // took. 0 where there is none.
  std::uint64_t next_size(std::uint64_t bytes, double seconds) const {
    std::uint64_t steps = steps_between_sizes;
    if (bytes >= short_bytes) {
      const double left = deadline_ - now();
      while (steps > 1 && static_cast<double>(steps) * seconds > left) steps /= 2;
    }
    const std::uint64_t next = std::min(bytes * steps, most_bytes_);
    return next > bytes ? next : 0;
  }

  // Whether there was time for all problems of this size.
  bool measure_size(const entry& e, std::uint64_t bytes, std::vector<problem_run>& found) {
    return for_each_problem(e, bytes, [&](const problem_spec& p) {
      if (now() >= deadline_) return false;
      measure(e, p, found);
      return true;
    });
  }

  void measure(const entry& entry, const problem_spec& problem, std::vector<problem_run>& found) {
    problem_run run{entry.place(problem, ctx_.backend()), {}};
    const machine uncorrected = without_corrections(run.place.primitive);
    std::vector<variant_estimate> variants = competing(problem, ctx_, uncorrected);
    if (variants.empty() || !entry.job->unchecked(problem).empty()) return;
    std::ranges::sort(variants, {}, &variant_estimate::seconds);
    const std::map<std::string, double> seconds_of = seconds_of_runs(*entry.job, problem, variants);
    keep(entry, problem, variants, seconds_of, found);
    if (problem.access == access_pattern::unknown() || !is_found(problem, ctx_.backend())) return;
    // Calls inside others know no order: the plans that they have took as long as those with it.
    problem_spec told_nothing = problem;
    told_nothing.access = access_pattern::unknown();
    keep(entry, told_nothing, competing(told_nothing, ctx_, uncorrected), seconds_of, found);
  }

  // What variants take, of which the one that is predicted to be the fastest comes first.
  std::map<std::string, double> seconds_of_runs(const job& j, const problem_spec& problem,
                                                const std::vector<variant_estimate>& variants) {
    std::map<std::string, double> seconds;
    if (settings_.seconds_of) {
      for (const variant_estimate& v : variants) seconds[v.variant] = settings_.seconds_of(problem, v.variant);
      return seconds;
    }
    if (!is_on_host(ctx_.backend())) {
      arrays_.fill(problem, 1);
      ctx_.wait();
      return device_seconds(ctx_, j, problem, arrays_, variants);
    }
    const std::uint64_t copies = copies_of(problem, variants.size(), eviction_);
    arrays_.fill(problem, copies);
    if (copies > 1) eviction_.run();
    return host_runs(ctx_, j, problem, arrays_, copies).seconds_of(variants);
  }

  // Keeps what variants took at a problem, beside what is predicted of it.
  void keep(const entry& entry, const problem_spec& problem, const std::vector<variant_estimate>& variants,
            const std::map<std::string, double>& seconds_of, std::vector<problem_run>& found) const {
    problem_run run{entry.place(problem, ctx_.backend()), {}};
    const std::vector<variant_estimate> shipped = entry.estimates(problem, ctx_.backend(), shipped_);
    for (const variant_estimate& v : variants) {
      const auto taken = seconds_of.find(v.variant);
      if (taken == seconds_of.end()) continue;
      const auto by_shipped = std::ranges::find(shipped, v.variant, &variant_estimate::variant);
      // What the shipped profile would not run it would not choose.
      const bool runs_shipped = by_shipped != shipped.end() && by_shipped->applicable;
      run.variants.push_back({v.variant, taken->second, v.seconds,
                              runs_shipped ? by_shipped->seconds : std::numeric_limits<double>::infinity()});
    }
    if (!run.variants.empty()) found.push_back(std::move(run));
  }

  machine without_corrections(std::string_view primitive) const {
    machine m = machine_;
    std::erase_if(m.corrections, [&](const variant_correction& c) { return c.primitive == primitive; });
    return m;
  }

  // Makes the corrections of a primitive from all its runs, or, where the shipped profile chose better, from what that
  // one predicts.
  void correct(const std::string& primitive, const std::vector<problem_run>& runs) {
    set_corrections(primitive, runs, [](const variant_run& v) {
      return std::clamp(v.seconds / v.predicted, least_factor, most_factor);
    });
    better_.erase(primitive);
    const auto loss = loss_beside_shipped(runs);
    if (!loss) return;
    better_[primitive] = *loss;
    // The times of the shipped profile, as far off as these are in the mean: its choices, with an accuracy that is no
    // worse. The bounds are those of files, so that the order of the variants stays.
    const double off = mean_factor_of_shipped(runs);
    set_corrections(primitive, runs,
                    [&](const variant_run& v) { return std::clamp(off * v.shipped / v.predicted, 1e-3, 1e3); });
  }

  template <class Factor>
  void set_corrections(const std::string& primitive, const std::vector<problem_run>& runs, Factor factor) {
    machine_.corrections = without_corrections(primitive).corrections;
    for (const problem_run& p : runs) {
      for (const variant_run& v : p.variants) machine_.corrections.push_back(correction_of(p, v.variant, factor(v)));
    }
    merge_corrections(machine_.corrections);
  }

  // What the choices of the profile lose, if those of the shipped one lose less. Every problem is predicted by the
  // corrections of the others, because its own would make its choice perfect.
  std::optional<better_shipped> loss_beside_shipped(const std::vector<problem_run>& runs) const {
    constexpr double least_gain = 0.02;  // less is noise
    double loss = 0;
    double shipped_loss = 0;
    for (const problem_run& p : runs) {
      machine others = machine_;
      std::erase_if(others.corrections, [&](const variant_correction& c) { return is_at(c, p.place); });
      loss += log_loss(
          p, [&](const variant_run& v) { return v.predicted * plan::correction_at(others, v.variant, p.place); });
      shipped_loss += log_loss(p, &variant_run::shipped);
    }
    const auto problems = static_cast<double>(runs.size());
    if (shipped_loss + least_gain * problems >= loss) return std::nullopt;
    return better_shipped{std::string(runs.front().place.primitive), std::exp(loss / problems),
                          std::exp(shipped_loss / problems)};
  }

  static double mean_factor_of_shipped(const std::vector<problem_run>& runs) {
    double log_sum = 0;
    double count = 0;
    for (const problem_run& p : runs) {
      for (const variant_run& v : p.variants) {
        if (!std::isfinite(v.shipped)) continue;
        log_sum += std::log(v.seconds / v.shipped);
        ++count;
      }
    }
    return count > 0 ? std::exp(log_sum / count) : 1;
  }

  context& ctx_;
  machine& machine_;
  const machine shipped_;
  const correction_settings& settings_;
  std::uint64_t most_bytes_;
  double begin_;  // before memory is taken, which takes time, too
  problem_arrays arrays_;
  cache_eviction eviction_;
  std::map<std::string, std::vector<problem_run>> runs_;  // by primitive
  std::map<std::string, better_shipped> better_;          // by primitive
  double deadline_ = 0;
};

}  // namespace

std::vector<better_shipped> measure_corrections(context& ctx, machine& m, const machine& shipped,
                                                const correction_settings& settings) {
  ctx.use(m);
  return correction_run(ctx, m, shipped, settings).run();
}

}  // namespace sheaf::jobs
