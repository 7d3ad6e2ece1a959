#include <fmt/format.h>
#include <sheaf/gather.hpp>
#include <sheaf/scatter.hpp>

#include "lab/description/job.hpp"
#include "lab/description/movement/last_writer.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "primitives/words.hpp"

// Jobs of gather and scatter. A record's bytes follow from its number, and an index list is a function of its position,
// so that the check computes which record has to be where.
namespace sheaf::jobs {
namespace {

array_shapes shapes_of(const problem_spec& p, std::uint64_t source_count, std::uint64_t target_count) {
  array_shapes shapes;
  shapes[places::source] = {source_count, p.record_bytes, array_role::input,
                            fmt::format("records {} {}", p.record_bytes, source_count)};
  shapes[places::index] = {p.count, bytes(p.index), array_role::input,
                           fmt::format("index {} {} {} of {}", inputs::name(p.pattern), primitives::name(p.index),
                                       p.count, p.indexed_count())};
  shapes[places::target] = {target_count, p.record_bytes, array_role::output};
  return shapes;
}

array_shapes gather_shapes(const problem_spec& p) { return shapes_of(p, p.indexed_count(), p.count); }
array_shapes scatter_shapes(const problem_spec& p) { return shapes_of(p, p.count, p.indexed_count()); }

std::uint64_t moved_bytes(const problem_spec& p) { return 2 * p.count * p.record_bytes; }

std::string gather_unchecked(const problem_spec& p) {
  return p.count > 0 && p.indexed_count() == 0 ? "an index into no records" : "";
}

std::string scatter_unchecked(const problem_spec& p) {
  const bool repeats = !inputs::is_distinct(p.pattern) || p.count > p.indexed_count();
  if (repeats && p.duplicates == duplicates::any) return "records have several writers, of which any may win";
  if (p.duplicates == duplicates::last && p.count >> 32 != 0) return "the last writer is found for fewer than 2^32";
  return gather_unchecked(p);
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: return inputs::fill_records(ctx, array, records_seed);
    case places::index: return fill_index_list(ctx, p, copy, array);
    default: return wipe(ctx, array);
  }
}

index_span list_of(const problem_spec& p, const array_set& arrays) {
  return {arrays[places::index].data, p.count, p.index};
}

void run_gather(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  gather(ctx, arrays[places::source], list_of(p, arrays), arrays[places::target],
         {.pattern = p.access, .bounds = p.bounds, .variant = settings.variant});
}

void run_scatter(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  scatter(ctx, arrays[places::source], list_of(p, arrays), arrays[places::target],
          {.pattern = p.access, .bounds = p.bounds, .duplicates = p.duplicates, .variant = settings.variant});
}

std::uint64_t gather_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  return inputs::count_gather_mismatches(ctx, arrays[places::target], pattern_of_copy(p, 0), p.indexed_count(),
                                         records_seed);
}

std::uint64_t scatter_mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const records target = arrays[places::target];
  if (p.duplicates == duplicates::last) {
    return count_last_writer_mismatches(ctx, target, list_of(p, arrays), records_seed, wiped_seed);
  }
  return inputs::count_scatter_mismatches(ctx, target, pattern_of_copy(p, 0), p.count, records_seed);
}

template <class Prepared>
prepared_run run_of(const Prepared& prepared, const array_set& arrays) {
  return {[prepared, from = arrays[places::source], to = arrays[places::target]] { prepared.run(from, to); },
          prepared.report()};
}

prepared_run prepare_to_gather(const context& ctx, const problem_spec& p, const array_set& arrays,
                               std::uint64_t expected_runs) {
  return run_of(prepare_gather(ctx, list_of(p, arrays), p.indexed_count(), p.record_bytes, expected_runs,
                               {.pattern = p.access, .bounds = p.bounds}),
                arrays);
}

prepared_run prepare_to_scatter(const context& ctx, const problem_spec& p, const array_set& arrays,
                                std::uint64_t expected_runs) {
  return run_of(prepare_scatter(ctx, list_of(p, arrays), p.indexed_count(), p.record_bytes, expected_runs,
                                {.pattern = p.access, .bounds = p.bounds, .duplicates = p.duplicates}),
                arrays);
}

