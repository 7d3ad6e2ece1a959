#pragma once

#include "primitives/ranks/steps.hpp"

// The steps of calls between ranks, each in a file with its kernel.
namespace sheaf::cuda {

void route_entries(const context& ctx, index_span list, const primitives::rows_of_ranks& rows,
                   const primitives::routed_entries& out);
void unzip_pairs(const context& ctx, const std::byte* pairs, std::uint64_t count, bool is_wide, std::byte* rows,
                 std::byte* positions);
void gather_parts(const context& ctx, const primitives::gather_from_parts& problem);
void find_key_bounds(const context& ctx, const_records rows, const primitives::key_layout& key,
                     const primitives::key_bound* bounds, std::uint64_t count, std::uint64_t* positions);

/// 512 threads of 16 rows, as in a stable split. A tile's rows of one of 512 parts are 16.
constexpr int tile_threads = 512;
constexpr int rows_per_thread = 16;
constexpr std::uint32_t tile_rows = tile_threads * rows_per_thread;
static_assert(tile_threads >= static_cast<int>(primitives::most_row_parts));  // a thread counts a part

void sample_row_numbers(const context& ctx, const primitives::rows_by_number& rows, std::uint64_t samples,
                        std::uint64_t* numbers);
void find_row_parts(const context& ctx, const primitives::rows_by_number& rows, const primitives::tiled_parts& out);
void move_rows_to_parts(const context& ctx, const primitives::tiled_parts& of, std::uint64_t chunk,
                        std::span<const primitives::rows_to_parts> arrays, bool keeps_order);
bool sort_rows_in_parts(const context& ctx, const primitives::rows_in_parts& rows);
/// Copies rows of parts that have one key each.
void copy_runs(const context& ctx, const primitives::rows_in_parts& rows);

}  // namespace sheaf::cuda
