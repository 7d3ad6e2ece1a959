#pragma once

#include <functional>

#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

#include "lab/spatter/check.hpp"
#include "lab/spatter/chunks.hpp"
#include "lab/spatter/file.hpp"

namespace sheaf::bench {

/// The library calls that a subcommand times and checks. Tests replace them by faulty ones, to see that the check
/// fails.
struct library_calls {
  std::function<void(const context&, const_records, index_span, records, const gather_options&)> gather = sheaf::gather;
  std::function<void(const context&, const_records, index_span, records, const scatter_options&)> scatter =
      sheaf::scatter;
};

struct spatter_settings {
  std::uint64_t runs = 0;   ///< timed runs of each pattern; 0 for the file's nruns, else 10
  double most_seconds = 2;  ///< no run of a pattern begins after this time
  std::uint64_t chunk_indices = std::uint64_t{1} << 26;
  bool verify = false;
  std::string_view variant;  ///< variant that has to run; empty for the planner's choice
  library_calls calls;
};

struct spatter_result {
  double best_seconds = 0;
  double median_seconds = 0;
  std::uint64_t runs = 0;
  std::uint64_t bytes = 0;               ///< 8 bytes for each entry and sparse array, as Spatter counts
  std::string variant;                   ///< variant that ran the first chunk; gather's and scatter's for GS
  std::optional<spatter_faults> faults;  ///< set if the answer was checked

  double bytes_per_second() const { return static_cast<double>(bytes) / best_seconds; }
};

/// Memory that running a configuration takes.
struct spatter_memory {
  std::uint64_t context_bytes = 0;
  std::uint64_t host_bytes = 0;  ///< host memory beside context_bytes
};
spatter_memory memory_needed(const context& ctx, const spatter_config& config, const spatter_settings& settings);
/// Bytes that this machine can still give without swapping.
std::uint64_t available_host_bytes();

/// Runs configurations one after the other on one context, and keeps memory from one to the next.
class spatter_session {
 public:
  spatter_session(const context& ctx, spatter_settings settings);
  /// Runs a configuration. Index lists are made outside the timed part.
  /// @throws error(out_of_memory) with the bytes, before anything is taken that the host cannot give.
  spatter_result run(const spatter_config& config);

 private:
  /// The sparse array that is gathered from or scattered to, and the index list of the current chunk.
  struct sparse_side {
    buffer sparse;
    std::uint64_t filled = 0;  ///< entries at the front of sparse that hold their initial values
    buffer list;
    index_type type = index_type::u32;
    std::uint64_t phase = 0;
    std::uint64_t rows = 0;  ///< steps that the list covers; 0 before it is made
  };

  void take_memory(const spatter_config& config);
  void fill(const spatter_config& config);
  bool list_is_current(const spatter_sequence& sequence, const sparse_side& side, const spatter_chunk& chunk) const;
  void make_lists(const spatter_config& config, const spatter_chunk& chunk);
  void move(const spatter_config& config, const spatter_chunk& chunk) const;
  double run_once(const spatter_config& config, spatter_faults* faults);
  std::string variants(const spatter_config& config) const;

  context ctx_;
  spatter_settings settings_;
  spatter_layout layout_;
  sparse_side gather_;
  sparse_side scatter_;
  buffer dense_;
};

}  // namespace sheaf::bench
