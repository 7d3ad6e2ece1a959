#pragma once

#include "cuda/edges/bucket_lists.hpp"

// The phases of queue_bucket_lists, in the order in which it queues them, and what they agree on.
namespace sheaf::cuda {

// Placing: 256 threads with 32 edges each. Ranks are stable, by ballots in a warp and by counters of its own; atomics
// on the block's counters took 0.41 ms where this takes 0.34 (H200, 2.9 x 10^7 edges in order).
constexpr unsigned place_threads = 256;
constexpr int place_items = 32;
constexpr std::uint32_t tile_edges = place_threads * place_items;
constexpr std::uint32_t tile_ends = 2 * tile_edges;
constexpr int bucket_number_bits = 12;
constexpr std::uint32_t most_node_buckets = 1U << bucket_number_bits;

// Listing: with blocks of 1024 threads a whole call takes 1.02 ms, with blocks of 512 and half the nodes 1.09 (H200,
// 2.9 x 10^7 edges in order).
constexpr unsigned list_threads = 1024;
/// Entries of a part's lists in shared memory, by the words that an entry carries. Tables of tiles take what is left.
constexpr std::uint32_t list_capacity(std::uint32_t carried) {
  constexpr std::uint32_t capacities[] = {36 * 1024, 18 * 1024, 16 * 1024};
  return capacities[carried];
}
/// And those that are aimed at.
constexpr std::uint32_t usual_entries(std::uint32_t carried) {
  constexpr std::uint32_t usual[] = {30 * 1024, 15 * 1024, 29 * 512};
  return usual[carried];
}
constexpr std::uint32_t most_carried = 2;
constexpr std::uint32_t most_part_bits = 11;
constexpr std::uint32_t least_part_bits = 5;
constexpr std::uint32_t most_log2_parts = 3;  ///< of a bucket

// Long parts.
constexpr unsigned chunk_threads = 256;
constexpr std::uint32_t chunk_warps = chunk_threads / 32;
constexpr std::uint32_t chunks_of_long_parts = 1024;  ///< of all together, if there are no more of these

/// Tiles that a warp looks at at once as it walks the ends of a bucket.
constexpr std::uint32_t group_tiles = 32;

/// Shared memory of a block that places ends: the ends in order, and where each bucket's begin. Counters of warps lie
/// where the ends come to lie.
constexpr std::size_t place_bytes(std::uint32_t buckets) {
  return tile_ends * (sizeof(std::uint32_t) + sizeof(std::uint16_t)) + buckets * sizeof(std::uint32_t);
}
static_assert(place_threads / 32 * most_node_buckets * sizeof(std::uint16_t) <= place_bytes(0));

/// Words of shared memory that say where groups of so many tiles begin.
constexpr std::size_t group_words(std::uint32_t tiles) { return (tiles + group_tiles - 1) / group_tiles + 1; }

/// Shared memory of a block that lists parts.
constexpr std::size_t list_bytes(const bucket_cut& cut) {
  return ((1 + cut.carried) * list_capacity(cut.carried) + (std::size_t{1} << cut.part_bits) + group_words(cut.tiles)) *
         sizeof(std::uint32_t);
}

/// What kernels of lists get.
struct list_kernel_arguments {
  bucket_cut cut;
  bucket_scratch from;
  row_outputs to;
  std::uint64_t nodes;
};

/// Queues the ends of each tile of edges in the order of their buckets, and where each bucket's begin there. Edges that
/// have a bad end are noted and left out.
/// @param weights  words of all edges; null: their numbers are carried, where anything is
void queue_placed_ends(const context& ctx, const edge_kernels::end_arrays& edges, const void* weights,
                       const bucket_cut& cut, const bucket_scratch& scratch, unsigned long long* first_bad);
/// Queues the tiles' table bucket by bucket, and where the lists of each bucket begin.
void queue_bucket_begins(const context& ctx, const bucket_cut& cut, const bucket_scratch& scratch);
/// Queues the lists of all parts that fit shared memory, and notes the others.
void queue_short_parts(const context& ctx, const list_kernel_arguments& args);
/// Queues the lists of the others. The kernels end at once where there are none.
void queue_long_parts(const context& ctx, const list_kernel_arguments& args);

}  // namespace sheaf::cuda
