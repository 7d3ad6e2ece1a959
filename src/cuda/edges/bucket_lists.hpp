#pragma once

#include "cuda/edges/lists.hpp"

// The edges of each node in rows (list_arguments), by buckets of nodes: ends are brought into the order of their
// buckets tile by tile, and a block lists the ends of a part of a bucket in shared memory. Where edges have weights,
// lists carry them, or, where they are wider than 8 bytes, the edges' numbers.
namespace sheaf::cuda {

/// How nodes and edges are cut.
struct bucket_cut {
  std::uint32_t part_bits = 0;    ///< log2 of the nodes whose lists a block makes
  std::uint32_t bucket_bits = 0;  ///< log2 of the nodes of a bucket, which is one part or several
  std::uint32_t buckets = 0;
  std::uint32_t tiles = 0;       ///< of edges
  std::uint32_t row = 0;         ///< entries of the table for a tile
  std::uint32_t turned_row = 0;  ///< of the turned table for a bucket
  std::uint32_t long_parts = 0;  ///< most parts that have more ends than shared memory holds
  std::uint32_t carried = 0;     ///< words of 4 bytes that lists carry beside each other end
  bool carries_weights = false;  ///< these are the weights of its edge; else, where there are words, its number

  bucket_cut() = default;
  explicit bucket_cut(const primitives::edge_sum_problem& problem) noexcept;

  constexpr std::uint32_t part_nodes() const noexcept { return 1U << part_bits; }
  constexpr std::uint32_t parts() const noexcept { return buckets << (bucket_bits - part_bits); }
  void tell(plan::told& to) const;
};

/// Why lists cannot be made by buckets; null if they can.
const char* bucket_rejection(const primitives::edge_sum_problem& problem, const bucket_cut& cut,
                             const plan::scope& in) noexcept;

/// Scratch in which lists are made.
struct bucket_scratch {
  std::uint32_t* others;   ///< other ends of the tiles' ends, in the order of their buckets
  std::uint16_t* locals;   ///< beside them, the ends' numbers in their buckets
  std::uint32_t* carried;  ///< and what lists carry: the first words of all, then the second ones
  std::uint16_t* table;    ///< where each tile's ends of each bucket begin
  std::uint16_t* turned;   ///< the same, bucket by bucket
  std::uint32_t* begins;   ///< where the lists of each bucket begin
  /// The number of parts that have more ends than shared memory holds; behind it, of each, its own number and where its
  /// lists begin.
  std::uint32_t* long_part;
  std::uint32_t* part_counts;  ///< ends of each of their nodes in each of their chunks

  bucket_scratch(const bucket_cut& cut, core::scratch_arrays& arrays);
};

/// Queues the lists of both ends. That of a node has the edges from it and then those to it, each in the order of the
/// nodes at the other ends, and then of the bits that are carried; where a part has more ends than shared memory holds,
/// it has all in the order of the tiles. Edges that have a bad end are noted and left out.
/// @param weights  of the edges; null where none are carried
/// @param to       its `edges` take the words that are carried, those of an entry side by side
void queue_bucket_lists(const context& ctx, const primitives::edge_sum_problem& problem,
                        const edge_kernels::end_arrays& edges, const void* weights, const bucket_cut& cut,
                        const bucket_scratch& scratch, const row_outputs& to, unsigned long long* first_bad);

/// Adds what queue_bucket_lists takes to a plan.
void add_bucket_list_cost(const primitives::edge_sum_problem& problem, const bucket_cut& cut, const machine& machine,
                          plan::planned& plan);

}  // namespace sheaf::cuda
