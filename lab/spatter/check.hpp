#pragma once

#include "lab/spatter/chunks.hpp"
#include "lab/spatter/file.hpp"

// Checks answers without the library's own gather and scatter: every value is a function of its place.
namespace sheaf::bench {

constexpr std::uint64_t gather_seed = 0x5a7c;   ///< entry k of the gathered array is inputs::record_word(seed, k, 0)
constexpr std::uint64_t scatter_seed = 0xd1e5;  ///< seed of the scattered array's entries before the run

/// What a scatter writes from entry j of a dense row; no two entries are alike.
std::uint64_t dense_value(std::uint64_t row, std::uint64_t j, std::uint64_t length);

/// Number of wrong entries, and a description of the first.
struct spatter_faults {
  std::uint64_t count = 0;
  std::string first;
};

/// Checks every dense row of a gathered chunk; `dense` is in the context's memory and holds the chunk's rows.
void check_gathered(const context& ctx, const spatter_config& config, const spatter_chunk& chunk,
                    const std::uint64_t* dense, spatter_faults& faults);

/// Checks the whole sparse array after a scatter or gather-scatter. An entry that was written holds the value of any
/// one of its writers; every other entry holds its value from before.
/// @param window_entries  entries that are checked together, a multiple of 64; host memory is proportional to it.
void check_scattered(const context& ctx, const spatter_config& config, const spatter_layout& layout,
                     const std::uint64_t* sparse, std::uint64_t window_entries, spatter_faults& faults);

/// Entries of a window for this configuration: at least as many as one step spans.
std::uint64_t check_window(const spatter_config& config);
/// Host bytes that the checks take.
std::uint64_t check_bytes(const context& ctx, const spatter_config& config);

}  // namespace sheaf::bench
