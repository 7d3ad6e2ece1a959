#pragma once

#include "core/scratch_offsets.hpp"
#include "cuda/edges/functions.hpp"

// The edges of each node, list after list, by a stable sort of their ends; such lists in rows; and sums over either.
namespace sheaf::cuda {

/// Whose lists an edge is in: its first end's, its second end's, or both ends'.
enum class listed_ends : std::uint8_t { first, second, both };

/// Why lists cannot be made; null if they can.
const char* list_rejection(const primitives::edge_sum_problem& problem) noexcept;

/// Scratch in which lists are made.
struct list_scratch {
  std::uint64_t count;  ///< entries of all lists
  std::uint32_t* keys;
  uint2* entries;
  std::byte* passes;

  list_scratch(const primitives::edge_sum_problem& problem, listed_ends ends, core::scratch_arrays& arrays);
};

/// Where lists go, in device memory.
struct list_outputs {
  edge_kernels::list_entry* entries;  ///< of all lists; those of edges with a bad end lie behind the last list
  std::uint64_t* begins;              ///< where lists begin: one more than there are nodes
};

/// Queues the lists, in the order of the edges; of an edge in both ends' lists, its first end comes first. With
/// `place` nodes are called by their place. Edges that have a bad end are noted and left out.
void queue_lists(const context& ctx, const primitives::edge_sum_problem& problem, const edge_kernels::end_arrays& edges,
                 listed_ends ends, const std::uint32_t* place, const list_scratch& scratch, const list_outputs& to,
                 unsigned long long* first_bad);

/// Whether runs sum lists in rows: lists that are short in the mean.
bool suits_rows(const primitives::edge_sum_problem& problem) noexcept;

/// Where lists in rows go, in device memory.
struct row_outputs {
  std::uint32_t* others;   ///< as many as entries
  std::uint32_t* edges;    ///< beside them, the edges' numbers; null: not written
  std::uint64_t* begins;   ///< one more than there are nodes
  std::uint32_t* longest;  ///< length of the longest list, if it is long
};

/// Queues the same lists in rows.
void queue_rows(const context& ctx, const list_outputs& lists, std::uint64_t nodes, const row_outputs& to);

/// Queues *longest = the length of the longest list.
void queue_longest(const context& ctx, const std::uint64_t* begins, std::uint64_t nodes, unsigned long long* longest);

/// Adds what queue_lists takes to a plan.
void add_list_cost(const primitives::edge_sum_problem& problem, listed_ends ends, const machine& machine,
                   plan::planned& plan);

/// Adds what queue_rows takes to a plan.
void add_row_cost(const primitives::edge_sum_problem& problem, std::uint64_t entries, const machine& machine,
                  plan::planned& plan);

/// Bytes of the sums of long lists' pieces.
std::uint64_t piece_sum_bytes(const primitives::edge_sum_problem& problem, std::uint64_t entries) noexcept;
/// Lanes that sum a list.
std::uint32_t lanes_of_list(const primitives::edge_sum_problem& problem, std::uint64_t entries) noexcept;
/// Seconds to sum over lists of so many entries.
double list_sum_seconds(const primitives::edge_sum_problem& problem, std::uint64_t entries, const machine& machine);
/// Seconds to sum over lists in rows, which name edges or have their weights beside them.
double row_sum_seconds(const primitives::edge_sum_problem& problem, const machine& machine,
                       bool has_weights_in_rows = false);
/// Queues the sums over lists.
void queue_list_sums(const context& ctx, const edge_sum_kernels& kernels, const edge_kernels::list_arguments& lists);

}  // namespace sheaf::cuda
