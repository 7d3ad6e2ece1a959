#pragma once

#include "lab/inputs/pattern.hpp"

// The CUDA half of inputs/pattern.hpp; linked only where the CUDA backend is built.
namespace sheaf::inputs::device {

void fill_index(const context& ctx, const pattern& p, std::uint64_t indexed_count, index_span index,
                std::uint64_t first);
void fill_records(const context& ctx, records out, std::uint64_t seed);
std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& p,
                                      std::uint64_t indexed_count, std::uint64_t seed);
std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& p, std::uint64_t count,
                                       std::uint64_t seed);

}  // namespace sheaf::inputs::device
