#include "cuda/ranks/steps.hpp"

#include "core/memory_space.hpp"
#include "cuda/device/state.hpp"

namespace sheaf::cuda {
namespace {

// That devices are peers does not say that of all their memory: a caller's table may lie in a pool of its own.
bool reads(const context& ctx, std::span<const primitives::record_part> parts) {
  const device_scope scope(ctx.device());
  for (const primitives::record_part& part : parts) {
    if (part.data == nullptr) continue;
    const core::memory_place place = core::place_of(part.data);
    const bool is_near = place.space == core::memory_space::managed ||
                         (place.space == core::memory_space::device && place.device == ctx.device());
    if (!is_near && !core::is_read_by_current_device(part.data)) return false;
  }
  return true;
}

std::uint64_t free_bytes(const context& ctx) { return state_of(ctx).free_bytes(); }

}  // namespace

extern constinit const primitives::routing_steps steps_of_routing{
    route_entries,  unzip_pairs,        reads,     gather_parts,      find_key_bounds, free_bytes, sample_row_numbers,
    find_row_parts, move_rows_to_parts, tile_rows, sort_rows_in_parts};

}  // namespace sheaf::cuda
