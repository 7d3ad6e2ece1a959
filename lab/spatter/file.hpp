#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Spatter's input files: lists of gather and scatter patterns, in JSON (github.com/hpcgarage/spatter).
namespace sheaf::bench {

enum class spatter_kernel : std::uint8_t { gather, scatter, gather_scatter, multi_gather, multi_scatter };

/// "Gather", "Scatter", "GS", "MultiGather", "MultiScatter".
std::string_view name(spatter_kernel kernel) noexcept;

/// The sequence of sparse entries that a kernel accesses: places[j] + offset(step) for every j in every step.
struct spatter_sequence {
  std::vector<std::uint64_t> places;
  std::uint64_t last_place = 0;           ///< largest of places
  std::vector<std::uint64_t> offsets{0};  ///< offsets of the steps of the first period
  std::uint64_t period_delta = 0;         ///< offset of a period from the one before

  std::uint64_t period() const noexcept { return offsets.size(); }
  std::uint64_t offset(std::uint64_t step) const noexcept {
    return offsets[step % offsets.size()] + step / offsets.size() * period_delta;
  }
  /// Entries that the sparse array needs for `count` steps.
  std::uint64_t extent(std::uint64_t count) const noexcept { return last_place + offset(count - 1) + 1; }
};

/// One configuration, checked: every product of its sizes fits in 57 bits.
struct spatter_config {
  std::uint64_t number = 0;  ///< counted from 0, as Spatter does
  std::string name;
  spatter_kernel kernel = spatter_kernel::gather;
  spatter_sequence gather;   ///< entries that are read; no places if the kernel does not gather
  spatter_sequence scatter;  ///< entries that are written; no places if the kernel does not scatter
  std::uint64_t count = 1024;
  std::uint64_t wrap = 1;  ///< rows of the dense array
  std::uint64_t runs = 0;  ///< the file's nruns; 0 where it has none

  bool gathers() const noexcept { return !gather.places.empty(); }
  bool scatters() const noexcept { return !scatter.places.empty(); }
  /// Entries that one step moves.
  std::uint64_t length() const noexcept { return gathers() ? gather.places.size() : scatter.places.size(); }
};

/// Bounds on the memory that parsing a file may take.
struct spatter_limits {
  std::uint64_t most_entries = std::uint64_t{1} << 28;  ///< entries of all patterns of a file together
};

/// Reads a file's text. Fields are those of Spatter 2: name, kernel, pattern, pattern-gather, pattern-scatter, delta,
/// delta-gather, delta-scatter, count, wrap, pattern-size, boundary, nruns, and local-work-size and seed, which do not
/// change the answer; and `deltas`, a list that is stepped through in turn instead of delta. A generator that sets a
/// delta overrules the field, as in Spatter. Multi kernels come back with their two patterns composed.
/// @throws error(bad_input) naming origin, configuration, field and value.
std::vector<spatter_config> parse_spatter(std::string_view text, const std::string& origin,
                                          const spatter_limits& limits = {});
/// Reads and parses a file. @throws error(bad_input)
std::vector<spatter_config> load_spatter(const std::string& path);

}  // namespace sheaf::bench
