#include "core/context_state.hpp"
#include "cpu/movement/gather_range.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/page_order.hpp"

namespace sheaf::cpu {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// Tile after tile in the order of the table's pages; a tile that is not scattered, or holds a bad index, goes direct.
plan::planned plan_by_page(const gather_problem& p, const machine& m) {
  if (const char* reason = why_not_by_page(p)) return plan::rejected(reason);
  memory_cost t = reads_of(p, m);
  t.access *= ordered_share(p, false);
  plan::planned plan = priced(t, m, false);
  add_lines_read(p, m, false, plan);
  plan.add("ordering", m.streamed(p.count * 4 * sizeof(tile_entry), page_order::bytes()));
  plan.parameters[gather_streams] = p.sequential_bytes() > m.cache_bytes;
  plan.scratch_bytes = page_order::bytes() * m.parallelism;
  return plan;
}

template <class Layout>
void gather_ordered(Layout layout, std::span<const tile_entry> entries, const std::byte* table, std::byte* out) {
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  std::uint64_t i = 0;
  for (; i + distance < entries.size(); ++i) {
    prefetch(table, layout.far(entries[i + distance].index), layout.record_bytes);
    layout.copy(out + layout.near(entries[i].position), table + layout.far(entries[i].index));
  }
  for (; i < entries.size(); ++i) {
    layout.copy(out + layout.near(entries[i].position), table + layout.far(entries[i].index));
  }
}

void run_by_page(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b) {
  const core::scratch room(ctx.state(), page_order::bytes() * static_cast<std::uint64_t>(ctx.threads()));
  const std::uint64_t limit = p.index_limit();
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_chunk(ctx, p, p.count, b.index, core::index_role::gather_index,
                     [&](std::uint64_t begin, std::uint64_t end, std::uint64_t thread) {
                       page_order pages(p, room.as<std::byte>() + thread * page_order::bytes());
                       first_bad all;
                       for (std::uint64_t first = begin; first < end; first += tile_entries) {
                         const std::uint64_t count = std::min(tile_entries, end - first);
                         std::byte* const out = b.out.data + layout.near(first);
                         if (is_scattered(index + first, count, p.indexed_stride_bytes) &&
                             are_below(index + first, count, limit)) {
                           gather_ordered(layout, pages.order(index + first, count), b.table.data, out);
                           continue;
                         }
                         gather_range range(layout, index + first, b.table.data, out, limit);
                         const first_bad bad = range.run(count, true, plan.parameters[gather_streams]);
                         if (bad.found()) all.see(first + bad.position);
                       }
                       return all;
                     });
    });
  });
}

}  // namespace

constinit const primitives::gather_variant gather_by_page{"cpu.by_page", plan_by_page, run_by_page};

}  // namespace sheaf::cpu
