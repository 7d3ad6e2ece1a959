#pragma once

#include "primitives/sort/contract.hpp"
#include "primitives/split/contract.hpp"

// A split by more than 32 bits is a sort by them. This is what cpu.by_sort and cuda.by_sort share: the sort, which is
// planned with the split and runs as it was planned.
namespace sheaf::primitives {

/// How a backend inverts the order that a sort of record numbers leaves: scatter_index[order[i]] = i. Both lists have
/// numbers of problem.word_bytes, 4 or 8.
struct order_inversion {
  plan::planned (*plan)(const split_problem& problem, const plan::scope& in);
  void (*run)(const context& ctx, const split_problem& problem, const plan::planned& chosen, const std::byte* order,
              void* scatter_index, std::byte* scratch);
};

/// The sort that a split is: of records that hold their key, of other records as values beside their keys, or of record
/// numbers, which are a gather index.
sort_problem sort_of(const split_problem& split);
/// The arrays of that sort. @param order  where record numbers go
sort_buffers sort_buffers_of(const split_problem& split, const split_buffers& buffers, index_output order);

/// Plans the split by the cheapest sort, and the inversion where a scatter index is wanted. Rejects fields of up to 32
/// bits, whose categories have offsets.
plan::planned plan_sorted_split(const split_problem& problem, const plan::scope& in, const order_inversion& inversion);
void run_sorted_split(const context& ctx, const split_problem& problem, const plan::planned& plan,
                      const split_buffers& buffers, const order_inversion& inversion, std::byte* scratch);

}  // namespace sheaf::primitives
