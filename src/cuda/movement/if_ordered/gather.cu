#include "cuda/movement/if_ordered/direct.cuh"

namespace sheaf::cuda {

// Steps are those of cuda.direct. Items are a compromise: lists in order gain from many records in flight, clustered
// lists from lines that are used again soon.
direct_attempt gather_if_ordered(const context& ctx, const char* operation, const primitives::movement& p,
                                 const move_arguments& a, std::uint32_t* tile_counters) {
  switch (p.record_bytes) {
    case 1: return launch_if_ordered<direction::gather, std::uint8_t, 4, 256>(ctx, operation, p, a, tile_counters);
    case 2: return launch_if_ordered<direction::gather, std::uint16_t, 4, 256>(ctx, operation, p, a, tile_counters);
    case 4: return launch_if_ordered<direction::gather, std::uint32_t, 6, 256>(ctx, operation, p, a, tile_counters);
    case 8: return launch_if_ordered<direction::gather, uint2, 4, 256>(ctx, operation, p, a, tile_counters);
    default: return launch_if_ordered<direction::gather, uint4, 2, 256>(ctx, operation, p, a, tile_counters);
  }
}

}  // namespace sheaf::cuda
