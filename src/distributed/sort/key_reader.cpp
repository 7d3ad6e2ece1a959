#include "distributed/sort/key_reader.hpp"

#include <algorithm>

#include <sheaf/gather.hpp>
#include <sheaf/memory.hpp>

namespace sheaf::distributed {

key_reader::key_reader(const context& ctx, const_records rows, const key_layout& key)
    : ctx_(ctx), rows_(rows), key_(key), side_by_side_(key) {
  for (std::uint32_t f = 0; f < key.field_count; ++f) {
    side_by_side_.fields[f].offset = gathered_bytes_;
    gathered_bytes_ += key.fields[f].bytes;
  }
}

std::vector<key_number> key_reader::operator()(std::span<const std::uint64_t> positions) const {
  std::vector<key_number> keys(positions.size());
  if (positions.empty()) return keys;
  const buffer list(ctx_, positions.size_bytes());
  copy_bytes(ctx_, list.data(), positions.data(), positions.size_bytes());
  const buffer fields(ctx_, keys.size() * gathered_bytes_);
  for (std::uint32_t f = 0; f < key_.field_count; ++f) {
    const key_field& field = key_.fields[f];
    sheaf::gather(ctx_, const_records(rows_.data + field.offset, rows_.count, field.bytes, rows_.stride_bytes),
                  index_span(list.data(), keys.size(), index_type::u64),
                  records(fields.data() + side_by_side_.fields[f].offset, keys.size(), field.bytes, gathered_bytes_));
  }
  std::vector<std::byte> rows(fields.size());
  copy_bytes(ctx_, rows.data(), fields.data(), rows.size());
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = primitives::key_of(rows.data() + i * gathered_bytes_, side_by_side_);
  return keys;
}

void add_evenly(std::vector<std::uint64_t>& positions, std::uint64_t begin, std::uint64_t end, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) positions.push_back(begin + (2 * i + 1) * (end - begin) / (2 * count));
}

std::vector<std::uint64_t> find_bounds(const key_reader& keys, std::span<const key_bound> bounds) {
  std::vector<std::uint64_t> positions(bounds.size());
  if (bounds.empty()) return positions;
  const context& ctx = keys.where();
  const buffer list(ctx, bounds.size_bytes());
  const buffer found(ctx, positions.size() * sizeof(std::uint64_t));
  copy_bytes(ctx, list.data(), bounds.data(), bounds.size_bytes());
  primitives::routing_steps_of(ctx.backend())
      .find_bounds(ctx, keys.rows(), keys.layout(), list.as<key_bound>(), bounds.size(), found.as<std::uint64_t>());
  copy_bytes(ctx, positions.data(), found.data(), found.size());
  return positions;
}

}  // namespace sheaf::distributed
