#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <sheaf/context.hpp>

#include "core/context_state.hpp"

namespace sheaf::tests {

/// A clock by which the calls that a context times take given seconds, one after the other. It is asked when such a
/// call begins and when its work is done.
struct replayed_clock {
  std::vector<double> seconds;
  std::size_t times_asked = 0;
  double now = 0;

  double ask() {
    if (times_asked % 2 == 1) now += seconds.at(times_asked / 2);
    ++times_asked;
    return now;
  }
  std::size_t calls() const { return times_asked / 2; }
};

/// Lets the context time its calls by such a clock.
inline std::shared_ptr<replayed_clock> replay(const context& ctx, std::vector<double> seconds) {
  auto clock = std::make_shared<replayed_clock>();
  clock->seconds = std::move(seconds);
  ctx.state().clock = [clock] { return clock->ask(); };
  return clock;
}

}  // namespace sheaf::tests
