#include "cuda/ranks/steps.hpp"

#include "cuda/device/state.hpp"

namespace sheaf::cuda {

extern constinit const primitives::routing_steps steps_of_routing{
    route_entries, unzip_pairs, gather_parts, [](const context& ctx) { return state_of(ctx).free_bytes(); }};

}  // namespace sheaf::cuda
