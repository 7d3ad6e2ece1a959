#include "cuda/movement/if_ordered/direct.cuh"

namespace sheaf::cuda {

// Steps are those of cuda.direct; items are the compromise that gather_if_ordered describes.
direct_attempt scatter_if_ordered(const context& ctx, const char* operation, const primitives::movement& p,
                                  const move_arguments& a, std::uint32_t* tile_counters) {
  switch (p.record_bytes) {
    case 1: return launch_if_ordered<direction::scatter, std::uint8_t, 8, 256>(ctx, operation, p, a, tile_counters);
    case 2: return launch_if_ordered<direction::scatter, std::uint16_t, 4, 256>(ctx, operation, p, a, tile_counters);
    case 4: return launch_if_ordered<direction::scatter, std::uint32_t, 4, 256>(ctx, operation, p, a, tile_counters);
    case 8: return launch_if_ordered<direction::scatter, uint2, 2, 32>(ctx, operation, p, a, tile_counters);
    default: return launch_if_ordered<direction::scatter, uint4, 1, 256>(ctx, operation, p, a, tile_counters);
  }
}

}  // namespace sheaf::cuda
