#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <sheaf/records.hpp>
#include <sheaf/split.hpp>

// Answers of a split in host memory, checked against the serial reference. A mistake is said in words.
namespace sheaf::jobs {

/// Stable results are compared record by record; of others each category must have the reference's records, in any
/// order. No offsets, or all.
std::optional<std::string> split_mistake(const_records in, const split_key& key, bool stable, const_records out,
                                         std::span<const std::uint64_t> offsets);

/// A gather index, or a scatter index.
std::optional<std::string> split_index_mistake(const split_key& key, bool gathers, index_span index,
                                               std::span<const std::uint64_t> offsets);

}  // namespace sheaf::jobs
