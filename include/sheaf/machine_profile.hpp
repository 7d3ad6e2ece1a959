#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>

// What a machine can do, as numbers. Functions that make, read and keep profiles are in sheaf/machine.hpp.
namespace sheaf {

/// Measured rate of random access: records of `record_bytes` at random places of `footprint_bytes` of memory.
struct access_rate {
  std::uint64_t footprint_bytes = 0;
  std::uint64_t record_bytes = 0;
  double records_per_second = 0;
};

/// Measured rate of a copy, read plus written, between two arrays that take `footprint_bytes` together.
struct stream_rate {
  std::uint64_t footprint_bytes = 0;
  double bytes_per_second = 0;
};

/// Measured time of one read whose address comes from the read before it, anywhere in `footprint_bytes`.
struct latency_point {
  std::uint64_t footprint_bytes = 0;
  double seconds = 0;
};

/// What a machine can do, as measured: the numbers that predictions are made from.
struct SHEAF_API machine {
  static constexpr int schema_version = 2;

  std::string name;  ///< the device: "NVIDIA H200"
  backend_kind backend = backend_kind::cpu;
  std::string source;  ///< where the profile came from: "shipped", "measured", or the file it was read from
  std::map<std::string, std::string> versions;  ///< what it was measured with: sheaf, compiler, driver
  std::uint64_t memory_bytes = 0;
  std::vector<std::uint64_t> cache_levels;  ///< bytes of each cache, smallest first; on a GPU one multiprocessor's L1
  std::uint64_t cache_bytes = 0;            ///< the last cache before memory
  std::uint64_t sector_bytes = 0;           ///< what a write to memory moves at least
  std::uint64_t fetch_bytes = 0;            ///< what a read from memory moves at least
  std::uint32_t parallelism = 1;            ///< threads or multiprocessors that the rates were measured with
  double copy_bytes_per_second = 0;         ///< streamed, read plus written, at the largest footprint
  double cached_bytes_per_second = 0;       ///< the same in a quarter of the last cache
  double launch_seconds = 0;                ///< a call with next to nothing to do, until its stream is idle
  double step_seconds = 0;                  ///< one more kernel, or parallel region, behind others that it depends on
  double barrier_seconds = 0;               ///< one barrier of all workers inside a kernel or parallel region
  double access_seconds = 0;                ///< latency of one dependent read at the largest footprint
  double digit_seconds = 0;  ///< for one of the threads, all at work, to count a word of 8 bytes in its cache and move
                             ///< it by 8 bits; 0 where nobody measured it, and on GPUs
  std::vector<stream_rate> streams;      ///< ordered by footprint_bytes
  std::vector<latency_point> latencies;  ///< ordered by footprint_bytes
  std::vector<access_rate> random_read;  ///< ordered by record_bytes, then footprint_bytes
  std::vector<access_rate> random_write;
  std::vector<access_rate> atomic_add;  ///< of words, where nobody uses the sum

  /// Seconds to stream `bytes` (read plus written) whose arrays together take `footprint` bytes.
  double streamed(std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to read `count` records of `bytes` at random places of `footprint` bytes.
  double random_reads(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to write them.
  double random_writes(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to add to `count` words of `bytes` there, atomically; as writes where the profile does not know.
  double atomic_adds(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// This machine with `threads` of its parallelism: rates shrink in proportion, and never grow. What one thread does
  /// stays as it is.
  machine with_parallelism(std::uint32_t threads) const;
};

}  // namespace sheaf
