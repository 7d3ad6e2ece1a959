#pragma once

#include <cstdint>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "inputs/pattern.hpp"

namespace sheaf::jobs {

/// Counts the records of out that differ from a scatter with duplicates::last of fill_records(in_seed) by `count`
/// entries of the pattern, into an output that was fill_records(out_seed). Runs on the host; count < 2^32.
std::uint64_t count_last_writer_mismatches(const context& ctx, const_records out, const inputs::pattern& p,
                                           std::uint64_t count, std::uint64_t in_seed, std::uint64_t out_seed);

}  // namespace sheaf::jobs
