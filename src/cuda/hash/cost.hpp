#pragma once

#include "cuda/hash/slot_index.hpp"

// What builds and searches cost. The unit of work is a probe: its key is read, one sector of the index, and an answer
// written.
namespace sheaf::cuda {

/// Adds all steps of a build whose sort takes so long.
void price_build(const primitives::hash_build_problem& problem, slot_form form, double sort_seconds,
                 const machine& machine, plan::planned& plan);
/// Adds all steps of a build from partitions. That of keys of which many share a hash's leading bits takes as long and
/// then the build by a sort, which a plan cannot know.
void price_partitioned_build(const primitives::hash_build_problem& problem, slot_form form, const machine& machine,
                             plan::planned& plan);

/// Seconds to read the sectors of so many probes at random from the index, or from a part of it of `footprint` bytes.
double sector_seconds(std::uint64_t probes, std::uint64_t footprint, const machine& machine);
/// Adds reading the rows of keys with several records, where a search has to.
void price_rows(const primitives::hash_search_problem& problem, std::uint64_t parts, const machine& machine,
                plan::planned& plan);
/// Adds steps 3 and 4 of a search for matches: offsets, and record numbers.
void price_matches(const primitives::hash_search_problem& problem, const machine& machine, plan::planned& plan);

/// Bytes of what a look-up leaves for steps 3 and 4, for each probe.
std::uint64_t found_bytes(const primitives::hash_search_problem& problem) noexcept;
/// Bytes that a look-up writes for each probe: found_bytes(), or the answer.
std::uint64_t answer_bytes(const primitives::hash_search_problem& problem) noexcept;

}  // namespace sheaf::cuda
