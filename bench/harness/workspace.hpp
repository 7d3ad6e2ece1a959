#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/records.hpp>
#include <sheaf/scatter_reduce.hpp>
#include <sheaf/split.hpp>

#include "bench/harness/problem.hpp"

namespace sheaf::bench {

/// The arrays of one row at a time, in arenas that live as long as the bench: allocating and first touching
/// gigabytes for every row would take longer than measuring it. What the last row left is used again where it fits.
class workspace {
 public:
  workspace(const context& ctx, std::uint64_t cache_bytes) : ctx_(ctx), cache_bytes_(cache_bytes) {}

  /// Makes room for `copies` of the row's arrays. Call it for every row before the first prepare().
  void reserve(const problem& p, std::uint64_t copies);
  /// Fills sources, index lists and keys, and drives them out of the cache where rotation alone does not.
  void prepare(const problem& p, std::uint64_t copies);

  records source(std::uint64_t copy) const;    ///< a gather's table, a scatter's or split's input, values
  index_span index(std::uint64_t copy) const;  ///< of a gather, scatter or scatter_reduce
  const_records keys(std::uint64_t copy) const;
  records target(std::uint64_t copy) const;
  records sorted_keys(std::uint64_t copy) const;        ///< of a sort of pairs
  index_output target_index(std::uint64_t copy) const;  ///< of a split or sort of numbers
  const_values source_values(std::uint64_t copy) const;
  values target_values(std::uint64_t copy) const;
  /// Room for where categories begin; empty where they are too many to be asked for.
  std::span<std::uint64_t> offsets() const;
  /// Memory for a call's own use, valid until more is asked for; calls of a context share it.
  std::byte* scratch(std::uint64_t bytes) const;

  /// Wipes the target of copy 0, so that no answer is taken for another's.
  void wipe_target() const;
  /// Mistakes in the target of copy 0 and, where they are the row's, in the offsets.
  std::uint64_t count_mismatches(bool with_offsets) const;

 private:
  struct sizes {
    std::uint64_t source = 0;
    std::uint64_t index = 0;
    std::uint64_t target = 0;
    std::uint64_t sorted_keys = 0;
  };
  static sizes sizes_of(const problem& p) noexcept;
  void allocate();
  std::byte* index_data(std::uint64_t copy) const { return indices_.data() + copy * sizes_of(problem_).index; }
  void fill(const problem& p, std::uint64_t copies);
  void evict();

  context ctx_;
  std::uint64_t cache_bytes_;
  sizes most_;
  buffer sources_;
  buffer indices_;
  buffer targets_;
  buffer sorted_keys_;
  buffer offsets_;
  buffer evicting_;
  mutable buffer scratch_;
  problem problem_;
  std::string source_contents_;  ///< what the arenas hold
  std::string index_contents_;
};

/// What reserve() and prepare() take of memory for a row.
std::uint64_t workspace_bytes(const problem& p, std::uint64_t copies) noexcept;

}  // namespace sheaf::bench
