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

// Bounds that are still in the same range share its samples: at first, all of them.
std::vector<std::uint64_t> find_bounds(const key_reader& keys, std::vector<key_bound> bounds) {
  constexpr std::uint64_t most_samples = std::uint64_t{1} << 13;
  struct shared_range {
    std::size_t first;  // of the bounds
    std::size_t last;
  };
  for (;;) {
    std::vector<shared_range> ranges;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const key_bound& bound = bounds[i];
      if (bound.begin == bound.end) continue;
      const bool is_shared = !ranges.empty() && ranges.back().last == i && bounds[i - 1].begin == bound.begin &&
                             bounds[i - 1].end == bound.end;
      if (is_shared) {
        ranges.back().last = i + 1;
      } else {
        ranges.push_back({i, i + 1});
      }
    }
    if (ranges.empty()) break;
    const std::uint64_t samples = std::max<std::uint64_t>(1, most_samples / ranges.size());
    const auto samples_of = [&](const shared_range& range) {
      const key_bound& bound = bounds[range.first];
      return std::min(samples, bound.end - bound.begin);
    };
    std::vector<std::uint64_t> positions;
    for (const shared_range& range : ranges)
      add_evenly(positions, bounds[range.first].begin, bounds[range.first].end, samples_of(range));
    const std::vector<key_number> sampled = keys(positions);
    std::size_t at = 0;
    for (const shared_range& range : ranges) {
      const std::uint64_t count = samples_of(range);
      const auto first = sampled.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last = first + static_cast<std::ptrdiff_t>(count);
      const std::uint64_t* const position = positions.data() + at;
      for (std::size_t i = range.first; i < range.last; ++i) {
        key_bound& bound = bounds[i];
        const auto found =
            bound.is_behind_equal ? std::upper_bound(first, last, bound.key) : std::lower_bound(first, last, bound.key);
        const auto before = static_cast<std::uint64_t>(found - first);
        if (before < count) bound.end = position[before];
        if (before > 0) bound.begin = position[before - 1] + 1;
      }
      at += count;
    }
  }
  std::vector<std::uint64_t> places;
  places.reserve(bounds.size());
  for (const key_bound& bound : bounds) places.push_back(bound.begin);
  return places;
}

}  // namespace sheaf::distributed
