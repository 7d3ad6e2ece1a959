#pragma once

#include "primitives/ranks/steps.hpp"

// Parts of rows by their keys: steps of sorts between ranks that go by primitives.
namespace sheaf::cpu {

/// Few, so that short lists have several tiles, as long ones have on a device.
constexpr std::uint32_t tile_rows = 64;

void sample_numbers(const context& ctx, const primitives::rows_by_number& rows, std::uint64_t samples,
                    std::uint64_t* numbers);
void find_parts(const context& ctx, const primitives::rows_by_number& rows, const primitives::tiled_parts& out);
void move_rows(const context& ctx, const primitives::tiled_parts& of, std::uint64_t chunk,
               std::span<const primitives::rows_to_parts> arrays, bool keeps_order);
bool sort_parts(const context& ctx, const primitives::rows_in_parts& rows);

}  // namespace sheaf::cpu
