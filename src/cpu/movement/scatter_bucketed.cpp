#include "cpu/movement/bucketed.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/scatter_range.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::cpu {
namespace {

using primitives::scatter_buffers;
using primitives::scatter_problem;

// Propagation blocking in two phases: group indices and records by bucket of the output; scatter bucket after bucket.
// Everything is streamed but the writes inside a bucket, which a core's cache holds. The grouping is stable, so the
// last writer wins.
plan::planned plan_bucketed(const scatter_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  if (const char* reason = why_not_bucketed(p)) return plan::rejected(reason);
  plan::planned plan;
  const bucket_decision decided = decide_buckets(p, m, movement_bucket_records(p, m), bucketed_record_bytes(p));
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;
  if (plan.scratch_bytes > m.memory_bytes / 4) return plan::rejected("its scratch would take a quarter of memory");
  plan.by_name_only = !bucketing_may_pay(p);
  // The index list is read twice, pairs are written and read, and lines of the output are read and written.
  const std::uint64_t pairs = p.count * (sizeof(std::uint32_t) + bucketed_record_bytes(p));
  price_bucketed(
      p, m, decided,
      2 * p.index_bytes() + p.sequential_bytes() + 2 * pairs + 2 * std::min(p.indexed_bytes(), p.count * line_bytes),
      p.record_bytes, true, plan);
  return plan;
}

template <class Layout, class Value, class Buckets>
void scatter_bucket(Layout layout, const Buckets& buckets, std::uint64_t bucket, std::byte* out) {
  constexpr std::uint64_t distance = 32;
  const std::uint32_t* const local = buckets.local_indices();
  const Value* const values = buckets.template values<Value>();
  std::byte* const base = out + layout.indexed_offset(buckets.first_record(bucket));
  const std::uint64_t end = buckets.entries_begin(bucket + 1);
  std::uint64_t i = buckets.entries_begin(bucket);
  for (; i + distance < end; ++i) {
    prefetch(base, layout.indexed_offset(local[i + distance]), 1);
    copy_bucketed(layout, base + layout.indexed_offset(local[i]), values[i].bytes);
  }
  for (; i < end; ++i) copy_bucketed(layout, base + layout.indexed_offset(local[i]), values[i].bytes);
}

void run_bucketed(const context& ctx, const scatter_problem& p, const plan::planned& plan, const scatter_buffers& b,
                  std::byte* scratch) {
  core::cpu_state& state = core::cpu(ctx);
  const auto decided = plan.decided.get<bucket_decision>();
  with_index(b.index, [&](const auto* index) {
    if (p.duplicates == duplicates::any && !is_worth_bucketing(p, index)) {
      return scatter_in_order(ctx, p, b, true, p.sequential_bytes() > ctx.profile().cache_bytes);
    }
    const std::uint64_t call = state.begin_call();
    with_bucketed_record(p, [&](auto layout, auto block) {
      using value = decltype(block);
      index_buckets buckets(p, decided, index, scratch);
      const first_bad bad = buckets.template reorder<value>([&, in = b.in.data](std::uint64_t i) {
        value record;
        copy_bucketed(layout, record.bytes, in + layout.sequential_offset(i));
        return record;
      });
      for_each_task(buckets.bucket_count(), buckets.parts(), [&](std::uint64_t bucket) {
        scatter_bucket<decltype(layout), value>(layout, buckets, bucket, b.out.data);
      });
      if (bad.found()) {
        state.keep_first(report_of(b.index, bad.position, call, p.indexed_count, primitives::scatter_words));
      }
    });
  });
}

}  // namespace

extern constinit const primitives::scatter_variant scatter_bucketed{"cpu.bucketed", backend_kind::cpu, plan_bucketed,
                                                                    run_bucketed};

}  // namespace sheaf::cpu
