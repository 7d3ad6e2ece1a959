#pragma once

#include <cstdint>

namespace sheaf::cpu {

/// The highest of `count` entries of an index list, by vector instructions where the machine has them; 0 of none. A
/// loop that has asked this of a block of entries moves their records without a check of each.
std::uint64_t highest_of(const std::uint32_t* index, std::uint64_t count) noexcept;
std::uint64_t highest_of(const std::uint64_t* index, std::uint64_t count) noexcept;

}  // namespace sheaf::cpu
