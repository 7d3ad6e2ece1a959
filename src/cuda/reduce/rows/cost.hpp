#pragma once

#include <sheaf/machine_profile.hpp>

#include "primitives/reduce/rows.hpp"

// What reductions of rows cost.
namespace sheaf::cuda {

/// Seconds to read `count` rows of so many bytes at random places of `footprint` bytes.
double rows_read_seconds(std::uint64_t count, std::uint64_t row_bytes, std::uint64_t footprint, const machine& m);
/// Seconds to write rows of out, and to read them first where `reads_out`.
double rows_written_seconds(std::uint64_t count, std::uint64_t row_bytes, bool reads_out, const machine& m);

}  // namespace sheaf::cuda
