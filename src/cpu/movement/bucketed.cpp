#include "cpu/movement/in_order.hpp"
#include "cpu/movement/index_buckets.hpp"
#include "cpu/movement/order_sample.hpp"
#include "cpu/movement/record_copy.hpp"
#include "cpu/threads/cache_hints.hpp"

// Propagation blocking: indices are grouped by bucket of the indexed side, whose records are then moved bucket after
// bucket.
namespace sheaf::cpu {

using namespace primitives;

namespace {

/// Widest record in bytes that a bucketed movement takes.
constexpr std::uint64_t most_bucketed_bytes = 32;

/// Whether bucketing may pay: only if the pattern is random or unknown, as every other pattern has locality already.
/// Speed over page order (cpu.by_page, which gathers had too), 2^26 records, process time on two threads of a Xeon of
/// family 6 model 207, on fresh scratch and on scratch that the context had kept: scatter of 4 bytes 1.37x and 1.62x,
/// of 8 bytes 0.80x to 1.1x and 1.47x; gather of 4 bytes 1.20x and 1.70x, of 8 bytes 1.09x and 1.80x.
bool bucketing_may_pay(const movement& m) noexcept {
  using kind = access_pattern::kind;
  constexpr std::uint64_t least_indexed_bytes = std::uint64_t{64} << 20;
  const bool scattered = m.pattern.shape == kind::unknown || m.pattern.shape == kind::random;
  return scattered && m.indexed_bytes() >= least_indexed_bytes;
}

/// Bytes that a record takes in scratch: the next power of two, so that whole records fill a cache line.
std::uint64_t bucketed_record_bytes(const movement& m) noexcept { return std::bit_ceil(m.record_bytes); }

/// Calls body(layout, block) with the layout of the records and a block_of_bytes that holds one.
template <class Body>
void with_bucketed_record(const movement& m, Body body) {
  with_layout(m, [&](auto layout) {
    using layout_type = decltype(layout);
    if constexpr (requires { layout.indexed_stride_bytes; }) {
      switch (bucketed_record_bytes(m)) {
        case 1: return body(layout, block_of_bytes<1>{});
        case 2: return body(layout, block_of_bytes<2>{});
        case 4: return body(layout, block_of_bytes<4>{});
        case 8: return body(layout, block_of_bytes<8>{});
        case 16: return body(layout, block_of_bytes<16>{});
        default: return body(layout, block_of_bytes<32>{});
      }
    } else if constexpr (layout_type::record_bytes <= most_bucketed_bytes) {
      body(layout, block_of_bytes<layout_type::record_bytes>{});
    }
  });
}

/// Copies a record to or from its block in scratch, which may be wider than the record.
template <class Layout>
void copy_bucketed(Layout layout, std::byte* to, const std::byte* from) noexcept {
  if constexpr (requires { layout.indexed_stride_bytes; }) {
    std::memcpy(to, from, layout.record_bytes);
  } else {
    layout.copy(to, from);
  }
}

/// Without the price.
plan::planned plan_records(const movement& problem, const machine& m) {
  if (problem.record_bytes > most_bucketed_bytes) {
    return plan::rejected("records of more than 32 bytes fill cache lines by themselves");
  }
  plan::planned plan = plan_buckets(problem, m, movement_bucket_records(problem, m), bucketed_record_bytes(problem));
  plan.by_name_only = !bucketing_may_pay(problem);
  return plan;
}

// A gather has three phases: group the indices by bucket of the table; gather bucket after bucket into scratch; read
// the index list again and collect each record from its bucket. The grouping is stable, so a bucket's records come in
// the order in which they lie and no position has to be kept.
plan::planned plan_bucketed(const gather_problem& problem, const plan::scope& scope) {
  plan::planned plan = plan_records(problem, scope.machine);
  if (!plan.applicable()) return plan;
  // The index list is read three times, local indices are written and read, the table is read, and values and output
  // are written and read.
  const std::uint64_t values = problem.count * bucketed_record_bytes(problem);
  const std::uint64_t local_indices = problem.count * sizeof(std::uint32_t);
  price_bucketed(problem, scope.machine,
                 3 * problem.index_bytes() + 2 * local_indices +
                     std::min(problem.indexed_bytes(), problem.count * line_bytes) + 3 * values +
                     2 * problem.sequential_bytes(),
                 problem.record_bytes, false, plan);
  return plan;
}

// A scatter has two phases: group indices and records by bucket of the output; scatter bucket after bucket. Everything
// is streamed but the writes inside a bucket, which a core's cache holds. The grouping is stable, so the last writer
// wins.
plan::planned plan_bucketed(const scatter_problem& problem, const plan::scope& scope) {
  plan::planned plan = plan_records(problem, scope.machine);
  if (!plan.applicable()) return plan;
  // The index list is read twice, pairs are written and read, and lines of the output are read and written.
  const std::uint64_t pairs = problem.count * (sizeof(std::uint32_t) + bucketed_record_bytes(problem));
  price_bucketed(problem, scope.machine,
                 2 * problem.index_bytes() + problem.sequential_bytes() + 2 * pairs +
                     2 * std::min(problem.indexed_bytes(), problem.count * line_bytes),
                 problem.record_bytes, true, plan);
  return plan;
}

// Moves the records of a bucket: from the indexed side into scratch if that is read, else from scratch.
template <class Value, class Layout, class Buckets, class Byte>
void move_bucket(Layout layout, const Buckets& buckets, std::uint64_t bucket, Byte* indexed) {
  constexpr std::uint64_t distance = 32;
  const std::uint32_t* const local = buckets.local_indices();
  Value* const values = buckets.template values<Value>();
  Byte* const base = indexed + layout.indexed_offset(buckets.first_record(bucket));
  const auto move = [&](std::uint64_t i) {
    Byte* const record = base + layout.indexed_offset(local[i]);
    if constexpr (std::is_const_v<Byte>) {
      copy_bucketed(layout, values[i].bytes, record);
    } else {
      copy_bucketed(layout, record, values[i].bytes);
    }
  };
  const std::uint64_t end = buckets.entries_begin(bucket + 1);
  std::uint64_t i = buckets.entries_begin(bucket);
  for (; i + distance < end; ++i) {
    prefetch(base, layout.indexed_offset(local[i + distance]), 1);
    move(i);
  }
  for (; i < end; ++i) move(i);
}

// Writes a part of the output with the records that its indices' buckets hold.
template <class Value, class Layout, class Buckets, class Index>
void collect_part(Layout layout, const Buckets& buckets, std::uint64_t part, const gather_problem& problem,
                  const Index* index, std::byte* out) {
  constexpr std::uint64_t distance = 2 * line_bytes / sizeof(Value);
  const Value* const values = buckets.template values<Value>();
  std::uint64_t* const cursors = buckets.reset_cursors(part);
  const std::uint64_t limit = problem.indexed_count;
  const std::uint64_t end = part_begin(problem.count, buckets.parts(), part + 1);
  for (std::uint64_t i = part_begin(problem.count, buckets.parts(), part); i < end; ++i) {
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

/// Calls move(layout, block, buckets) -> first_bad with a block_of_bytes for a record and the list's index_buckets, and
/// reports the bad index.
template <class Index, class Move>
void with_buckets(const context& ctx, const movement& p, const plan::planned& plan, index_span list, const Index* index,
                  const core::index_wording& wording, std::byte* scratch, Move move) {
  with_bucketed_record(p, [&](auto layout, auto block) {
    index_buckets buckets(p, plan.decided.get<bucket_decision>(), index, scratch);
    run_checked(ctx, p, list, wording, [&] { return move(layout, block, buckets); });
  });
}

/// How a list that a sample says is not scattered is moved: as it is, which is faster.
in_order_decision in_order(const context& ctx, const movement& p) {
  return {.prefetches = true, .streams = p.sequential_bytes() > ctx.profile().cache_bytes};
}

void run_bucketed(const context& ctx, const gather_problem& problem, const plan::planned& plan,
                  const gather_buffers& buffers, std::byte* scratch) {
  with_index(buffers.index, [&](const auto* index) {
    if (!is_scattered(index, problem.count, problem.indexed_stride_bytes))
      return gather_in_order(ctx, problem, buffers, in_order(ctx, problem));
    with_buckets(
        ctx, problem, plan, buffers.index, index, gather_wording, scratch, [&](auto layout, auto block, auto& buckets) {
          using value = decltype(block);
          const first_bad bad = buckets.template reorder<void>([](std::uint64_t) {});
          for_each_task(buckets.bucket_count(), buckets.parts(),
                        [&](std::uint64_t bucket) { move_bucket<value>(layout, buckets, bucket, buffers.table.data); });
          for_each_part(buckets.parts(), [&](std::uint64_t part) {
            collect_part<value>(layout, buckets, part, problem, index, buffers.out.data);
          });
          return bad;
        });
  });
}

void run_bucketed(const context& ctx, const scatter_problem& problem, const plan::planned& plan,
                  const scatter_buffers& buffers, std::byte* scratch) {
  with_index(buffers.index, [&](const auto* index) {
    if (problem.duplicates == duplicates::any && !is_scattered(index, problem.count, problem.indexed_stride_bytes)) {
      return scatter_in_order(ctx, problem, buffers, in_order(ctx, problem));
    }
    with_buckets(ctx, problem, plan, buffers.index, index, scatter_wording, scratch,
                 [&](auto layout, auto block, auto& buckets) {
                   using value = decltype(block);
                   const first_bad bad = buckets.template reorder<value>([&, in = buffers.in.data](std::uint64_t i) {
                     value record;
                     copy_bucketed(layout, record.bytes, in + layout.sequential_offset(i));
                     return record;
                   });
                   for_each_task(buckets.bucket_count(), buckets.parts(), [&](std::uint64_t bucket) {
                     move_bucket<value>(layout, buckets, bucket, buffers.out.data);
                   });
                   return bad;
                 });
  });
}

}  // namespace

extern constinit const gather_variant gather_bucketed{"cpu.bucketed", backend_kind::cpu, plan_bucketed, run_bucketed};
extern constinit const scatter_variant scatter_bucketed{"cpu.bucketed", backend_kind::cpu, plan_bucketed, run_bucketed};

}  // namespace sheaf::cpu
