#pragma once

#include <cstdint>
#include <optional>

#include <sheaf/records.hpp>
#include <sheaf/scatter.hpp>

// Checks answers in host memory against the serial reference.
namespace sheaf::jobs {

/// The first record of `out` that differs from the gather. Bad indices expect zero bytes.
std::optional<std::uint64_t> first_gather_difference(const_records table, index_span index, const_records out);

/// The first record of `out` that differs from the scatter into records that were `before`; a null `before` means zero
/// bytes. With duplicates::any, a record that several entries name may come from any of them, and in records over 16
/// bytes each byte may. Every stride is the width of the records.
std::optional<std::uint64_t> first_scatter_difference(const_records in, index_span index, const_records out,
                                                      const std::byte* before, duplicates repeats);

}  // namespace sheaf::jobs
