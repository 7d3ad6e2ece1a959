#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf::cpu {

/// Least bytes of copy_wide().
constexpr std::uint64_t least_wide_bytes = 256;

/// Copies a record of at least least_wide_bytes to where nothing of it lies.
void copy_wide(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept;

}  // namespace sheaf::cpu
