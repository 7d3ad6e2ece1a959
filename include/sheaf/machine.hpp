#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sheaf/context.hpp>
#include <sheaf/export.hpp>

namespace sheaf {

/// Measured rate of random access: records of `record_bytes` at random places of `footprint_bytes` of memory.
struct access_rate {
  std::uint64_t footprint_bytes = 0;
  std::uint64_t record_bytes = 0;
  double records_per_second = 0;
};

/// What a machine can do, as measured: the numbers that predictions are made from.
struct SHEAF_API machine {
  static constexpr int schema_version = 1;

  std::string name;  ///< "NVIDIA H200"
  backend_kind backend = backend_kind::cpu;
  std::string source;  ///< where the profile came from: "shipped", or the file it was read from
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;         ///< the last cache before memory
  std::uint64_t sector_bytes = 0;        ///< what a write to memory moves at least
  std::uint64_t fetch_bytes = 0;         ///< what a read from memory moves at least
  std::uint32_t parallelism = 1;         ///< threads or multiprocessors that the rates were measured with
  double copy_bytes_per_second = 0;      ///< streamed, read plus written
  double cached_bytes_per_second = 0;    ///< the same, out of the last cache
  double launch_seconds = 0;             ///< a call that does nothing, until its stream is idle
  double access_seconds = 0;             ///< latency of one dependent access to memory
  std::vector<access_rate> random_read;  ///< ordered by record_bytes, then footprint_bytes
  std::vector<access_rate> random_write;

  /// Seconds to stream `bytes` (read plus written) whose arrays together take `footprint` bytes.
  double streamed(std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to read `count` records of `bytes` at random places of `footprint` bytes.
  double random_reads(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// Seconds to write them.
  double random_writes(std::uint64_t count, std::uint64_t bytes, std::uint64_t footprint) const;
  /// This machine with `threads` of its parallelism: rates shrink in proportion.
  machine with_parallelism(std::uint32_t threads) const;
};

/// The profiles that come with the library, in the order of preference.
SHEAF_API std::vector<machine> shipped_machines();
/// The shipped profile nearest to a device of this backend and name.
SHEAF_API machine nearest_machine(backend_kind backend, const std::string& device_name);

/// Reads a profile. @throws error(bad_input) naming file, field and value.
SHEAF_API machine load_machine(const std::string& path);
/// Writes a profile, whole or not at all. @throws error(io_failure)
SHEAF_API void save_machine(const machine& profile, const std::string& path);
/// The same from and to JSON text; `origin` names the text in messages.
SHEAF_API machine parse_machine(const std::string& json, const std::string& origin);
SHEAF_API std::string format_machine(const machine& profile);

}  // namespace sheaf
