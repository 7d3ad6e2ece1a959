#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "cuda/split/passes.hpp"
#include "primitives/split/contract.hpp"

// What cuda.stable and cuda.unordered share before the first kernel: which split problems passes over words can take,
// and the pass that a problem describes.
namespace sheaf::cuda {

/// Why no pass over words can run the problem; null if one can.
const char* word_pass_rejection(const primitives::split_problem& p);

/// The problem as one pass over all categories.
split_pass word_pass_of(const primitives::split_problem& p, const primitives::split_buffers& b);

/// Queues the zero offsets of an empty list; returns whether the list is empty.
bool split_empty_list(const context& ctx, const primitives::split_problem& p, const primitives::split_buffers& b);

}  // namespace sheaf::cuda
