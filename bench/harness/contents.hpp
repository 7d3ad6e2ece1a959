#pragma once

#include <cstdint>
#include <string>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "bench/harness/problem.hpp"

// Fills the arrays of a row and checks its answer. Index lists and keys differ from copy to copy.
namespace sheaf::bench {

/// Number of items of an array, and bytes of an item.
struct array_shape {
  std::uint64_t count = 0;
  std::uint64_t item_bytes = 0;
  std::uint64_t bytes() const noexcept { return count * item_bytes; }
};

/// source: table, records or values; for a split of record numbers, memory that its check works in.
/// index: index list, or keys in an array of their own.
/// target: output. sorted_keys: key output of a sort of pairs.
struct array_shapes {
  array_shape source;
  array_shape index;
  array_shape target;
  array_shape sorted_keys = {};
};

array_shapes shapes_of(const problem& p) noexcept;

/// Why an answer could not be checked, or empty. A record whose key is in another array is identified by the record
/// number that it holds, and has to be wide enough for that.
std::string unchecked(const problem& p);

/// Descriptions that are equal for two rows if their arrays have equal contents.
std::string source_contents(const problem& p);
std::string index_contents(const problem& p);

void fill_source(const context& ctx, const problem& p, std::uint64_t copy, records source);
void fill_index(const context& ctx, const problem& p, std::uint64_t copy, records index);
/// Fills the target with contents that no answer has; for a scatter_reduce, with the values before the sums.
void wipe_target(const context& ctx, const problem& p, records target);
/// The arrays of an answer; offsets is null where they were not asked for.
struct answer {
  records target;
  records sorted_keys;
  const std::uint64_t* offsets = nullptr;
};

/// Number of mistakes in the answer of copy 0. The unit varies (words, records, neighbours out of order), so only 0 has
/// a meaning. The check of a split of record numbers overwrites the source.
std::uint64_t count_mismatches(const context& ctx, const problem& p, records source, const answer& found);

}  // namespace sheaf::bench
