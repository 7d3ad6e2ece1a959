#include "cuda/ranks/steps.hpp"

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

extern constinit const primitives::rank_steps steps_between_ranks{
    route_entries, unzip_pairs, gather_parts, [](const context& ctx) { return state_of(ctx).free_bytes(); }};

}  // namespace sheaf::cuda
