#pragma once

#include <string_view>

#include "plan/choose.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"

// The prepared movement of every backend: a copy of the list, and a gather or scatter that was chosen once.
namespace sheaf::primitives {

/// The movement that each run would be without a preparation, planned: the gather, or the scatter.
struct movement_plan {
  plan::choice<gather_variant> gather;
  plan::choice<scatter_variant> scatter;

  bool exists() const noexcept { return gather.variant != nullptr || scatter.variant != nullptr; }
  const plan::planned& plan() const noexcept { return gather.variant != nullptr ? gather.plan : scatter.plan; }
  /// Whether both do the same work. What they predict may differ.
  bool runs_as(const movement_plan& other) const noexcept {
    return gather.variant == other.gather.variant && scatter.variant == other.scatter.variant &&
           plan().decided == other.plan().decided;
  }
};

movement_plan plan_unprepared(const prepare_problem& p, const plan::scope& in);

/// "kept"; plans have their movement_plan inside.
extern const prepare_variant prepare_kept;

}  // namespace sheaf::primitives
