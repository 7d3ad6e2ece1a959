#pragma once

#include <cstdint>

#include <sheaf/context.hpp>

#include "cuda/split/passes.hpp"

// Bad keys of a split whose passes cannot leave their records out: they are counted and reported beforehand, sorted
// behind all others, and the end of the output, which their records come to, is put back as it was.
namespace sheaf::cuda {

/// Queues *bad = the number of keys, words of 1, 2 or 4 bytes side by side, that are no category; reports the first.
void count_bad_keys(const context& ctx, const key_array& keys, std::uint64_t count, unsigned long long* bad);

/// Queues to[i] = from[i] for the last *bad of `count` words of 4 or 8 bytes.
void copy_tail(const context& ctx, const void* from, void* to, std::uint32_t word_bytes, std::uint64_t count,
               const unsigned long long* bad);
/// Queues to[i] = all ones for the last *bad of `count` words of 4 or 8 bytes.
void clear_tail(const context& ctx, void* to, std::uint32_t word_bytes, std::uint64_t count,
                const unsigned long long* bad);

}  // namespace sheaf::cuda
