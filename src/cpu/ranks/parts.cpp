#include "cpu/ranks/parts.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

// One thread, because tests alone go this way on the CPU.
namespace sheaf::cpu {

using namespace primitives;

namespace {

/// Calls use(row, tile) for the rows of a chunk.
template <class Use>
void for_rows(const tiled_parts& of, std::uint64_t chunk, Use use) {
  const std::uint64_t end = std::min(of.rows, (chunk + 1) * of.chunk_tiles * tile_rows);
  for (std::uint64_t row = chunk * of.chunk_tiles * tile_rows; row < end; ++row) use(row, row / tile_rows);
}

/// Calls place(row, part, rank among the chunk's rows of the part) for the rows of a chunk.
template <class Place>
void place_rows(const tiled_parts& of, std::uint64_t chunk, Place place) {
  std::vector<std::uint32_t> next(of.parts);
  for_rows(of, chunk, [&](std::uint64_t row, std::uint64_t tile) {
    if (row % tile_rows == 0) std::copy_n(of.before + tile * of.parts, of.parts, next.begin());
    place(row, of.part[row], next[of.part[row]]++);
  });
}

}  // namespace

void sample_numbers(const context&, const rows_by_number& of, std::uint64_t samples, std::uint64_t* numbers) {
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t row = sampled_row(i, samples, of.rows.count);
    numbers[i] = number_of_row(of.rows.data + row * of.rows.stride_bytes, of.key, of.dropped_bits);
  }
}

void find_parts(const context&, const rows_by_number& of, const tiled_parts& out) {
  for (std::uint64_t chunk = 0; chunk < out.chunks; ++chunk) {
    std::vector<std::uint32_t> seen(out.parts);
    for_rows(out, chunk, [&](std::uint64_t row, std::uint64_t tile) {
      if (row % tile_rows == 0) std::copy(seen.begin(), seen.end(), out.before + tile * out.parts);
      const std::uint64_t number = number_of_row(of.rows.data + row * of.rows.stride_bytes, of.key, of.dropped_bits);
      const auto part = std::upper_bound(of.edges, of.edges + of.edge_count, number) - of.edges;
      out.part[row] = static_cast<std::uint16_t>(part);
      ++seen[static_cast<std::size_t>(part)];
    });
    std::copy(seen.begin(), seen.end(), out.counts + chunk * out.parts);
  }
}

void move_rows(const context&, const tiled_parts& of, std::uint64_t chunk, std::span<const rows_to_parts> arrays,
               bool) {
  for (const rows_to_parts& array : arrays) {
    const std::uint64_t width = array.rows.record_bytes;
    place_rows(of, chunk, [&](std::uint64_t row, std::uint32_t part, std::uint32_t rank) {
      std::memcpy(array.to[part] + rank * width, array.rows.data + row * array.rows.stride_bytes, width);
    });
  }
}

/// Each part alone: a row in a wrong part would stay there.
bool sort_parts(const context&, const rows_in_parts& p) {
  const const_records& keys = p.in.front();
  key_layout key;
  key.fields[key.field_count++] = p.key.fields[0];
  key.bits = bits_of(key.fields[0]);
  if (p.key.count != 1 || !is_narrow(key)) return false;
  std::vector<std::uint32_t> order;
  for (std::uint32_t part = 0; part < p.part_count; ++part) {
    order.clear();
    for (std::uint32_t r = p.parts[part].first_run; r < p.parts[part + 1].first_run; ++r) {
      if (p.runs[r].before != p.parts[part].begin + order.size()) return false;
      for (std::uint32_t i = 0; i < p.runs[r].count; ++i) order.push_back(p.runs[r].begin + i);
    }
    const auto number = [&](std::uint32_t row) { return number_of_row(keys.data + row * keys.stride_bytes, key, 0); };
    if (!p.have_one_key)
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return number(a) < number(b); });
    for (std::size_t a = 0; a < p.in.size(); ++a) {
      if (p.out[a].data == nullptr) continue;
      std::byte* to = p.out[a].data + p.parts[part].begin * p.out[a].stride_bytes;
      for (const std::uint32_t row : order) {
        std::memcpy(to, p.in[a].data + row * p.in[a].stride_bytes, p.in[a].record_bytes);
        to += p.out[a].stride_bytes;
      }
    }
  }
  return true;
}

}  // namespace sheaf::cpu
