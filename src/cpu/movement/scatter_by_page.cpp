#include "cpu/movement/in_order.hpp"
#include "cpu/movement/memory_cost.hpp"
#include "cpu/movement/order_sample.hpp"
#include "cpu/movement/page_order.hpp"
#include "cpu/movement/ranges.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/huge_pages.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Share of the random access time that page order leaves. It saves page walks: 2^26 records of 8 bytes on 4 KB pages,
// 1.32x to 1.43x the speed of a plain loop, but 0.95x where the system gives huge pages unasked. Outputs below 512 MB
// need few page walks, but writes wait longer for them than reads do (2^24 records of 8 bytes: scatters 1.28x on a
// Xeon, 1.06x on an EPYC of family 25; gathers 1.0x). Wide records wait for memory more than for page walks.
double page_ordered_share(const scatter_problem& problem) {
  constexpr std::uint64_t large_bytes = std::uint64_t{512} << 20;
  constexpr std::uint64_t least_bytes = std::uint64_t{64} << 20;
  constexpr std::uint64_t narrow_bytes = 32;
  const bool scattered =
      problem.pattern.shape == access_pattern::kind::unknown || problem.pattern.shape == access_pattern::kind::random;
  if (!scattered || problem.count < tile_entries || problem.record_bytes > 2 * narrow_bytes ||
      gives_huge_pages_unasked())
    return 1;
  const bool is_narrow = problem.record_bytes <= narrow_bytes;
  if (problem.indexed_bytes() < least_bytes) return 1;
  if (problem.indexed_bytes() < large_bytes && problem.record_bytes > 8) return is_narrow ? 0.8 : 1;
  return is_narrow ? 0.55 : 0.85;
}

// Adds what a list costs that is put in page order. Counting and moving an entry of a tile is work in the core's cache.
// The records of a tile are then read group by group, in strides that the hardware prefetcher does not follow, so that
// each of their lines is waited for, unless the core's cache holds the tile. AMD EPYC of family 25, two threads, of
// 7 * 10^5 records of 48 bytes: 6.6 ms, of which ordering takes 0.4 to 0.9 and these lines 2.8; cpu.direct takes 3.1.
// Of 2^24 records of 8 bytes: 66 ms, of which ordering takes 10 and these lines nothing.
void add_ordering(const scatter_problem& problem, const machine& machine, plan::planned& plan) {
  constexpr double digits_per_entry = 0.9;
  constexpr std::uint64_t waits = 2;  // for a line, over one that is prefetched
  plan.add("ordering", shared_digit_seconds(problem.count, digits_per_entry, machine, machine.parallelism));
  if (tile_entries * problem.record_bytes <= own_cache_bytes(machine)) return;
  const std::uint64_t lines = problem.sequential_bytes() / line_bytes;
  plan.add("records of a tile", machine.random_reads(waits * lines, line_bytes, problem.sequential_bytes()));
}

// Page order: each tile of the index list is written one group of neighbouring pages after another. A tile that is not
// scattered, or that holds a bad index, is written in its own order.
plan::planned plan_by_page(const scatter_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  if (problem.duplicates == duplicates::last) return plan::rejected("any writer may win");
  if (const char* reason = why_not_in_page_order(problem)) return plan::rejected(reason);
  memory_cost t = scatter_cost(problem, machine);
  const double share = page_ordered_share(problem);
  t.indexed_random *= share;
  plan::planned plan = to_plan(t, machine, true);
  plan.by_name_only = share == 1;  // nothing would be saved
  add_sharing(problem, machine, plan);
  add_lines_read(problem, machine, true, plan);
  add_ordering(problem, machine, plan);
  plan.decided.set(in_order_decision{.prefetches = true, .streams = problem.sequential_bytes() > machine.cache_bytes});
  // One for each thread, of which a profile of another machine may have fewer.
  const std::uint64_t threads =
      scope.context != nullptr ? static_cast<std::uint64_t>(scope.context->threads) : machine.parallelism;
  plan.scratch_bytes = page_order::bytes() * threads;
  return plan;
}

template <class Layout>
void scatter_ordered(Layout layout, std::span<const tile_entry> entries, const std::byte* in, std::byte* out) {
  const std::uint64_t distance = prefetch_distance_of(layout.record_bytes);
  std::uint64_t i = 0;
  for (; i + distance < entries.size(); ++i) {
    prefetch(out, layout.indexed_offset(entries[i + distance].index), layout.record_bytes);
    layout.copy(out + layout.indexed_offset(entries[i].index), in + layout.sequential_offset(entries[i].position));
  }
  for (; i < entries.size(); ++i) {
    layout.copy(out + layout.indexed_offset(entries[i].index), in + layout.sequential_offset(entries[i].position));
  }
}

void run_by_page(const context& ctx, const scatter_problem& problem, const plan::planned& plan,
                 const scatter_buffers& buffers, std::byte* scratch) {
  const auto decided = plan.decided.get<in_order_decision>();
  const std::uint64_t limit = problem.index_limit();
  move_parts(ctx, problem, problem.count, buffers.index, scatter_wording,
             [&](auto layout, const auto* index, std::uint64_t begin, std::uint64_t end, std::uint64_t part) {
               page_order pages(problem, scratch + part * page_order::bytes());
               first_bad all;
               for (std::uint64_t first = begin; first < end; first += tile_entries) {
                 const std::uint64_t count = std::min(tile_entries, end - first);
                 const std::byte* const in = buffers.in.data + layout.sequential_offset(first);
                 if (is_scattered(index + first, count, problem.indexed_stride_bytes) &&
                     highest_of(index + first, count) < limit) {
                   scatter_ordered(layout, pages.order(index + first, count), in, buffers.out.data);
                   continue;
                 }
                 const first_bad bad = scatter_range(layout, index + first, in, buffers.out.data, count, limit,
                                                     decided.prefetches, decided.streams);
                 all.note(bad.behind(first).position);
               }
               return all;
             });
}

}  // namespace

extern constinit const scatter_variant scatter_by_page{"cpu.by_page", backend_kind::cpu, plan_by_page, run_by_page};

}  // namespace sheaf::cpu
