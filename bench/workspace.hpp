#pragma once

#include <cstdint>

#include <sheaf/context.hpp>
#include <sheaf/memory.hpp>
#include <sheaf/records.hpp>

#include "problem.hpp"

namespace sheaf::bench {

/// The arrays of one row at a time, in three arenas that live as long as the bench: allocating and first touching
/// gigabytes for every row would take longer than measuring it. What the last row left is used again where it fits.
class workspace {
 public:
  workspace(const context& ctx, std::uint64_t cache_bytes) : ctx_(ctx), cache_bytes_(cache_bytes) {}

  /// Makes room for `copies` of the row's arrays. Call it for every row before the first prepare().
  void reserve(const problem& p, std::uint64_t copies);
  /// Fills index lists and sources, and drives them out of the cache where rotation alone does not.
  void prepare(const problem& p, std::uint64_t copies);

  const_records source(std::uint64_t copy) const;  ///< a gather's table, a scatter's input
  index_span index(std::uint64_t copy) const;
  records target(std::uint64_t copy) const;

  /// Wipes the target of copy 0, so that no answer is taken for another's.
  void wipe_target() const;
  /// Wrong records in the target of copy 0.
  std::uint64_t count_mismatches() const;

 private:
  struct sizes {
    std::uint64_t source = 0;
    std::uint64_t index = 0;
    std::uint64_t target = 0;
  };
  static sizes sizes_of(const problem& p) noexcept;
  void allocate();
  void fill_sources(const problem& p, std::uint64_t copies);
  void fill_indices(const problem& p, std::uint64_t copies);
  void evict();

  context ctx_;
  std::uint64_t cache_bytes_;
  sizes most_;
  buffer sources_;
  buffer indices_;
  buffer targets_;
  buffer evicting_;
  problem problem_;
  std::uint64_t copies_ = 0;
};

/// What reserve() and prepare() take of memory for a row.
std::uint64_t workspace_bytes(const problem& p, std::uint64_t copies) noexcept;

}  // namespace sheaf::bench
