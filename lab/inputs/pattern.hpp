#pragma once

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "lab/inputs/input_pattern.hpp"

// Index lists and records that demo, benchmarks and tests generate. Every value is a function of its position, so an
// answer is checked without a second copy of the data, on the host or on the device.
namespace sheaf::inputs {

/// An index list of `count` entries into a table of `indexed_count` records.
using pattern = primitives::input_pattern;
using primitives::all_patterns;
using primitives::hint;
using primitives::is_distinct;
using primitives::name;
using primitives::parse_pattern;
using primitives::pattern_kind;

/// The functions below fill and check memory of ctx: host memory, or that of a CUDA context.

/// index[i] = the pattern's i-th entry, i counted from `first`. Distinct patterns need first + index count <=
/// indexed_count.
void fill_index(const context& ctx, const pattern& pattern, std::uint64_t indexed_count, index_span index,
                std::uint64_t first = 0);
/// Byte b of record r = record_byte(seed, r, b).
void fill_records(const context& ctx, records out, std::uint64_t seed);
/// Counts the records of out that differ from a gather of fill_records(seed) by the pattern. Waits for the result.
std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& pattern,
                                      std::uint64_t indexed_count, std::uint64_t seed);
/// Counts the input records that a scatter should have written to out and that are not there, for a distinct pattern
/// and an input of fill_records(seed). Waits for the result.
std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& pattern,
                                       std::uint64_t count, std::uint64_t seed);

/// Linked only where the CUDA backend is built.
namespace device {
void fill_index(const context& ctx, const pattern& pattern, std::uint64_t indexed_count, index_span index,
                std::uint64_t first);
void fill_records(const context& ctx, records out, std::uint64_t seed);
std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& pattern,
                                      std::uint64_t indexed_count, std::uint64_t seed);
std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& pattern,
                                       std::uint64_t count, std::uint64_t seed);

}  // namespace device

}  // namespace sheaf::inputs
