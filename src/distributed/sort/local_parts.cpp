#include "distributed/sort/local_parts.hpp"

#include <algorithm>

namespace sheaf::distributed {
namespace {

/// Whether all bits of a row are its key, so that rows with equal keys are the same.
bool are_keys(const sort_request& request) {
  const key_field& field = request.key.fields[0];
  return request.values.empty() && request.key.count == 1 && field.bytes == request.keys.record_bytes &&
         primitives::bits_of(field) == 8 * field.bytes;
}

}  // namespace

local_parts::local_parts(group_state& state, const sort_request& request, const part_edges& edges, std::uint64_t chunks)
    : steps_(primitives::routing_steps_of(state.ctx.backend())),
      ctx_(state.ctx),
      keeps_order_(!are_keys(request)),
      counts_(chunks * edges.parts()) {
  tiles_.rows = request.keys.count;
  tiles_.tiles = (tiles_.rows + steps_.tile_rows - 1) / steps_.tile_rows;
  tiles_.chunks = chunks;
  tiles_.chunk_tiles = std::max<std::uint64_t>(1, (tiles_.tiles + chunks - 1) / chunks);
  tiles_.parts = static_cast<std::uint32_t>(edges.parts());
  const buffer list(ctx_, edges.numbers.size() * sizeof(std::uint64_t));
  part_ = buffer(ctx_, tiles_.rows * sizeof(std::uint16_t));
  before_ = buffer(ctx_, tiles_.tiles * tiles_.parts * sizeof(std::uint32_t));
  in_counts_ = buffer(ctx_, counts_.size() * sizeof(std::uint64_t));
  tiles_.part = part_.as<std::uint16_t>();
  tiles_.before = before_.as<std::uint32_t>();
  tiles_.counts = in_counts_.as<std::uint64_t>();
  if (list.size() > 0) copy_bytes(ctx_, list.data(), edges.numbers.data(), list.size());
  steps_.find_parts(ctx_,
                    {request.keys, layout_of(request.key), edges.dropped_bits, list.as<std::uint64_t>(),
                     static_cast<std::uint32_t>(edges.numbers.size())},
                    tiles_);
  copy_bytes(ctx_, counts_.data(), in_counts_.data(), in_counts_.size());
}

void local_parts::move(std::uint64_t chunk, std::span<const const_records> arrays, std::span<std::byte* const> to,
                       std::byte* const* on_device) const {
  std::vector<primitives::rows_to_parts> moved;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const std::uint32_t word_bytes = primitives::word_bytes_of(arrays[a], to.subspan(a * tiles_.parts, tiles_.parts));
    moved.push_back({arrays[a], on_device + a * tiles_.parts, word_bytes});
  }
  steps_.move_rows(ctx_, tiles_, chunk, moved, keeps_order_);
}

}  // namespace sheaf::distributed