constexpr sample gather_samples[] = {{"gather/identity/r4/u32"},
                                     {"gather/identity/r8/u32"},
                                     {"gather/identity/r16/u32"},
                                     {"gather/identity/r100/u32"},
                                     {"gather/identity/r128/u32"},
                                     {"gather/identity/r1024/u32"},
                                     {"gather/permutation/r4/u32"},
                                     {"gather/permutation/r8/u32"},
                                     {"gather/permutation/r16/u32"},
                                     {"gather/permutation/r100/u32"},
                                     {"gather/permutation/r128/u32"},
                                     {"gather/permutation/r1024/u32"},
                                     {"gather/uniform/r4/u32"},
                                     {"gather/uniform/r8/u32"},
                                     {"gather/uniform/r16/u32"},
                                     {"gather/uniform/r100/u32"},
                                     {"gather/uniform/r128/u32"},
                                     {"gather/uniform/r1024/u32"},
                                     {"gather/zipf/r4/u32"},
                                     {"gather/zipf/r8/u32"},
                                     {"gather/zipf/r16/u32"},
                                     {"gather/zipf/r100/u32"},
                                     {"gather/zipf/r128/u32"},
                                     {"gather/zipf/r1024/u32"},
                                     {"gather/permutation/r4/u32", true},
                                     {"gather/permutation/r8/u32", true},
                                     {"gather/permutation/r16/u32", true}};

constexpr sample scatter_samples[] = {
    {"scatter/identity/r4/u32"},          {"scatter/identity/r8/u32"},          {"scatter/identity/r16/u32"},
    {"scatter/identity/r100/u32"},        {"scatter/identity/r128/u32"},        {"scatter/identity/r1024/u32"},
    {"scatter/permutation/r4/u32"},       {"scatter/permutation/r8/u32"},       {"scatter/permutation/r16/u32"},
    {"scatter/permutation/r100/u32"},     {"scatter/permutation/r128/u32"},     {"scatter/permutation/r1024/u32"},
    {"scatter/uniform/r4/u32+last"},      {"scatter/uniform/r8/u32+last"},      {"scatter/uniform/r16/u32+last"},
    {"scatter/uniform/r100/u32+last"},    {"scatter/uniform/r128/u32+last"},    {"scatter/uniform/r1024/u32+last"},
    {"scatter/permutation/r4/u32", true}, {"scatter/permutation/r8/u32", true}, {"scatter/permutation/r16/u32", true}};

constexpr std::string_view calibrated_gathers[] = {"gather/identity/r4/u32",
                                                   "gather/identity/r16/u32",
                                                   "gather/identity/r64/u32",
                                                   "gather/permutation/r4/u32",
                                                   "gather/permutation/r16/u32",
                                                   "gather/permutation/r64/u32",
                                                   "gather/clustered:4096/r4/u32",
                                                   "gather/clustered:4096/r16/u32",
                                                   "gather/clustered:4096/r64/u32",
                                                   "gather/partitioned:256/r4/u32",
                                                   "gather/partitioned:256/r16/u32",
                                                   "gather/partitioned:256/r64/u32",
                                                   "gather/zipf/r4/u32",
                                                   "gather/zipf/r16/u32",
                                                   "gather/zipf/r64/u32"};

constexpr std::string_view calibrated_scatters[] = {
    "scatter/identity/r4/u32",        "scatter/identity/r16/u32",        "scatter/identity/r64/u32",
    "scatter/permutation/r4/u32",     "scatter/permutation/r16/u32",     "scatter/permutation/r64/u32",
    "scatter/clustered:4096/r4/u32",  "scatter/clustered:4096/r16/u32",  "scatter/clustered:4096/r64/u32",
    "scatter/partitioned:256/r4/u32", "scatter/partitioned:256/r16/u32", "scatter/partitioned:256/r64/u32"};

}  // namespace

extern const job gather_job{.primitive = "gather",
                            .samples = gather_samples,
                            .calibrated = calibrated_gathers,
                            .shapes = gather_shapes,
                            .moved_bytes = moved_bytes,
                            .unchecked = gather_unchecked,
                            .fill = fill_array,
                            .run = run_gather,
                            .count_mistakes = gather_mistakes,
                            .plain_loop = plain_gather,
                            .prepare = prepare_to_gather};

extern const job scatter_job{.primitive = "scatter",
                             .samples = scatter_samples,
                             .calibrated = calibrated_scatters,
                             .shapes = scatter_shapes,
                             .moved_bytes = moved_bytes,
                             .unchecked = scatter_unchecked,
                             .fill = fill_array,
                             .run = run_scatter,
                             .count_mistakes = scatter_mistakes,
                             .plain_loop = plain_scatter,
                             .prepare = prepare_to_scatter};

}  // namespace sheaf::jobs
