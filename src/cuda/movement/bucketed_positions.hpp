#pragma once

#include "primitives/movement/scatter.hpp"

namespace sheaf::cuda {

/// A scatter of the positions 0, 1, 2, ... by cuda.bucketed, which makes them instead of reading records: it inverts a
/// permutation of 4-byte numbers. Defined in scatter_bucketed.cu.
class bucketed_positions {
 public:
  /// Plans it. `pattern` is what is known of the list.
  bucketed_positions(std::uint64_t count, access_pattern pattern, const plan::scope& in);

  const plan::planned& plan() const noexcept { return plan_; }
  /// If plan() is applicable, queues out[index[i]] = i for every i below count; indices from count on are left out.
  void scatter(const context& ctx, const std::uint32_t* index, std::uint32_t* out, std::byte* scratch) const;

 private:
  primitives::scatter_problem problem_;
  plan::planned plan_;
};

}  // namespace sheaf::cuda
