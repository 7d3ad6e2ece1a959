#include "primitives/ranks/steps.hpp"

#include <atomic>
#include <cstring>

#include "core/host.hpp"
#include "cpu/ranks/parts.hpp"
#include "cpu/threads/parts.hpp"
#include "primitives/index_reader.hpp"

// Plain loops: groups of the CPU have a way of their own, without these steps, and take this one where tests compare
// the two.
namespace sheaf::cpu {
namespace {

using namespace primitives;

/// The last rank whose rows begin at the row or before it. Ranks without rows begin where the next one does.
std::uint32_t owner_of(const rows_of_ranks& rows, std::uint64_t row) {
  return static_cast<std::uint32_t>(std::upper_bound(rows.begins, rows.begins + rows.ranks, row) - rows.begins) - 1;
}

/// Calls use(position, owner, row in the owner's part) for each entry of the list, and use(position, ranks, 0) for bad
/// ones.
template <class Use>
void for_entries(const context& ctx, index_span list, const rows_of_ranks& rows, std::uint64_t* first_bad, Use use) {
  std::atomic<std::uint64_t> first = ~std::uint64_t{0};
  const std::uint64_t parts = parts_worth(list.count * 16, static_cast<std::uint64_t>(ctx.threads()));
  for_each_range(list.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::uint64_t bad = ~std::uint64_t{0};
    with_entries(list, [&](const auto* entry) {
      for (std::uint64_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::uint64_t>(entry[i]);
        if (row >= rows.limit) {
          bad = std::min(bad, i);
          use(i, rows.ranks, 0);
          continue;
        }
        const std::uint32_t owner = owner_of(rows, row);
        use(i, owner, row - rows.begins[owner]);
      }
    });
    std::uint64_t before = first.load();
    while (bad < before && !first.compare_exchange_weak(before, bad)) {
    }
  });
  *first_bad = first.load();
}

template <class Owner, class Number>
void write_routes(const context& ctx, index_span list, const rows_of_ranks& rows, const routed_entries& out) {
  Owner* const owners = reinterpret_cast<Owner*>(out.owner);
  Number* const pairs = reinterpret_cast<Number*>(out.row_and_position);
  for_entries(ctx, list, rows, out.first_bad, [&](std::uint64_t i, std::uint32_t owner, std::uint64_t row) {
    owners[i] = static_cast<Owner>(owner);
    pairs[2 * i] = static_cast<Number>(row);
    pairs[2 * i + 1] = static_cast<Number>(i);
  });
}

void route(const context& ctx, index_span list, const rows_of_ranks& rows, const routed_entries& out) {
  if (owner_bytes(rows.ranks) == 1) {
    out.is_wide ? write_routes<std::uint8_t, std::uint64_t>(ctx, list, rows, out)
                : write_routes<std::uint8_t, std::uint32_t>(ctx, list, rows, out);
  } else {
    out.is_wide ? write_routes<std::uint16_t, std::uint64_t>(ctx, list, rows, out)
                : write_routes<std::uint16_t, std::uint32_t>(ctx, list, rows, out);
  }
}

void unzip(const context& ctx, const std::byte* pairs, std::uint64_t count, bool is_wide, std::byte* rows,
           std::byte* positions) {
  const std::uint64_t width = is_wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
  const std::uint64_t parts = parts_worth(count * width * 4, static_cast<std::uint64_t>(ctx.threads()));
  for_each_range(count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) {
      std::memcpy(rows + i * width, pairs + 2 * i * width, width);
      std::memcpy(positions + i * width, pairs + (2 * i + 1) * width, width);
    }
  });
}

void gather(const context& ctx, const gather_from_parts& p) {
  const std::uint64_t width = p.out.record_bytes;
  for_entries(ctx, p.list, p.rows, p.first_bad, [&](std::uint64_t i, std::uint32_t owner, std::uint64_t row) {
    std::byte* const to = p.out.data + i * p.out.stride_bytes;
    if (owner == p.rows.ranks) {
      std::memset(to, 0, width);
    } else {
      std::memcpy(to, p.parts[owner].data + row * p.parts[owner].stride_bytes, width);
    }
  });
}

bool reads(const context&, std::span<const record_part>) { return true; }

void find_bounds(const context&, const_records rows, const key_layout& key, const key_bound* bounds,
                 std::uint64_t count, std::uint64_t* positions) {
  for (std::uint64_t i = 0; i < count; ++i) positions[i] = position_of(rows, key, bounds[i]);
}

std::uint64_t free_bytes(const context&) { return core::host_available_bytes(); }

}  // namespace

extern constinit const primitives::routing_steps steps_of_routing{
    route, unzip, reads, gather, find_bounds, free_bytes, sample_numbers, find_parts, move_rows, tile_rows, sort_parts};

}  // namespace sheaf::cpu
