#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>
#include <sheaf/plan.hpp>

// What a machine can do, as numbers. The functions that make, read and keep profiles are in sheaf/machine.hpp.
namespace sheaf {

/// Measured rate of random access to records of `record_bytes` in `footprint_bytes` of memory.
struct access_rate {
  std::uint64_t footprint_bytes = 0;
  std::uint64_t record_bytes = 0;
  double records_per_second = 0;
};

/// Measured rate of a copy between two arrays that together take `footprint_bytes`. Bytes read and bytes written both
/// count.
struct stream_rate {
  std::uint64_t footprint_bytes = 0;
  double bytes_per_second = 0;
};

/// Measured latency of pointer chasing in `footprint_bytes`: the time of one read whose address the previous read
/// returns.
struct latency_point {
  std::uint64_t footprint_bytes = 0;
  double seconds = 0;
};

/// How far the predicted time of a variant was from the measured time of one problem.
struct variant_correction {
  std::string primitive;                                       ///< whose variant it is: "gather"
  std::string variant;                                         ///< "cpu.direct"
  access_pattern::kind order = access_pattern::kind::unknown;  ///< the pattern of the index list that the plan had
  std::uint64_t record_bytes = 0;
  std::uint64_t count = 0;  ///< records, values or index entries
  std::uint64_t range = 0;  ///< records that the list names or an index has, categories, or bits of a sort's key
  double factor = 1;        ///< measured time over predicted time
};

/// The measured rates and latencies of a machine, from which plans predict time. On OpenGL random reads are texture
/// lookups, random writes are points, and atomic additions are points that blend.
struct SHEAF_API machine {
  static constexpr int schema_version = 3;

  std::string name;  ///< name of the device: "NVIDIA H200"
  backend_kind backend = backend_kind::cpu;
  std::string source;  ///< origin of the profile: "shipped", "measured", or the file it was read from
  std::map<std::string, std::string> versions;  ///< versions of what measured it: sheaf, compiler, driver
  std::uint64_t memory_bytes = 0;
  std::vector<std::uint64_t> cache_levels;  ///< bytes of each cache, smallest first; on a GPU one multiprocessor's L1
  std::uint64_t cache_bytes = 0;            ///< bytes of the last cache before memory
  std::uint64_t sector_bytes = 0;           ///< least bytes that a write to memory moves
  std::uint64_t fetch_bytes = 0;            ///< least bytes that a read from memory moves
  std::uint32_t parallelism = 1;            ///< threads or multiprocessors with which the rates were measured
  double copy_bytes_per_second = 0;         ///< rate of a copy, read plus written, at the largest footprint
  double cached_bytes_per_second = 0;       ///< rate of a copy, read plus written, in a quarter of the last cache
  double launch_seconds = 0;                ///< time of a call that moves one record, until its stream is idle
  double step_seconds = 0;                  ///< time of one more kernel, or parallel region, that waits for another
  double barrier_seconds = 0;               ///< time of one barrier of all workers inside a kernel or parallel region
  double access_seconds = 0;                ///< latency of one dependent read at the largest footprint
  double digit_seconds = 0;  ///< time in which a thread, with all threads busy, counts a word of 8 bytes in its cache
                             ///< and moves it by a digit of 8 bits; 0 where it was not measured, and on GPUs
  double upload_bytes_per_second = 0;     ///< rate from host memory into textures; 0 where calls work on it in place
  double readback_bytes_per_second = 0;   ///< rate from a frame buffer into host memory; 0 as above
  std::vector<stream_rate> streams;       ///< ordered by footprint_bytes
  std::vector<latency_point> latencies;   ///< ordered by footprint_bytes
  std::vector<access_rate> random_read;   ///< ordered by record_bytes, then footprint_bytes
  std::vector<access_rate> random_write;  ///< ordered as random_read
  std::vector<access_rate> atomic_add;    ///< of words, whose sums nobody reads back; ordered as random_read
  /// Factors that multiply predictions of problems near those that were run; empty unless `sheaf machine --calibrate`
  /// ran them. Ordered by primitive, variant and order, one factor for each problem.
  std::vector<variant_correction> corrections;

  /// Seconds to stream `bytes` (read plus written) whose arrays together take `footprint` bytes.
  double streamed(std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to upload `bytes` to the device, and to read them back; 0 where calls work on host memory in place.
  double uploaded(std::uint64_t bytes) const;
  double read_back(std::uint64_t bytes) const;
  /// Seconds to read `count` records of `bytes` at random places of `footprint` bytes.
  double random_reads(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to write `count` records of `bytes` at random places of `footprint` bytes.
  double random_writes(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds of `count` atomic additions to words of `bytes` at random places of `footprint` bytes. A profile without
  /// atomic_add prices them as random writes.
  double atomic_adds(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// This machine with `threads` of its parallelism. Rates of all workers together shrink in proportion and never grow.
  /// Latencies and digit_seconds, which belong to one thread, do not change.
  machine with_parallelism(std::uint32_t threads) const;
};

}  // namespace sheaf
