#include <fmt/format.h>
#include <sheaf/split.hpp>

#include "lab/description/job.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/split/multi_items.hpp"

// The job of multi_split. Categories of the output follow from its offsets, so that the check needs no order of the
// memberships but the one that the output has.
namespace sheaf::jobs {
namespace {

using multi_split_places::first;
using multi_split_places::sources;
constexpr std::uint32_t most_bits = 24;

std::uint64_t categories_of(const problem_spec& p) { return std::uint64_t{1} << p.bits; }
index_type number_type(const problem_spec& p) {
  return p.indexed_count() >= std::uint64_t{1} << 32 ? index_type::u64 : index_type::u32;
}

membership_source source_of(const problem_spec& p, std::uint64_t copy) {
  return {{p.keys, p.bits, p.key_bytes, p.record_bytes, p.count, records_seed + copy},
          p.count,
          p.indexed_count(),
          p.record_bytes,
          records_seed};
}

array_shapes shapes(const problem_spec& p) {
  const std::uint64_t records = p.indexed_count();
  array_shapes all;
  all[places::source] = {records, p.record_bytes, array_role::input,
                         fmt::format("records {} {}", p.record_bytes, records)};
  all[places::index] = {p.count, p.key_bytes, array_role::input,
                        fmt::format("categories {}:b{} {}", inputs::name(p.keys), p.bits, p.count)};
  all[first] = {records + 1, sizeof(std::uint64_t), array_role::input, fmt::format("first {} {}", records, p.count)};
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  all[sources] = {p.count, bytes(number_type(p)), array_role::output};
  if (p.bits <= most_bits) all[places::offsets] = {categories_of(p) + 1, sizeof(std::uint64_t), array_role::output};
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) { return p.count * (2 * p.record_bytes + p.key_bytes); }

std::string unchecked(const problem_spec& p) {
  if (p.categories != 0 || p.bits > most_bits) return "only up to 2^24 categories, a power of two, are generated";
  return p.count > 0 && p.indexed_count() == 0 ? "memberships of no records" : "";
}

std::uint64_t* words_of(records array) { return reinterpret_cast<std::uint64_t*>(array.data); }

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: return inputs::fill_records(ctx, array, records_seed);
    case places::index:
      over_items(ctx, p.count, fill_categories{source_of(p, copy), reinterpret_cast<std::uint32_t*>(array.data)});
      return;
    case first: over_items(ctx, array.count, fill_first{source_of(p, copy), words_of(array)}); return;
    default: return wipe(ctx, array);
  }
}

void run(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const membership of{{words_of(arrays[first]), arrays[first].count}, arrays[places::index], categories_of(p)};
  multi_split(ctx, arrays[places::source], of, arrays[places::target],
              {arrays[sources].data, arrays[sources].count, number_type(p)},
              {words_of(arrays[places::offsets]), arrays[places::offsets].count}, {settings.variant});
}

std::uint64_t mistakes(const context& ctx, const problem_spec& p, const array_set& arrays, bool) {
  const std::uint64_t* const offsets = words_of(arrays[places::offsets]);
  const tally ascending =
      over_items(ctx, categories_of(p), check_ascending_offsets{offsets, categories_of(p), p.count});
  if (ascending.mismatches != 0) return ascending.mismatches;
  const tally found = over_items(ctx, p.count,
                                 check_members{source_of(p, 0), arrays[places::target].data, arrays[sources].data,
                                               arrays[sources].record_bytes, offsets, categories_of(p)});
  return found.mismatches + (found.sum != 0);
}

constexpr sample samples[] = {{"multi_split/uniform:b8:s65536/r8/k32"}, {"multi_split/zipf:b16:s30000/r12/k32"}};

}  // namespace

extern const job multi_split_job{.primitive = "multi_split",
                                 .samples = samples,
                                 .shapes = shapes,
                                 .moved_bytes = moved_bytes,
                                 .unchecked = unchecked,
                                 .fill = fill_array,
                                 .run = run,
                                 .count_mistakes = mistakes,
                                 .plain_loop = plain_multi_split};

}  // namespace sheaf::jobs
