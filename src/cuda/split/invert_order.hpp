#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/context.hpp>

#include "primitives/split.hpp"

// Inversion of a permutation: the order of a split (numbers of the records, in output order) becomes its scatter index
// (the output position of each record).
namespace sheaf::cuda {

/// Seconds that the inversion takes on the machine.
double inversion_seconds(const primitives::split_problem& p, const machine& m);
std::uint64_t inversion_scratch_bytes(const primitives::split_problem& p);

/// Queues scatter_index[order[i]] = i for every i below p.count; entries of order that are no record numbers are left
/// out. Both lists have numbers of p.word_bytes, 4 or 8.
void invert_order(const context& ctx, const char* operation, const primitives::split_problem& p, const std::byte* order,
                  void* scatter_index, std::byte* scratch);

}  // namespace sheaf::cuda
