#include "cpu/movement/bucketed.hpp"
#include "cpu/movement/gather_range.hpp"
#include "cpu/movement/memory_cost.hpp"

namespace sheaf::cpu {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// Indices by window of the table, then window after window into scratch, then back: reading the index list again, each
// window's records come in the order in which they lie, so no position need be kept.
plan::planned plan_clustered(const gather_problem& p, const machine& m) {
  if (const char* reason = why_not_clustered(p)) return plan::rejected(reason);
  plan::planned plan;
  plan_clusters(p, m, cached_window_records(p, m), plan);
  plan.scratch_bytes = cluster_room(p, plan, clustered_bytes(p)).bytes;
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.by_name_only = !may_pay_to_cluster(p);
  // Index read three times, indices in windows written and read, the table read, values and output written and read.
  const std::uint64_t values = p.count * clustered_bytes(p);
  const std::uint64_t local = p.count * sizeof(std::uint32_t);
  price_clusters(p, m,
                 3 * p.index_bytes() + 2 * local + std::min(p.indexed_bytes(), p.count * line_bytes) + 3 * values +
                     2 * p.sequential_bytes(),
                 p.record_bytes, false, plan);
  return plan;
}

template <class Value, class Layout, class Clusters>
void gather_window(Layout layout, const Clusters& ordered, std::uint64_t window, const std::byte* table) {
  constexpr std::uint64_t distance = 32;
  const std::uint32_t* const local = ordered.local();
  Value* const values = ordered.template values<Value>();
  const std::byte* const base = table + layout.far(ordered.window_begin(window));
  const std::uint64_t end = ordered.begin(window + 1);
  std::uint64_t i = ordered.begin(window);
  for (; i + distance < end; ++i) {
    prefetch(base, layout.far(local[i + distance]), 1);
    copy_clustered(layout, values[i].bytes, base + layout.far(local[i]));
  }
  for (; i < end; ++i) copy_clustered(layout, values[i].bytes, base + layout.far(local[i]));
}

// A part's output from the windows' records.
template <class Value, class Layout, class Clusters, class Index>
void put_back(Layout layout, const Clusters& ordered, std::uint64_t part, const gather_problem& p, const Index* index,
              std::byte* out) {
  constexpr std::uint64_t ahead = 2 * line_bytes / sizeof(Value);
  const Value* const values = ordered.template values<Value>();
  std::uint64_t* const next = ordered.next(part);
  const std::uint64_t limit = p.indexed_count;
  const std::uint64_t end = part_begin(p.count, ordered.parts(), part + 1);
  for (std::uint64_t i = part_begin(p.count, ordered.parts(), part); i < end; ++i) {
    std::byte* const to = out + layout.near(i);
    if (index[i] < limit) {
      const std::uint64_t from = next[ordered.window_of(index[i])]++;
      __builtin_prefetch(values + from + ahead);
      copy_clustered(layout, to, values[from].bytes);
    } else {
      layout.clear(to);
    }
  }
}

void run_clustered(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b) {
  core::cpu_state& state = core::cpu(ctx);
  with_index(b.index, [&](const auto* index) {
    if (!is_worth_clustering(p, index)) {
      return gather_in_order(ctx, p, b, true, p.sequential_bytes() > ctx.profile().cache_bytes);
    }
    const std::uint64_t call = state.begin_call();
    with_clustered(p, [&](auto layout, auto block) {
      using value = decltype(block);
      clusters ordered(ctx, p, plan, sizeof(value), index);
      const first_bad bad = ordered.template order<void>([](std::uint64_t) {});
      for_each_job(ordered.windows(), ordered.parts(),
                   [&](std::uint64_t window) { gather_window<value>(layout, ordered, window, b.table.data); });
      for_each_part(ordered.parts(),
                    [&](std::uint64_t part) { put_back<value>(layout, ordered, part, p, index, b.out.data); });
      if (bad.found()) {
        state.keep_first(report_of(b.index, bad.position, call, p.indexed_count, core::index_role::gather_index));
      }
    });
  });
}

}  // namespace

constinit const primitives::gather_variant gather_bucketed{"cpu.bucketed", plan_clustered, run_clustered};

}  // namespace sheaf::cpu
