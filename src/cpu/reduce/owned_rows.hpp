#pragma once

#include "core/scratch_offsets.hpp"
#include "cpu/reduce/kernels.hpp"
#include "cpu/threads/checked_parts.hpp"

// Owner computes: each thread owns a range of the rows of out, and goes over the whole list for the entries that name
// them. These it notes side by side, some thousand at a time, and combines their rows where they lie in out.
namespace sheaf::cpu {

/// The size of a reduction by owners, for plans.
struct owned_shape {
  std::uint64_t entries = 0;
  std::uint64_t slots = 0;
  std::uint64_t in_row_bytes = 0;
  std::uint64_t out_row_bytes = 0;
  /// Rows of a slot that are combined in one go, see rows_per_piece(); as many as there can be if order does not matter
  std::uint64_t piece_rows = ~std::uint64_t{0};
  bool are_numbers = false;  ///< rows of one value each, whose order alone matters
};

/// Owners from which numbers in slots that a core's cache holds are added sooner than by one thread, which has nothing
/// to tell apart. EPYC of family 25, 2^22 values of f32 into 1024 slots, ms: one thread 2.5, two owners 3.4, whose time
/// is 0.9 to look at the list and 2.5 / owners for the rest.
constexpr std::uint64_t least_owners = 4;

/// What a plan decides for combine_by_owners().
struct owned_decision {
  std::uint64_t threads;
  std::uint64_t
      buckets;          ///< ranges of slots in which entries are counted, to see whether a slot can have several pieces
  std::uint64_t shift;  ///< slot >> shift is the bucket
  std::uint64_t pieces;  ///< most pieces that are complete while others follow them; 0 if no slot can have any

  void tell(plan::told& to) const { to.add("threads", threads).add("buckets", buckets).add("pieces", pieces); }
};

owned_decision decide_owners(const owned_shape& shape, const machine& machine);
std::uint64_t owned_scratch_bytes(const owned_shape& shape, const owned_decision& decided);

/// One reduction by owners: kernels.in_place holds of its kernels.
struct owned_reduction {
  const std::byte* in;
  std::uint64_t in_stride;
  index_span list;
  std::byte* out;
  std::uint64_t out_stride;
  std::uint64_t width;
  reduction_kernels kernels;
};

/// Combines all rows into what out holds. Returns the first entry of the list that names no row of out.
first_bad combine_by_owners(const owned_reduction& r, const owned_shape& shape, const owned_decision& decided,
                            std::byte* scratch);

/// A plan of combine_by_owners(), with its decision and its scratch.
plan::planned price_owners(const owned_shape& shape, const primitives::movement& moved, std::uint64_t values_per_row,
                           const machine& machine);

}  // namespace sheaf::cpu
