#pragma once

#include "primitives/sparse/spmv.hpp"

// The seconds that transposed products take to add up terms by atomics.
namespace sheaf::cuda {

/// Shares are fitted to the times of one H200 (docs/experiments/sparse.md, the prices of atomics).
struct atomic_sums_tuning {
  /// A sum in shared memory takes as long as so many bytes of a copy (reduce/atomic.cu).
  double private_sum_bytes = 24;
  /// Of the time of atomics at random with nothing else in the cache. The matrix, which streams past, displaces sums as
  /// if they took so many times their bytes.
  double random_share = 1.25;
  double random_bytes = 1.2;
  /// Neighbouring lanes have neighbouring columns in bands and grids, and one atomic of a warp takes as long as the
  /// sectors that it names: for each byte of a sum.
  double side_by_side_share = 0.087;
  /// Columns that come often are added up in shared memory first, all others lie anywhere.
  double hot_share = 1.2;
  /// Where nothing is said of the columns: between bands and web graphs, which differ by six times.
  double usual_share = 1.0;
};
constexpr atomic_sums_tuning tuning_of_atomic_sums;

/// Every entry is added to its column's sum in memory.
inline double atomic_sums_seconds(const primitives::spmv_problem& p, const machine& m) noexcept {
  using kind = access_pattern::kind;
  const std::uint64_t bytes = p.columns * p.sum_bytes();
  const auto added_in = [&](std::uint64_t window) { return m.atomic_adds(p.entries, p.sum_bytes(), window); };
  const std::uint64_t in_cache = std::min(bytes, m.cache_bytes / 4 + 1);
  switch (p.pattern.shape) {
    case kind::unknown: return tuning_of_atomic_sums.usual_share * added_in(in_cache);
    case kind::sequential:
    case kind::clustered:
      return tuning_of_atomic_sums.side_by_side_share * static_cast<double>(p.sum_bytes()) * added_in(in_cache);
    case kind::skewed:
    case kind::repeated: return tuning_of_atomic_sums.hot_share * added_in(in_cache);
    default: {
      const double displaced = tuning_of_atomic_sums.random_bytes * static_cast<double>(bytes);
      return tuning_of_atomic_sums.random_share * added_in(static_cast<std::uint64_t>(displaced));
    }
  }
}

/// Every entry is added to a sum in shared memory.
inline double private_sums_seconds(const primitives::spmv_problem& p, const machine& m) noexcept {
  return static_cast<double>(p.entries) * tuning_of_atomic_sums.private_sum_bytes / m.copy_bytes_per_second;
}

}  // namespace sheaf::cuda
