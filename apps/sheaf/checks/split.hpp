#pragma once

#include <optional>

#include <sheaf/split.hpp>

// Checks the answer of a split in host memory against the serial reference. The result describes the first mistake.
namespace sheaf::jobs {

/// Compares stable results record by record; in an unstable one each category must have the records of the reference,
/// in any order. `offsets` are all offsets, or empty.
std::optional<std::string> split_mistake(const_records in, const split_key& key, bool stable, const_records out,
                                         std::span<const std::uint64_t> offsets);

/// Checks a gather index (gathers) or a scatter index.
std::optional<std::string> split_index_mistake(const split_key& key, bool gathers, index_span index,
                                               std::span<const std::uint64_t> offsets);

/// Checks the answer of a multi_split, whose first ascend from 0. `out`, `sources` and `offsets` are all of them, or
/// empty.
std::optional<std::string> multi_split_mistake(const_records in, const membership& of, const_records out,
                                               index_span sources, std::span<const std::uint64_t> offsets);

}  // namespace sheaf::jobs
