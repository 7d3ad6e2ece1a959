#include "distributed/sort/local_parts.hpp"

#include <algorithm>

#include <sheaf/gather.hpp>

namespace sheaf::distributed {

local_parts::local_parts(group_state& state, const sort_request& request, const part_edges& edges, std::uint64_t chunks)
    : steps_(primitives::routing_steps_of(state.ctx.backend())), ctx_(state.ctx), counts_(chunks * edges.parts()) {
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
  std::vector<primitives::words_to_parts> words;
  std::vector<std::size_t> others;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (primitives::are_words(arrays[a])) {
      words.push_back({arrays[a], on_device + a * tiles_.parts});
    } else {
      others.push_back(a);
    }
  }
  steps_.move_words(ctx_, tiles_, chunk, words);
  const std::uint64_t first = std::min(tiles_.rows, chunk * tiles_.chunk_tiles * steps_.tile_rows);
  const std::uint64_t count = std::min(tiles_.rows - first, tiles_.chunk_tiles * steps_.tile_rows);
  if (others.empty() || count == 0) return;
  const buffer order(ctx_, count * sizeof(std::uint32_t));
  steps_.order_rows(ctx_, tiles_, chunk, order.as<std::uint32_t>());
  for (const std::size_t a : others) gather(chunk, first, count, arrays[a], to.subspan(a * tiles_.parts), order);
}

/// Parts that lie side by side in memory are gathered at once.
void local_parts::gather(std::uint64_t chunk, std::uint64_t first, std::uint64_t count, const const_records& array,
                         std::span<std::byte* const> to, const buffer& order) const {
  const const_records rows(array.data + first * array.stride_bytes, count, array.record_bytes, array.stride_bytes);
  const std::uint64_t* const counts = counts_.data() + chunk * tiles_.parts;
  std::uint64_t begin = 0;
  for (std::uint32_t part = 0; part < tiles_.parts;) {
    std::byte* const data = to[part];
    std::uint64_t length = 0;
    for (; part < tiles_.parts && (counts[part] == 0 || to[part] == data + length * array.record_bytes); ++part)
      length += counts[part];
    if (length > 0) {
      sheaf::gather(ctx_, rows, index_span(order.as<std::uint32_t>() + begin, length, index_type::u32),
                    records(data, length, array.record_bytes));
    }
    begin += length;
  }
}

}  // namespace sheaf::distributed
