#pragma once

#include <sheaf/scatter_reduce.hpp>

#include "primitives/movement/problem.hpp"

namespace sheaf::primitives {

/// The input is the sequential side, the output the indexed side.
struct scatter_reduce_problem : movement {
  value_type type = value_type::f32;
  reduction op = reduction::add;
  reduction_order order = reduction_order::deterministic;

  /// Whether values are added or subtracted.
  bool sums() const noexcept { return op == reduction::add || op == reduction::subtract; }
  /// Whether the result depends on the order in which values are combined: true for sums and differences of floats.
  bool order_matters() const noexcept { return sums() && (type == value_type::f32 || type == value_type::f64); }
  friend bool operator==(const scatter_reduce_problem&, const scatter_reduce_problem&) = default;
};

inline plan::measured_place place_of(const scatter_reduce_problem& p) noexcept {
  return place_of_movement("scatter_reduce", p);
}

/// How a bad index of this primitive is reported.
inline constexpr core::index_wording scatter_reduce_wording{"scatter_reduce", "index", "the output's", "slots"};

struct scatter_reduce_buffers {
  const_values in;
  index_span index;
  values out;
};

/// The deterministic order of the CPU is that of the positions, so that all its variants give the same bits.
inline std::optional<scatter_reduce_problem> learned_shape(const scatter_reduce_problem& p) noexcept {
  const bool is_free = !p.order_matters() || p.order == reduction_order::unordered;
  if (!is_free && p.backend != backend_kind::cpu) return std::nullopt;
  return scatter_reduce_problem{shape_of_movement(p), p.type, p.op, p.order};
}
inline access_pattern::kind sampled_order(const context& ctx, const scatter_reduce_problem& p,
                                          const scatter_reduce_buffers& b) {
  return sampled_order(ctx, p, b.index);
}

using scatter_reduce_variant = plan::variant<scatter_reduce_problem, scatter_reduce_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const scatter_reduce_variant> scatter_reduce_variants();

}  // namespace sheaf::primitives
