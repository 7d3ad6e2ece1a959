#pragma once

#include "primitives/movement/problem.hpp"

// Cost model of the memory system of a CPU for moving records through an index; the counterpart of
// cuda/movement/memory_cost.hpp. Times come from the machine's profile. The constants of the model are ratios, fitted
// to a Xeon of family 6 model 207 with a profile of its own (docs/experiments/planner.md).
namespace sheaf::cpu {

/// Seconds that a movement keeps each resource busy.
struct memory_cost {
  double sequential = 0;        ///< streaming the index and the sequential side
  double indexed_streamed = 0;  ///< touching the indexed side in order, or for the first time
  double indexed_random = 0;    ///< single accesses to the indexed side
  double overlap_exponent = 1;  ///< how well streaming and single accesses overlap, as in planned::add_overlapped
};

/// Memory cost of a gather, which reads the indexed side, in the order of the list.
memory_cost gather_cost(const primitives::movement& problem, const machine& machine);
/// Memory cost of a scatter, which writes the indexed side, in the order of the list.
memory_cost scatter_cost(const primitives::movement& problem, const machine& machine);

/// A plan whose terms are latency and the memory cost.
plan::planned to_plan(const memory_cost& cost, const machine& machine, bool writes);

/// Adds the price of false sharing to a scatter whose threads stride through one output together. They write into the
/// same lines while their caches hold these: 2 to 12 ns a record, more than all else.
void add_sharing(const primitives::movement& problem, const machine& machine, plan::planned& plan);
/// Adds the price of reading lines before they are written, for a variant that writes records of whole lines through
/// the cache where cpu.direct uses streaming stores.
void add_lines_read(const primitives::movement& problem, const machine& machine, bool writes, plan::planned& plan);

/// Whether prefetching the records that a gather reads pays. For random lists it does from 512 KB on (1.1 to 1.2 times
/// faster), for skewed lists from 256 KB on (1.2 to 1.5 times), unless many records share a line. It does not pay where
/// parallel streams of narrow records leave their lines in the second-level cache (256 streams of 1 and 4 bytes are 1.2
/// to 1.4 times slower; on an EPYC of family 25 they are as fast, and 1000 streams are 1.1 to 1.6 times slower
/// without), nor for narrow records in order (4 bytes: 1.2 times slower on that EPYC), nor where the hardware
/// prefetcher follows whole lines (strides of 64-byte records are 1.2 times slower).
bool prefetches_reads(const primitives::movement& problem) noexcept;
/// Whether prefetching the lines that a scatter writes pays. Written lines may have to come from other threads' caches,
/// so it pays sooner than for reads: 1.5 to 1.7 times faster at random over 512 KB and 1 MB. The hardware follows a few
/// streams, and narrow records in order, without it (4 bytes: 1.3 times faster so on an EPYC of family 25). Thousands
/// of long streams leave no room in the cache for prefetched lines (1.1 to 1.3 times slower).
bool prefetches_writes(const primitives::movement& problem) noexcept;

}  // namespace sheaf::cpu
