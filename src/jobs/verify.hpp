#pragma once

#include <cstdint>
#include <optional>

#include <sheaf/records.hpp>
#include <sheaf/scatter.hpp>

// Answers in host memory, checked against the serial reference.
namespace sheaf::jobs {

/// The first record of `out` that is not what gather gives. Bad indices expect zero bytes.
std::optional<std::uint64_t> first_gather_difference(const_records table, index_span index, const_records out);

/// The first record of `out` that is not what scatter gives over records that were `before`; a null `before` means zero
/// bytes. With duplicates::any a record that several entries name may be that of any of them, and each byte of a record
/// over 16 bytes may. Every stride is the records' width.
std::optional<std::uint64_t> first_scatter_difference(const_records in, index_span index, const_records out,
                                                      const std::byte* before, duplicates repeats);

}  // namespace sheaf::jobs
