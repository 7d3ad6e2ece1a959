#include "cuda/movement/direct_if_ordered.cuh"

namespace sheaf::cuda {

// Step as cuda.direct has it; items a compromise between lists in order, which want many in flight, and windows, which
// want their lines back soon.
begun_movement begin_gather(const context& ctx, const char* what, const primitives::movement& p,
                            const move_arguments& a, std::uint32_t* tickets) {
  constexpr auto way = direction::gather;
  switch (p.record_bytes) {
    case 1: return begin_words<way, std::uint8_t, 4, 256>(ctx, what, p, a, tickets);
    case 2: return begin_words<way, std::uint16_t, 4, 256>(ctx, what, p, a, tickets);
    case 4: return begin_words<way, std::uint32_t, 6, 256>(ctx, what, p, a, tickets);
    case 8: return begin_words<way, uint2, 4, 256>(ctx, what, p, a, tickets);
    default: return begin_words<way, uint4, 2, 256>(ctx, what, p, a, tickets);
  }
}

}  // namespace sheaf::cuda
