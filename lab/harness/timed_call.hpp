#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <sheaf/context.hpp>

#include "lab/harness/runner.hpp"

namespace sheaf::bench {

/// Where calls run.
struct call_place {
  std::string name;  ///< "cpu, 1 thread"
  context ctx;
  int loadings = 1;  ///< preparations of each kind after a first one, of which the fastest counts
};

/// One way to do a run on an input that is no problem of a sweep: a file's matrix or mesh.
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

/// Times the calls in turn by the host's clock, each from call to idle, and checks an answer of each.
void time_and_check(std::span<timed_call> calls, const timing_limits& limits);

/// The runs that make up for what loading took beside a call of `other_seconds`; none where a run saves nothing.
std::optional<std::uint64_t> runs_to_amortise(double loading_seconds, double run_seconds, double other_seconds);
/// That number, or "-".
std::string runs_text(const std::optional<std::uint64_t>& runs);

}  // namespace sheaf::bench
