#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>

#include "bench/spatter/check.hpp"
#include "bench/spatter/chunks.hpp"
#include "bench/spatter/file.hpp"
#include "jobs/library_calls.hpp"

namespace sheaf::bench {

struct spatter_settings {
  std::uint64_t runs = 0;   ///< 0: what the file says, else 10
  double most_seconds = 2;  ///< no further run begins after it
  std::uint64_t chunk_indices = std::uint64_t{1} << 26;
  bool verify = false;
  std::string_view variant;  ///< forced, or empty
  jobs::library_calls calls;
};

struct spatter_result {
  double best_seconds = 0;
  double median_seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t bytes = 0;               ///< 8 per entry and sparse array, as Spatter counts them
  std::string variant;                   ///< of the first chunk; gather + scatter for GS
  std::optional<spatter_faults> faults;  ///< there if it was verified

  double bytes_per_second() const { return static_cast<double>(bytes) / best_seconds; }
};

/// Memory that running a configuration takes.
struct spatter_need {
  std::uint64_t context_bytes = 0;
  std::uint64_t host_bytes = 0;  ///< beside the context's, if that is not the host's
};
spatter_need memory_needed(const context& ctx, const spatter_config& config, const spatter_settings& settings);
/// Bytes that this machine can still give without swapping.
std::uint64_t available_host_bytes();

/// Runs configurations one after the other on one context, and keeps memory from one to the next.
class spatter_session {
 public:
  spatter_session(const context& ctx, spatter_settings settings);
  /// Bytes of the session's buffers go to and fro once per run; index lists are made outside the timed part.
  /// @throws error(out_of_memory) with the bytes, before anything is taken that the host cannot give.
  spatter_result run(const spatter_config& config);

 private:
  struct side {
    buffer sparse;
    std::uint64_t filled = 0;  ///< first entries of sparse that hold what a run begins with
    buffer list;
    index_type type = index_type::u32;
    std::uint64_t phase = 0;
    std::uint64_t rows = 0;  ///< 0: no list yet
  };

  void take_memory(const spatter_config& config);
  void fill(const spatter_config& config);
  bool list_serves(const spatter_walk& walk, const side& s, const spatter_chunk& chunk) const;
  void make_lists(const spatter_config& config, const spatter_chunk& chunk);
  void move(const spatter_config& config, const spatter_chunk& chunk) const;
  double pass(const spatter_config& config, spatter_faults* faults);
  std::string variants(const spatter_config& config) const;

  context ctx_;
  spatter_settings settings_;
  spatter_layout layout_;
  side gather_;
  side scatter_;
  buffer dense_;
};

}  // namespace sheaf::bench
