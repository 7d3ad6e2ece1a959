#pragma once

#include "lab/description/arrays.hpp"
#include "lab/harness/problem.hpp"

namespace sheaf::bench {

/// The arrays of one row at a time, evicted from the cache before the row is timed, and scratch memory of peers.
class workspace {
 public:
  workspace(const context& ctx, std::uint64_t cache_bytes) : ctx_(ctx), cache_bytes_(cache_bytes), arrays_(ctx) {}

  /// Makes the buffers large enough for `copies` of the row's arrays. Call it for every row before the first prepare().
  void reserve(const problem& p, std::uint64_t copies) { arrays_.reserve(p, copies); }
  /// Gives back all buffers. What rows have of them is no longer valid.
  void release();
  /// Fills sources, index lists and keys. Evicts them from the cache where rotating among copies does not.
  void prepare(const problem& problem, std::uint64_t copies);

  jobs::array_set all(std::uint64_t copy) const { return arrays_.of_copy(copy); }
  /// Arrays by the place that a job gives them.
  records at(std::uint64_t copy, std::size_t place) const { return arrays_.at(copy, place); }
  records source(std::uint64_t copy) const { return at(copy, jobs::places::source); }
  index_span index(std::uint64_t copy) const;
  const_records keys(std::uint64_t copy) const { return at(copy, jobs::places::index); }
  records target(std::uint64_t copy) const { return at(copy, jobs::places::target); }
  records sorted_keys(std::uint64_t copy) const { return at(copy, jobs::places::sorted_keys); }
  /// Scratch memory that the calls of a context share. It is valid until a call asks for more.
  std::byte* scratch(std::uint64_t bytes) const;

  void reset_outputs() const { arrays_.reset_outputs(); }
  std::uint64_t count_mistakes(bool with_side_outputs) const { return arrays_.count_mistakes(with_side_outputs); }

 private:
  void evict();

  context ctx_;
  std::uint64_t cache_bytes_;
  jobs::problem_arrays arrays_;
  problem problem_;
  buffer evicting_;
  mutable buffer scratch_;
};

}  // namespace sheaf::bench
