#pragma once

#include <cstdint>

namespace sheaf::core {

/// How many times a process has been forked from another, from the one that made the first call on: 0 there, 1 in its
/// children, 2 in theirs. A child has neither its parent's threads nor what a driver keeps for the parent, so a context
/// that remembers another number than this one is unusable if it needs them.
std::uint32_t forks_so_far() noexcept;

}  // namespace sheaf::core
