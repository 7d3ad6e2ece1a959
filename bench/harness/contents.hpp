#pragma once

#include <cstdint>
#include <string>

#include <sheaf/context.hpp>
#include <sheaf/records.hpp>

#include "bench/harness/problem.hpp"

// What the arrays of a row hold, and whether its answer is right. Index lists and keys differ from copy to copy.
namespace sheaf::bench {

/// Items of an array and bytes of each.
struct array_shape {
  std::uint64_t count = 0;
  std::uint64_t item_bytes = 0;
  std::uint64_t bytes() const noexcept { return count * item_bytes; }
};

/// source: a gather's table, records, values; of a split of numbers, room to check its answer.
/// index: the index list, or keys apart. target: what is written; sorted_keys: keys apart that are written too.
struct array_shapes {
  array_shape source;
  array_shape index;
  array_shape target;
  array_shape sorted_keys = {};
};

array_shapes shapes_of(const problem& p) noexcept;

/// Why an answer could not be checked, or empty: a split's records with keys apart, and all that a sort moves along
/// with keys, are known by the number in them.
std::string unchecked(const problem& p);

/// What two rows whose arrays hold the same have in common.
std::string source_contents(const problem& p);
std::string index_contents(const problem& p);

void fill_source(const context& ctx, const problem& p, std::uint64_t copy, records source);
void fill_index(const context& ctx, const problem& p, std::uint64_t copy, records index);
/// What no answer looks like; of a scatter_reduce, what values are added to.
void wipe_target(const context& ctx, const problem& p, records target);
/// What an answer is made of. offsets null: not asked for.
struct answer {
  records target;
  records sorted_keys;
  const std::uint64_t* offsets = nullptr;
};

/// Mistakes in the answer of copy 0; counts in words, records or pairs of neighbours, so that only 0 has a meaning.
/// The source is room to work in where it holds nothing.
std::uint64_t count_mismatches(const context& ctx, const problem& p, records source, const answer& found);

}  // namespace sheaf::bench
