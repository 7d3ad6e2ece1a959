#pragma once

#include <cstdint>

#include "lab/description/problem_spec.hpp"

namespace sheaf::jobs {

/// Matches of all probes: as many as there can be where that is known. Where keys and probes both repeat unevenly, it
/// is what one may expect of copy 0, whose probes are as random ones.
std::uint64_t likely_matches(const primitives::problem_spec& p);

/// Record numbers that a generated search has room for. Where likely_matches() is an expectation, this is a quarter
/// more and the records of the most frequent key; a search that finds still more writes as many as there is room for.
std::uint64_t room_for_matches(const primitives::problem_spec& p);

}  // namespace sheaf::jobs
