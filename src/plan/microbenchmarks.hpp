#pragma once

#include <sheaf/machine_profile.hpp>

namespace sheaf::plan {

/// Seconds of one run, and how much it did: the count asked for, rounded to what the device does in one step.
struct timing {
  double seconds = 0;
  std::uint64_t count = 0;
};

enum class access_kind : std::uint8_t { read, write, atomic_add };

/// How a backend measures itself. A call is one run; calibrate() repeats runs and judges them. Footprints are powers of
/// two and lie at the beginning of the memory that reserve() took.
class microbenchmarks {
 public:
  microbenchmarks() = default;
  virtual ~microbenchmarks() = default;
  microbenchmarks(const microbenchmarks&) = delete;
  microbenchmarks& operator=(const microbenchmarks&) = delete;

  /// The device as it describes itself: name, memory, caches, parallelism, versions. No rates.
  virtual machine describe() = 0;
  /// Takes and touches memory for footprints of up to `bytes`, or as much of that as there is; returns how much it
  /// took.
  virtual std::uint64_t reserve(std::uint64_t bytes) = 0;

  /// Copies one half of the footprint to the other repeatedly; the count is bytes, read plus written.
  virtual timing stream(std::uint64_t footprint, std::uint64_t bytes) = 0;
  /// Dependent reads: each address comes from the read before (a pointer chase).
  virtual timing chase(std::uint64_t footprint, std::uint64_t count) = 0;
  /// Independent accesses at random addresses.
  virtual timing access(access_kind kind, std::uint64_t record_bytes, std::uint64_t footprint, std::uint64_t count) = 0;
  /// Calls of the library that move one record, each awaited until the stream is idle.
  virtual timing calls(std::uint64_t count) = 0;
  /// Empty kernels or parallel regions, one after another.
  virtual timing steps(std::uint64_t count) = 0;
  /// Barriers of all workers.
  virtual timing barriers(std::uint64_t count) = 0;
  /// Words that each thread sorts by one digit in its cache; the count is the words of one thread. CPU only.
  virtual timing digits(std::uint64_t /*count*/) { return {}; }
  /// Bytes from host memory to the device, and from the device to host memory. Only where calls do both.
  virtual timing upload(std::uint64_t /*bytes*/) { return {}; }
  virtual timing read_back(std::uint64_t /*bytes*/) { return {}; }
};

/// A pseudo-random permutation of [0, 2^bits). Node i of a pointer chase lies at position shuffled(i), so that a cycle
/// through all nodes is written without a list.
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

}  // namespace sheaf::plan
