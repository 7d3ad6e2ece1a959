#pragma once

#include <cstdint>
#include <string>

#include <sheaf/context.hpp>

#include "bench/spatter/chunks.hpp"
#include "bench/spatter/file.hpp"

// Answers checked without the library's own movement: every value is a function of its place.
namespace sheaf::bench {

constexpr std::uint64_t gather_seed = 0x5a7c;   ///< entry k of what is gathered from: inputs::record_word(seed, k, 0)
constexpr std::uint64_t scatter_seed = 0xd1e5;  ///< entry k of what is scattered to, before

/// What a scatter writes from entry j of a dense row; no two entries are alike.
std::uint64_t dense_value(std::uint64_t row, std::uint64_t j, std::uint64_t length);

/// Wrong entries, and words for the first of them.
struct spatter_faults {
  std::uint64_t count = 0;
  std::string first;
};

/// Checks every dense row of a gathered chunk; `dense` is in the context's memory and holds the chunk's rows.
void check_gathered(const context& ctx, const spatter_config& config, const spatter_chunk& chunk,
                    const std::uint64_t* dense, spatter_faults& faults);

/// Checks all of the sparse array after a whole scatter or gather-scatter: a place that was named holds the value of
/// one of its writers, any of them, and every other place what it held before.
/// @param window_entries  entries that are looked at together, in whole multiples of 64; host memory goes with it.
void check_scattered(const context& ctx, const spatter_config& config, const spatter_layout& layout,
                     const std::uint64_t* sparse, std::uint64_t window_entries, spatter_faults& faults);

/// Entries of a window for this configuration: few, but no fewer than one step spans.
std::uint64_t check_window(const spatter_config& config);
/// Host bytes that the checks take.
std::uint64_t check_bytes(const context& ctx, const spatter_config& config);

}  // namespace sheaf::bench
