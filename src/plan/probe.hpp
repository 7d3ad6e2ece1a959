#pragma once

#include <cstdint>
#include <memory>

#include <sheaf/context.hpp>
#include <sheaf/machine_profile.hpp>

namespace sheaf {

namespace plan {

/// What one run took, and how much it did: what was asked for, rounded to what the device does at once.
struct timing {
  double seconds = 0;
  std::uint64_t count = 0;
};

enum class access_kind : std::uint8_t { read, write, atomic_add };

/// How a backend measures itself: one run a call, nothing repeated and nothing judged, which is calibrate()'s work.
/// Footprints are powers of two and lie at the beginning of the memory that reserve() took.
class probe {
 public:
  probe() = default;
  virtual ~probe() = default;
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;

  /// The device as it describes itself: name, memory, caches, parallelism, versions. No rates.
  virtual machine describe() = 0;
  /// Takes and touches memory for footprints of up to `bytes`, or what can be had of it; returns how much that is.
  virtual std::uint64_t reserve(std::uint64_t bytes) = 0;

  /// Copies one half of the footprint to the other over and over; the count is bytes, read plus written.
  virtual timing stream(std::uint64_t footprint, std::uint64_t bytes) = 0;
  /// Reads whose address comes from the one before.
  virtual timing chase(std::uint64_t footprint, std::uint64_t count) = 0;
  /// Accesses at random places, none waiting for another.
  virtual timing access(access_kind kind, std::uint64_t record_bytes, std::uint64_t footprint, std::uint64_t count) = 0;
  /// Calls of the library with one record to move, each until the stream is idle.
  virtual timing calls(std::uint64_t count) = 0;
  /// Kernels or parallel regions that do nothing, each after the one before.
  virtual timing steps(std::uint64_t count) = 0;
  /// Barriers of all workers.
  virtual timing barriers(std::uint64_t count) = 0;
  /// Words that each thread sorts by a digit in its cache; the count is those of one. Asked for on the CPU alone.
  virtual timing digits(std::uint64_t /*count*/) { return {}; }
};

/// A bijection of [0, 2^bits) onto itself that looks like chance: node i of a chase lies at place shuffled(i), so that
/// a cycle through all of them is written without a list.
constexpr std::uint64_t shuffled(std::uint64_t x, int bits) noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const int half = (bits + 1) / 2;
  x = (x * 0x9e3779b97f4a7c15U + 0x632be5abU) & mask;
  x ^= x >> half;
  x = (x * 0xbf58476d1ce4e5b9U) & mask;
  x ^= x >> half;
  x = (x * 0x94d049bb133111ebU) & mask;
  return x ^ (x >> half);
}

}  // namespace plan

// What the backends define.
namespace cpu {
std::unique_ptr<plan::probe> make_probe(const context& ctx);
}
namespace cuda {
std::unique_ptr<plan::probe> make_probe(const context& ctx);
}

}  // namespace sheaf
