#pragma once

#include "primitives/movement/problem.hpp"

namespace sheaf::primitives {

/// The output is the sequential side, the table the indexed side.
struct gather_problem : movement {
  friend bool operator==(const gather_problem&, const gather_problem&) = default;
};

inline plan::measured_place place_of(const gather_problem& p) noexcept { return place_of_movement("gather", p); }

/// How a bad index of this primitive is reported.
inline constexpr core::index_wording gather_wording{"gather", "index", "the table's", "records"};

struct gather_buffers {
  const_records table;
  index_span index;
  records out;
};

inline std::optional<gather_problem> learned_shape(const gather_problem& p) noexcept {
  return gather_problem{shape_of_movement(p)};
}
inline access_pattern::kind sampled_order(const context& ctx, const gather_problem& p, const gather_buffers& b) {
  return sampled_order(ctx, p, b.index);
}

using gather_variant = plan::variant<gather_problem, gather_buffers>;

/// All variants of this build, in the order of composition/tables.cpp and of each backend's variants.cpp.
std::span<const gather_variant> gather_variants();

/// The problem that a gather of these views is. Checks nothing: data may be null.
gather_problem describe_gather(const context& ctx, const_records table, index_span index, records out,
                               access_pattern pattern = access_pattern::unknown(), bounds checking = bounds::check);

}  // namespace sheaf::primitives
