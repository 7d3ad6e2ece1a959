#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plan/calibrate.hpp"

namespace sheaf::tests {

/// A device whose rates are known, with a clock that its runs advance. `disturb` turns the true seconds of a run, which
/// it knows by name, into the measured ones.
class fake_probe final : public plan::microbenchmarks {
 public:
  explicit fake_probe(backend_kind backend = backend_kind::cpu) : backend_(backend) {}

  static double truth(std::uint64_t footprint, std::uint64_t bytes) {
    const bool in_cache = footprint <= cache_bytes;
    return (in_cache ? 1e-9 : 4e-9) * std::max(1.0, static_cast<double>(bytes) / 64);
  }
  static constexpr std::uint64_t cache_bytes = 1 << 20;
  static constexpr double seconds_a_byte = 1e-11;

  machine describe() override {
    machine m;
    m.name = "fake";
    m.backend = backend_;
    m.memory_bytes = memory;
    m.cache_levels = {1 << 15, cache_bytes};
    m.cache_bytes = cache_bytes;
    m.sector_bytes = m.fetch_bytes = 64;
    return m;
  }
  std::uint64_t reserve(std::uint64_t bytes) override { return reserved = std::min(bytes, memory_to_have); }

  plan::timing stream(std::uint64_t footprint, std::uint64_t bytes) override {
    return did(fmt::format("copies in {}", footprint), seconds_a_byte, bytes);
  }
  plan::timing chase(std::uint64_t footprint, std::uint64_t count) override {
    return did(fmt::format("dependent reads in {}", footprint), truth(footprint, 8), count);
  }
  plan::timing access(plan::access_kind kind, std::uint64_t bytes, std::uint64_t footprint,
                      std::uint64_t count) override {
    constexpr const char* names[] = {"random reads", "random writes", "atomic adds"};
    return did(fmt::format("{} of {} bytes in {}", names[static_cast<int>(kind)], bytes, footprint),
               truth(footprint, bytes), count);
  }
  plan::timing calls(std::uint64_t count) override { return did("calls", 5e-6, count); }
  plan::timing steps(std::uint64_t count) override { return did("steps", 2e-6, std::min<std::uint64_t>(count, 500)); }
  plan::timing barriers(std::uint64_t count) override { return did("barriers", 1e-6, count); }
  plan::timing digits(std::uint64_t count) override { return did("digits", 3e-9, count); }

  machine measured(double seconds = 60) {
    const auto keep = [this](std::string_view what) { warnings.emplace_back(what); };
    return plan::measure(*this, {.seconds = seconds, .warn = keep}, [this] { return clock; });
  }

  std::uint64_t memory = std::uint64_t{16} << 30;
  std::uint64_t memory_to_have = ~std::uint64_t{0};
  std::uint64_t reserved = 0;
  double clock = 0;
  double wait = 0;  ///< seconds that each run waits for its turn, which its own time does not count
  std::uint64_t runs = 0;
  std::map<std::string, int> visits;  ///< how often the device turned to a point and ran it, however many times
  std::vector<std::string> warnings;
  std::function<double(const std::string& what, double honest)> disturb;

 private:
  plan::timing did(const std::string& what, double one, std::uint64_t count) {
    ++runs;
    if (what != visited_) ++visits[what];
    visited_ = what;
    const double honest = one * static_cast<double>(count);
    const double seconds = disturb ? disturb(what, honest) : honest;
    clock += wait;
    clock += std::isfinite(seconds) ? std::max(0.0, seconds) : honest;
    return {seconds, count};
  }

  backend_kind backend_;
  std::string visited_;
};

}  // namespace sheaf::tests
