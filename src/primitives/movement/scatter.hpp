#pragma once

#include <sheaf/scatter.hpp>

#include "primitives/movement/problem.hpp"

namespace sheaf::primitives {

/// The input is the sequential side, the output the indexed side.
struct scatter_problem : movement {
  sheaf::duplicates duplicates = sheaf::duplicates::any;

  friend bool operator==(const scatter_problem&, const scatter_problem&) = default;
};

inline plan::measured_place place_of(const scatter_problem& p) noexcept { return place_of_movement("scatter", p); }

/// How a bad index of this primitive is reported.
inline constexpr core::index_wording scatter_wording{"scatter", "index", "the output's", "records"};

struct scatter_buffers {
  const_records in;
  index_span index;
  records out;
};

/// With duplicates::any the caller leaves open which writer wins.
inline std::optional<scatter_problem> learned_shape(const scatter_problem& p) noexcept {
  return scatter_problem{shape_of_movement(p), p.duplicates};
}
inline access_pattern::kind sampled_order(const context& ctx, const scatter_problem& p, const scatter_buffers& b) {
  return sampled_order(ctx, p, b.index);
}

using scatter_variant = plan::variant<scatter_problem, scatter_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const scatter_variant> scatter_variants();

}  // namespace sheaf::primitives
