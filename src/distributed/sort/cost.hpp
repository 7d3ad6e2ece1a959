#pragma once

#include <sheaf/sort.hpp>

#include "distributed/cost.hpp"

namespace sheaf::distributed {

/// A sort or a split of rows that lie on ranks in equal parts.
struct sort_shape {
  std::uint64_t rows = 0;  ///< of all ranks
  std::uint64_t row_bytes = 0;
  std::vector<std::uint64_t> value_bytes = {};  ///< of arrays of values
  sort_key key;                                 ///< of a split the bits of its category

  std::uint64_t moved_bytes() const noexcept;  ///< of a row with its values
};

/// What the steps of a sort take on one rank alone.
struct sort_steps {
  std::function<double(std::uint64_t rows, std::uint32_t bits)> sort;  ///< by the highest bits of the key
  std::function<double(std::uint64_t rows)> pass;  ///< a reading of keys that counts them; where ranks are no devices
  std::function<double(std::uint64_t bytes)> stream;  ///< a copy that reads half of them and writes half; of devices
};
/// As the planner predicts them for a context.
sort_steps planned_steps(const context& ctx, const sort_shape& of);

/// What a sort takes.
call_cost sort_cost(const sort_shape& of, int ranks, const limits& bounds, const sort_steps& on_one,
                    const link_rates& link);
double sort_seconds(const context& ctx, const sort_shape& of, int ranks, const link_rates& link);

/// Bytes of rows that a rank sends to others, and takes.
double sent_bytes(const sort_shape& of, int ranks) noexcept;

}  // namespace sheaf::distributed
