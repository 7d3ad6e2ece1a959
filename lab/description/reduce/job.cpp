#include <fmt/format.h>
#include <sheaf/scatter_reduce.hpp>

#include "lab/description/job.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/reduce/items.hpp"
#include "lab/description/seeds.hpp"
#include "primitives/words.hpp"

// The job of scatter_reduce: sums of values by index. The check compares sums of all values with sums of all slots,
// each with the weight of its slot.
namespace sheaf::jobs {
namespace {

// Slots begin with small numbers for every copy alike, and so does the pattern that the check follows.
reduce_source source_of(const problem_spec& p) { return {p.value, pattern_of_copy(p, 0), p.indexed_count()}; }

array_shapes shapes(const problem_spec& p) {
  array_shapes all;
  all[places::source] = {p.count, p.record_bytes, array_role::input,
                         fmt::format("values {} {}", primitives::name(p.value), p.count)};
  all[places::index] = {p.count, bytes(p.index), array_role::input,
                        fmt::format("index {} {} {} of {}", inputs::name(p.pattern), primitives::name(p.index), p.count,
                                    p.indexed_count())};
  // Float sums begin with small whole numbers in every row, so that they stay exact.
  all[places::target] = {p.indexed_count(), p.record_bytes, array_role::in_out};
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) { return 2 * p.count * p.record_bytes; }

std::string unchecked(const problem_spec& p) {
  if (p.op != reduction::add) return "only sums are checked";
  return p.count > 0 && p.indexed_count() == 0 ? "an index into no values" : "";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: over_items(ctx, p.count, fill_values{source_of(p), array.data}); break;
    case places::index: fill_index_list(ctx, p, copy, array); break;
    default: over_items(ctx, array.count, fill_slots{source_of(p), array.data});
  }
}

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  scatter_reduce(ctx, {arrays[places::source].data, p.count, p.value}, {arrays[places::index].data, p.count, p.index},
                 {arrays[places::target].data, p.indexed_count(), p.value}, p.op,
                 {.pattern = p.access, .bounds = p.bounds, .order = p.order, .variant = settings.variant});
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const reduce_source from = source_of(p);
  const tally added = over_items(ctx, p.indexed_count(), checksum_slots{from, arrays[places::target].data});
  const std::uint64_t difference = added.sum - over_items(ctx, p.count, checksum_values{from}).sum;
  // Integers of 4 bytes wrap around at 2^32, and so does their weighted sum.
  const bool is_narrow = bytes(p.value) == 4 && !from.is_float();
  return added.mismatches + ((is_narrow ? difference & 0xffffffffU : difference) != 0);
}

constexpr sample samples[] = {{"scatter_reduce/uniform:s65536/r4/u32+u32"},
                              {"scatter_reduce/uniform:s65536/r4/u32+f32"},
                              {"scatter_reduce/zipf:s65536/r8/u32+f64"},
                              {"scatter_reduce/uniform:s1048576/r4/u32+f32"},
                              {"scatter_reduce/uniform:s1048576/r4/u32+f32+unordered"},
                              {"scatter_reduce/uniform:s1048576/r8/u32+u64"}};

}  // namespace

extern const job scatter_reduce_job{.primitive = "scatter_reduce",
                                    .samples = samples,
                                    .shapes = shapes,
                                    .moved_bytes = moved_bytes,
                                    .unchecked = unchecked,
                                    .fill = fill_array,
                                    .run = run,
                                    .count_mistakes = mistakes,
                                    .plain_loop = plain_scatter_reduce};

}  // namespace sheaf::jobs
