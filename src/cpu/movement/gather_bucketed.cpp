#include "cpu/movement/bucketed.hpp"
#include "cpu/movement/gather_range.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "primitives/movement/gather.hpp"

namespace sheaf::cpu {
namespace {

using primitives::gather_buffers;
using primitives::gather_problem;

// Propagation blocking in three phases: group the indices by bucket of the table; gather bucket after bucket into
// scratch; read the index list again and collect each record from its bucket. The grouping is stable, so a bucket's
// records come in the order in which they lie and no position has to be kept.
plan::planned plan_bucketed(const gather_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = why_not_bucketed(p)) return plan::rejected(reason);
  plan::planned plan;
  const bucket_decision decided = decide_buckets(p, m, movement_bucket_records(p, m), bucketed_record_bytes(p));
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.by_name_only = !bucketing_may_pay(p);
  // The index list is read three times, local indices are written and read, the table is read, and values and output
  // are written and read.
  const std::uint64_t values = p.count * bucketed_record_bytes(p);
  const std::uint64_t local_indices = p.count * sizeof(std::uint32_t);
  price_bucketed(p, m, decided,
                 3 * p.index_bytes() + 2 * local_indices + std::min(p.indexed_bytes(), p.count * line_bytes) +
                     3 * values + 2 * p.sequential_bytes(),
                 p.record_bytes, false, plan);
  return plan;
}

template <class Value, class Layout, class Buckets>
void gather_bucket(Layout layout, const Buckets& buckets, std::uint64_t bucket, const std::byte* table) {
  constexpr std::uint64_t distance = 32;
  const std::uint32_t* const local = buckets.local_indices();
  Value* const values = buckets.template values<Value>();
  const std::byte* const base = table + layout.indexed_offset(buckets.first_record(bucket));
  const std::uint64_t end = buckets.entries_begin(bucket + 1);
  std::uint64_t i = buckets.entries_begin(bucket);
  for (; i + distance < end; ++i) {
    prefetch(base, layout.indexed_offset(local[i + distance]), 1);
    copy_bucketed(layout, values[i].bytes, base + layout.indexed_offset(local[i]));
  }
  for (; i < end; ++i) copy_bucketed(layout, values[i].bytes, base + layout.indexed_offset(local[i]));
}

// Writes a part of the output with the records that its indices' buckets hold.
template <class Value, class Layout, class Buckets, class Index>
void collect_part(Layout layout, const Buckets& buckets, std::uint64_t part, const gather_problem& p,
                  const Index* index, std::byte* out) {
  constexpr std::uint64_t distance = 2 * line_bytes / sizeof(Value);
  const Value* const values = buckets.template values<Value>();
  std::uint64_t* const cursors = buckets.reset_cursors(part);
  const std::uint64_t limit = p.indexed_count;
  const std::uint64_t end = part_begin(p.count, buckets.parts(), part + 1);
  for (std::uint64_t i = part_begin(p.count, buckets.parts(), part); i < end; ++i) {
    std::byte* const to = out + layout.sequential_offset(i);
    if (index[i] < limit) {
      const std::uint64_t entry = cursors[buckets.bucket_of(index[i])]++;
      __builtin_prefetch(values + entry + distance);
      copy_bucketed(layout, to, values[entry].bytes);
    } else {
      layout.clear(to);
    }
  }
}

void run_bucketed(const context& ctx, const gather_problem& p, const plan::planned& plan, const gather_buffers& b,
                  std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const auto decided = plan.decided.get<bucket_decision>();
  with_index(b.index, [&](const auto* index) {
    if (!is_worth_bucketing(p, index)) {
      return gather_in_order(ctx, p, b, true, p.sequential_bytes() > ctx.profile().cache_bytes);
    }
    const std::uint64_t call = state.begin_call();
    with_bucketed_record(p, [&](auto layout, auto block) {
      using value = decltype(block);
      index_buckets buckets(p, decided, index, scratch);
      const first_bad bad = buckets.template reorder<void>([](std::uint64_t) {});
      for_each_task(buckets.bucket_count(), buckets.parts(),
                    [&](std::uint64_t bucket) { gather_bucket<value>(layout, buckets, bucket, b.table.data); });
      for_each_part(buckets.parts(),
                    [&](std::uint64_t part) { collect_part<value>(layout, buckets, part, p, index, b.out.data); });
      if (bad.found()) {
        state.keep_first(report_of(b.index, bad.position, call, p.indexed_count, primitives::gather_words));
      }
    });
  });
}

}  // namespace

extern constinit const primitives::gather_variant gather_bucketed{"cpu.bucketed", backend_kind::cpu, plan_bucketed,
                                                                  run_bucketed};

}  // namespace sheaf::cpu
