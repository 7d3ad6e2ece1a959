#pragma once

#include <cstdint>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

namespace sheaf::jobs {

/// Counts the records of out that differ from a scatter with duplicates::last of fill_records(in_seed) by the list,
/// into an output that was fill_records(out_seed). Runs on the host; the list has fewer than 2^32 entries. It is read,
/// and not made again, because a device rounds the logarithms of a Zipf pattern in its own way.
std::uint64_t count_last_writer_mismatches(const context& ctx, const_records out, index_span list,
                                           std::uint64_t in_seed, std::uint64_t out_seed);

}  // namespace sheaf::jobs
