#include "core/context_state.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/page_order.hpp"
#include "cpu/movement/scatter_range.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// Tile after tile in the order of the output's pages; a tile that is not scattered, or holds a bad index, goes direct.
plan::planned plan_by_page(const scatter_problem& p, const machine& m) {
  if (p.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (const char* reason = why_not_by_page(p)) return plan::rejected(reason);
  memory_cost t = writes_of(p, m);
  t.access *= ordered_share(p, true);
  plan::planned plan = priced(t, m, true);
  add_sharing(p, m, plan);
  add_lines_read(p, m, true, plan);
  plan.add("ordering", m.streamed(p.count * 4 * sizeof(tile_entry), page_order::bytes()));
  plan.parameters[scatter_streams] = p.sequential_bytes() > m.cache_bytes;
  plan.scratch_bytes = page_order::bytes() * m.parallelism;
  return plan;
}

template <class Layout>
void scatter_ordered(Layout layout, std::span<const tile_entry> entries, const std::byte* in, std::byte* out) {
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  std::uint64_t i = 0;
  for (; i + distance < entries.size(); ++i) {
    prefetch(out, layout.far(entries[i + distance].index), layout.record_bytes);
    layout.copy(out + layout.far(entries[i].index), in + layout.near(entries[i].position));
  }
  for (; i < entries.size(); ++i) {
    layout.copy(out + layout.far(entries[i].index), in + layout.near(entries[i].position));
  }
}

void run_by_page(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b) {
  const core::scratch room(ctx.state(), page_order::bytes() * static_cast<std::uint64_t>(ctx.threads()));
  const std::uint64_t limit = p.index_limit();
  with_index(b.index, [&](const auto* index) {
    with_layout(p, [&](auto layout) {
      for_each_chunk(ctx, p, p.count, b.index, core::index_role::scatter_index,
                     [&](std::uint64_t begin, std::uint64_t end, std::uint64_t thread) {
                       page_order pages(p, room.as<std::byte>() + thread * page_order::bytes());
                       first_bad all;
                       for (std::uint64_t first = begin; first < end; first += tile_entries) {
                         const std::uint64_t count = std::min(tile_entries, end - first);
                         const std::byte* const in = b.in.data + layout.near(first);
                         if (is_scattered(index + first, count, p.indexed_stride_bytes) &&
                             are_below(index + first, count, limit)) {
                           scatter_ordered(layout, pages.order(index + first, count), in, b.out.data);
                           continue;
                         }
                         const first_bad bad = scatter_range(layout, index + first, in, b.out.data, count, limit, true,
                                                             plan.parameters[scatter_streams]);
                         if (bad.found()) all.see(first + bad.position);
                       }
                       return all;
                     });
    });
  });
}

}  // namespace

constinit const primitives::scatter_variant scatter_by_page{"cpu.by_page", plan_by_page, run_by_page};

}  // namespace sheaf::cpu
