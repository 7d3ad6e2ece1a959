#pragma once

#include "distributed/cost.hpp"

namespace sheaf::distributed {

/// A square matrix of f64 whose rows lie on ranks in equal parts.
struct system_shape {
  std::uint64_t rows = 0;     ///< of all ranks
  std::uint64_t entries = 0;  ///< of all ranks
  std::uint64_t halo = 0;     ///< values of x that a rank takes of others, at most; spmv_preparation::halo
  bool is_prepared = true;    ///< else a product prepares first, as a call of spmv() does
};

/// What the steps take on one rank alone: on so many rows whose columns are all its own, by the variants that ranks
/// take.
struct system_steps {
  double product = 0;     ///< prepared
  double iteration = 0;   ///< of conjugate gradient
  double inspection = 0;  ///< of a preparation, all but what ranks tell each other
};
system_steps planned_steps(const context& ctx, const system_shape& of, int ranks);

/// A product, and its preparation unless there is one.
call_cost product_cost(int ranks, const system_shape& of, const system_steps& on_one, const link_rates& link);
/// An iteration of conjugate gradient.
call_cost iteration_cost(int ranks, const system_shape& of, const system_steps& on_one, const link_rates& link);
double product_seconds(const context& ctx, const system_shape& of, int ranks, const link_rates& link);
double iteration_seconds(const context& ctx, const system_shape& of, int ranks, const link_rates& link);

/// Bytes that a rank takes of others in a product.
double halo_bytes(const system_shape& of) noexcept;
/// Bytes of sums that a rank takes of others in an iteration.
double sum_bytes(const system_shape& of, int ranks) noexcept;

}  // namespace sheaf::distributed
