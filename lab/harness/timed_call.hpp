#pragma once

#include "core/backends.hpp"
#include "lab/harness/now.hpp"
#include "lab/harness/runner.hpp"
#include "primitives/timed_runs.hpp"

namespace sheaf::bench {

/// Where calls run.
struct call_place {
  std::string name;  ///< "cpu, 1 thread"
  context ctx;
  int loadings = 1;  ///< preparations of each kind after a first one, of which the fastest counts
};

/// One way to do a run on an input that is not a problem of a sweep: a file's matrix or mesh.
struct timed_call {
  std::string where;  ///< "cpu, 1 thread"
  std::string who;    ///< "plain loop", "cpu.tiles"
  backend_kind backend = backend_kind::cpu;
  bool is_ours = true;           ///< no peer
  bool is_prepared = false;      ///< the run of something that was prepared
  double loading_seconds = 0;    ///< before the first run: of copies to a device, and of the preparation
  std::uint64_t kept_bytes = 0;  ///< that the preparation keeps
  std::function<void()> run;     ///< queues a run
  std::function<void()> wait;
  /// Does one more run and says what is wrong with its answer, if anything.
  std::function<std::optional<std::string>()> mistake;
  /// The largest error of the last checked answer, over the largest value of the exact one. May be empty.
  std::function<double()> largest_error = {};

  timing time = {};
  bool is_right = true;
};

/// A call on arrays that it keeps: Placed has mistake(run), which is that of one more run, and largest_error().
template <class Placed>
timed_call call_on(const call_place& place, std::string_view who, std::shared_ptr<Placed> of,
                   std::function<void()> run) {
  return {.where = place.name,
          .who = std::string(who),
          .backend = place.ctx.backend(),
          .run = run,
          .wait = [ctx = place.ctx] { ctx.wait(); },
          .mistake = [of, run] { return of->mistake(run); },
          .largest_error = [of] { return of->largest_error(); }};
}

/// An input in the place's memory, Placed(ctx, input), and the seconds that a second copy to a device takes.
template <class Placed, class Input>
std::pair<std::shared_ptr<Placed>, double> placed_in_time(const context& ctx, const Input& input) {
  auto of = std::make_shared<Placed>(ctx, input);
  if (core::backend_of(ctx.backend()).uses_host_memory) return {of, 0};
  of.reset();
  const double begin = now();
  of = std::make_shared<Placed>(ctx, input);
  return {of, now() - begin};
}

/// What prepare() makes, and the least time that it took; none where the variant cannot run.
template <class Prepare>
auto loaded(const call_place& place, Prepare prepare) {
  using prepared = decltype(prepare());
  std::optional<std::pair<std::shared_ptr<const prepared>, double>> made;
  try {
    double seconds = std::numeric_limits<double>::infinity();
    // The first one warms up: it compiles shaders, and touches memory first.
    for (int i = 0; i <= place.loadings; ++i) {
      made.reset();
      made.emplace(std::make_shared<const prepared>(prepare()), 0);
      seconds = std::min(seconds, made->first->report().preparation_seconds);
    }
    made->second = seconds;
  } catch (const error& e) {
    if (e.code() != error_code::no_variant && e.code() != error_code::out_of_memory) throw;
    made.reset();
  }
  return made;
}

/// The calls of variants that can run, also by name only, but for the reference: call(variant).
template <class Placed, class Call>
void add_unprepared(const call_place& place, std::shared_ptr<Placed> of, double copying,
                    std::span<const variant_estimate> variants, Call call, std::vector<timed_call>& all) {
  for (const variant_estimate& v : variants) {
    if (!v.applicable || v.variant.starts_with("reference.")) continue;
    all.push_back(call_on(place, v.variant, of, [call, name = v.variant] { call(name); }));
    all.back().loading_seconds = copying;
  }
}

/// Runs of what prepare(variant) makes, run(prepared), by each variant that can be prepared, as name_of(prepared,
/// variant).
template <class Placed, class Variant, class Prepare, class NameOf, class Run>
void add_prepared(const call_place& place, std::shared_ptr<Placed> of, double copying,
                  std::span<const Variant> variants, Prepare prepare, NameOf name_of, Run run,
                  std::vector<timed_call>& all) {
  for (const Variant& variant : variants) {
    if (!variant.works_on(place.ctx.backend()) || variant.name == primitives::kept_name)
      continue;  // runs of "kept" are the unprepared calls
    const auto made = loaded(place, [&] { return prepare(variant.name); });
    if (!made) continue;
    const auto& [prepared, seconds] = *made;
    all.push_back(call_on(place, name_of(*prepared, variant.name), of, [run, prepared = prepared] { run(*prepared); }));
    all.back().is_prepared = true;
    all.back().loading_seconds = copying + seconds;
    all.back().kept_bytes = prepared->report().kept_bytes;
  }
}

/// Ways to do one thing in turn, so that what else the machine does falls on all of them alike: in three rounds at
/// least, and until the seconds have passed. Each keeps the least of its times, which seconds_of(way) are.
template <class Way, class SecondsOf>
void keep_least_seconds(std::vector<Way>& all, double seconds, SecondsOf seconds_of) {
  constexpr int least_rounds = 3;
  const double begin = now();
  for (int round = 0; round < least_rounds || now() - begin < seconds; ++round) {
    for (Way& way : all) way.seconds = std::min(way.seconds, seconds_of(way));
  }
}

/// Times the calls in turn by the host's clock, each from call to idle, and checks an answer of each.
void time_and_check(std::span<timed_call> calls, const timing_limits& limits);

/// The runs that make up for what loading took beside a call of `other_seconds`; none where a run saves nothing.
std::optional<std::uint64_t> runs_to_amortise(double loading_seconds, double run_seconds, double other_seconds);
/// That number, or "-".
std::string runs_text(const std::optional<std::uint64_t>& runs);

}  // namespace sheaf::bench
