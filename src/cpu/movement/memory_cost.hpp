#pragma once

#include <sheaf/machine_profile.hpp>

#include "plan/variant.hpp"
#include "primitives/movement.hpp"

// What moving records through an index costs the memory system of a CPU: the counterpart of cuda/traffic.hpp. The
// constants were fitted to a Xeon of family 6 model 207 with a profile of its own (docs/experiments.md), and are
// ratios; times come from the profile.
namespace sheaf::cpu {

/// Seconds that a movement keeps each resource busy.
struct memory_cost {
  double near = 0;              ///< index and near side, in order
  double far = 0;               ///< the far side, where it is touched in order or for the first time
  double access = 0;            ///< far accesses one by one
  double overlap_exponent = 1;  ///< how well these overlap, as in planned::add_overlapped
};

/// The memory_cost of a gather's or scatter's accesses, whichever variant makes them.
memory_cost reads_of(const primitives::movement& p, const machine& m);
memory_cost writes_of(const primitives::movement& p, const machine& m);

/// Latency and memory_cost as a plan's terms.
plan::planned priced(const memory_cost& t, const machine& m, bool writes);

/// What a scatter pays whose threads sweep over the output side by side and write between each other's records, into
/// the same lines, while their caches hold these: 2 to 12 ns a record, more than all else.
void add_sharing(const primitives::movement& p, const machine& m, plan::planned& plan);
/// What a variant pays that writes whole lines through the cache where cpu.direct streams them past it.
void add_lines_read(const primitives::movement& p, const machine& m, bool writes, plan::planned& plan);

/// Whether asking ahead for lines that are read pays. At random it does from 512 KB on (1.1 to 1.2 times faster, in a
/// skewed order 1.2 to 1.5 times from 256 KB on), unless many records share a line; not where streams of narrow records
/// side by side leave lines in the second cache (1.2 to 1.4 times slower with 256 streams of 1 and 4 bytes), nor where
/// the machine sees by itself which whole lines follow (1.2 times slower in strides of 64-byte records).
bool reads_ahead(const primitives::movement& p) noexcept;
/// The same for lines that are written. They have to be had from other threads too, so it pays sooner: 1.5 to 1.7 times
/// faster at random over 512 KB and 1 MB. A few streams, and single bytes in order, are followed without it; thousands
/// of streams leave no room for it once they are long (1.1 to 1.3 times slower).
bool writes_ahead(const primitives::movement& p) noexcept;

}  // namespace sheaf::cpu
