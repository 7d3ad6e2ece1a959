#include <fmt/format.h>
#include <sheaf/sort.hpp>

#include "lab/description/job.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/sort/calls.hpp"
#include "lab/description/sort/items.hpp"

// Jobs of the sorts. The rank of a key is drawn first and its bytes follow from the rank; a row holds its number, from
// which all of its bytes follow. The check compares ranks of neighbours.
namespace sheaf::jobs {
namespace {

constexpr std::uint64_t most_generated_key_bytes = 16;

bool keys_in_rows(const problem_spec& p) { return p.primitive == "sort_keys" || p.primitive == "sort_records"; }

sort_source source_of(const problem_spec& p, std::uint64_t copy) {
  return {.distribution = p.keys,
          .type = p.number,
          .key_bytes = static_cast<std::uint32_t>(p.key_bytes),
          .first_bit = p.first_bit,
          .bits = p.bits,
          .record_bytes = p.record_bytes,
          .keys_in_rows = keys_in_rows(p),
          .count = p.count,
          .seed = records_seed + copy};
}

array_shapes shapes(const problem_spec& p) {
  const std::string keys = fmt::format("{} {} {}", primitives::pattern_name(p), primitives::type_name(p), p.count);
  array_shapes all;
  if (!primitives::entry_of(p).writes_index) {
    all[places::source] = {p.count, p.record_bytes, array_role::input,
                           fmt::format("sort rows {} {} {}", p.record_bytes, p.count, keys_in_rows(p) ? keys : "")};
  }
  if (!keys_in_rows(p)) all[places::index] = {p.count, p.key_bytes, array_role::input, "sort keys " + keys};
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  if (p.primitive == "sort_pairs") {
    all[places::sorted_keys] = {p.count, p.key_bytes, array_role::output};
  }
  return all;
}

std::uint64_t bytes_of_records(const problem_spec& p) { return 2 * p.count * p.record_bytes; }
std::uint64_t bytes_of_pairs(const problem_spec& p) { return 2 * p.count * (p.record_bytes + p.key_bytes); }
std::uint64_t bytes_of_index(const problem_spec& p) { return p.count * (p.record_bytes + p.key_bytes); }

std::string unchecked(const problem_spec& p) {
  const bool is_float = p.number == key_type::floating;
  if (!p.key_fields.empty() || !p.more_value_bytes.empty() || p.key_bytes > most_generated_key_bytes ||
      (is_float && p.key_bytes != 4 && p.key_bytes != 8) || (is_float && p.bits != 8 * p.key_bytes)) {
    return "such keys are not generated";
  }
  return "";
}

std::string unchecked_rows(const problem_spec& p) {
  if (std::string why_not = unchecked(p); !why_not.empty()) return why_not;
  const bool has_room = !keys_in_rows(p) || p.record_bytes > p.key_bytes;
  return has_room && source_of(p, 0).holds_whole_number() ? "" : "rows are too narrow to be told apart";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: over_items(ctx, p.count, fill_sort_rows{source_of(p, copy), array.data}); break;
    case places::index: over_items(ctx, p.count, fill_sort_keys{source_of(p, copy), array.data}); break;
    default: wipe(ctx, array);
  }
}

void run_records(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  sort_records(ctx, arrays[places::source], primitives::key_of(p), arrays[places::target], {settings.variant});
}

void run_pairs(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const sort_column values{arrays[places::source], arrays[places::target]};
  sort_pairs(ctx, arrays[places::index], primitives::key_of(p), arrays[places::sorted_keys], std::span(&values, 1),
             {settings.variant});
}

void run_index(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  sort_gather_index(ctx, arrays[places::index], primitives::key_of(p), {arrays[places::target].data, p.count, p.index},
                    {settings.variant});
}

std::uint64_t mistakes_of_keys(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const tally keys = over_items(ctx, p.count, check_sorted_keys{source_of(p, 0), arrays[places::target].data});
  return keys.mismatches + (keys.sum != 0);
}

// The sorted keys of pairs are in an array of their own; records hold theirs.
std::uint64_t mistakes_of_rows(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const std::byte* const keys = arrays[places::sorted_keys].data;
  return over_items(ctx, p.count, check_sorted_rows{source_of(p, 0), arrays[places::target].data, keys}).mismatches;
}

std::uint64_t mistakes_of_index(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  return over_items(ctx, p.count, check_sort_index{source_of(p, 0), arrays[places::target].data, p.record_bytes})
      .mismatches;
}

constexpr sample keys_samples[] = {
    {"sort_keys/uniform/r4/u32"}, {"sort_keys/zipf/r8/u64"}, {"sort_keys/uniform/r4/f32"}, {"sort_keys/nested/r8/i64"}};

constexpr sample pairs_samples[] = {
    {"sort_pairs/uniform/r4/u32"}, {"sort_pairs/uniform/r8/u64"}, {"sort_pairs/zipf/r16/u64"}};

constexpr sample records_samples[] = {{"sort_records/uniform/r16/u64"}, {"sort_records/uniform/r100/bytes10"}};

constexpr sample index_samples[] = {{"sort_gather_index/uniform/r4/u32"}, {"sort_gather_index/uniform/r4/u64"}};

constexpr std::string_view calibrated_keys[] = {"sort_keys/uniform/r4/u32", "sort_keys/uniform/r8/u64"};

constexpr std::string_view calibrated_pairs[] = {"sort_pairs/uniform/r4/u32", "sort_pairs/uniform/r8/u64"};

constexpr std::string_view calibrated_records[] = {"sort_records/uniform/r16/u64", "sort_records/uniform/r100/bytes10"};

constexpr std::string_view calibrated_indices[] = {"sort_gather_index/uniform/r4/u32",
                                                   "sort_gather_index/uniform/r4/u64"};

}  // namespace

extern const job sort_keys_job{.primitive = "sort_keys",
                               .samples = keys_samples,
                               .calibrated = calibrated_keys,
                               .shapes = shapes,
                               .moved_bytes = bytes_of_records,
                               .unchecked = unchecked,
                               .fill = fill_array,
                               .run = run_records,
                               .count_mistakes = mistakes_of_keys,
                               .plain_loop = plain_sort_keys};

extern const job sort_pairs_job{.primitive = "sort_pairs",
                                .samples = pairs_samples,
                                .calibrated = calibrated_pairs,
                                .shapes = shapes,
                                .moved_bytes = bytes_of_pairs,
                                .unchecked = unchecked_rows,
                                .fill = fill_array,
                                .run = run_pairs,
                                .count_mistakes = mistakes_of_rows,
                                .plain_loop = plain_sort_pairs};

extern const job sort_records_job{.primitive = "sort_records",
                                  .samples = records_samples,
                                  .calibrated = calibrated_records,
                                  .shapes = shapes,
                                  .moved_bytes = bytes_of_records,
                                  .unchecked = unchecked_rows,
                                  .fill = fill_array,
                                  .run = run_records,
                                  .count_mistakes = mistakes_of_rows,
                                  .plain_loop = plain_sort_records};

extern const job sort_gather_index_job{.primitive = "sort_gather_index",
                                       .samples = index_samples,
                                       .calibrated = calibrated_indices,
                                       .shapes = shapes,
                                       .moved_bytes = bytes_of_index,
                                       .unchecked = unchecked,
                                       .fill = fill_array,
                                       .run = run_index,
                                       .count_mistakes = mistakes_of_index,
                                       .plain_loop = plain_sort_index};

}  // namespace sheaf::jobs
