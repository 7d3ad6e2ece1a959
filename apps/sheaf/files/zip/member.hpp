#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "apps/sheaf/files/zip/directory.hpp"

namespace sheaf::io {

/// Whether the member's bytes lie in the archive as they are.
bool is_stored(const zip_member& member) noexcept;

/// Where the bytes of a member begin, behind a header of its own, which has to agree with the directory.
/// @throws error(bad_input) for a header that does not, an encrypted member, one that is neither stored nor deflated,
/// and sizes that the method cannot make of the bytes that are there
std::uint64_t find_member(const zip_bytes& archive, const zip_member& member);

/// Reads a stored member once. @param offset  where it begins
/// @throws error(bad_input) if its checksum is wrong
void check_stored(const zip_bytes& archive, const zip_member& member, std::uint64_t offset);

/// Inflates a deflated member, and calls `take` with its bytes in order, a piece at a time. No piece goes past the
/// bytes that the directory announces. @param offset  where it begins
/// @throws error(bad_input) for data that are damaged, or make more bytes or fewer, or whose checksum is wrong
void inflate_member(const zip_bytes& archive, const zip_member& member, std::uint64_t offset,
                    const std::function<void(std::span<const std::byte>)>& take);

}  // namespace sheaf::io
