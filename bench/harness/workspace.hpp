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

/// The arrays of one row at a time. They lie in buffers that live as long as the run, because allocating gigabytes and
/// touching them first would take longer than measuring a row. Contents that the next row needs too are kept.
class workspace {
 public:
  workspace(const context& ctx, std::uint64_t cache_bytes) : ctx_(ctx), cache_bytes_(cache_bytes) {}

  /// Makes the buffers large enough for `copies` of the row's arrays. Call it for every row before the first prepare().
  void reserve(const problem& p, std::uint64_t copies);
  /// Fills sources, index lists and keys. Evicts them from the cache where rotating among copies does not.
  void prepare(const problem& p, std::uint64_t copies);

  records source(std::uint64_t copy) const;    ///< table of a gather; input of a scatter, split or sort; values to add
  index_span index(std::uint64_t copy) const;  ///< index list of a gather, scatter or scatter_reduce
  const_records keys(std::uint64_t copy) const;
  records target(std::uint64_t copy) const;
  records sorted_keys(std::uint64_t copy) const;        ///< key output of a sort of pairs
  index_output target_index(std::uint64_t copy) const;  ///< output of a split or sort that writes record numbers
  const_values source_values(std::uint64_t copy) const;
  values target_values(std::uint64_t copy) const;
  /// Output for the offsets of the categories; empty for splits by more than 20 bits.
  std::span<std::uint64_t> offsets() const;
  /// Scratch memory that the calls of a context share. It is valid until a call asks for more.
  std::byte* scratch(std::uint64_t bytes) const;

  /// Overwrites the target of copy 0, so that the answer of an earlier call cannot pass for this one's.
  void wipe_target() const;
  /// Mistakes in the target of copy 0 and, if asked for, in the offsets.
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
  std::string source_contents_;  ///< what sources_ holds now, in words
  std::string index_contents_;
};

/// Bytes that reserve() and prepare() take for a row.
std::uint64_t workspace_bytes(const problem& p, std::uint64_t copies) noexcept;

}  // namespace sheaf::bench
