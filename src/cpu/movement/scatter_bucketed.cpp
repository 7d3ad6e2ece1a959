#include "cpu/movement/bucketed.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/scatter_range.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// Indices and records by window of the output, then window after window. All of it is streamed but the places inside a
// window, which its cache holds. Order is kept, so the last writer wins.
plan::planned plan_clustered(const scatter_problem& p, const machine& m) {
  if (const char* reason = why_not_clustered(p)) return plan::rejected(reason);
  plan::planned plan;
  plan_clusters(p, m, cached_window_records(p, m), plan);
  plan.scratch_bytes = cluster_room(p, plan, clustered_bytes(p)).bytes;
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.by_name_only = !may_pay_to_cluster(p);
  // Index counted and moved, pairs written and read, the output's lines read and written.
  const std::uint64_t pairs = p.count * (sizeof(std::uint32_t) + clustered_bytes(p));
  price_clusters(
      p, m,
      2 * p.index_bytes() + p.sequential_bytes() + 2 * pairs + 2 * std::min(p.indexed_bytes(), p.count * line_bytes),
      p.record_bytes, true, plan);
  return plan;
}

template <class Layout, class Value, class Clusters>
void place_window(Layout layout, const Clusters& ordered, std::uint64_t window, std::byte* out) {
  constexpr std::uint64_t distance = 32;
  const std::uint32_t* const local = ordered.local();
  const Value* const values = ordered.template values<Value>();
  std::byte* const base = out + layout.far(ordered.window_begin(window));
  const std::uint64_t end = ordered.begin(window + 1);
  std::uint64_t i = ordered.begin(window);
  for (; i + distance < end; ++i) {
    prefetch(base, layout.far(local[i + distance]), 1);
    copy_clustered(layout, base + layout.far(local[i]), values[i].bytes);
  }
  for (; i < end; ++i) copy_clustered(layout, base + layout.far(local[i]), values[i].bytes);
}

void run_clustered(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b) {
  core::cpu_state& state = core::cpu(ctx);
  with_index(b.index, [&](const auto* index) {
    if (p.duplicates == duplicates::any && !is_worth_clustering(p, index)) {
      return scatter_in_order(ctx, p, b, true, p.sequential_bytes() > ctx.profile().cache_bytes);
    }
    const std::uint64_t call = state.begin_call();
    with_clustered(p, [&](auto layout, auto block) {
      using value = decltype(block);
      clusters ordered(ctx, p, plan, sizeof(value), index);
      const first_bad bad = ordered.template order<value>([&, in = b.in.data](std::uint64_t i) {
        value record;
        copy_clustered(layout, record.bytes, in + layout.near(i));
        return record;
      });
      for_each_job(ordered.windows(), ordered.parts(), [&](std::uint64_t window) {
        place_window<decltype(layout), value>(layout, ordered, window, b.out.data);
      });
      if (bad.found()) {
        state.keep_first(report_of(b.index, bad.position, call, p.indexed_count, core::index_role::scatter_index));
      }
    });
  });
}

}  // namespace

constinit const primitives::scatter_variant scatter_bucketed{"cpu.bucketed", plan_clustered, run_clustered};

}  // namespace sheaf::cpu
