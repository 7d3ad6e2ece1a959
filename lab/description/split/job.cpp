#include <fmt/format.h>
#include <sheaf/split.hpp>

#include "lab/description/job.hpp"
#include "lab/description/plain_loops.hpp"
#include "lab/description/seeds.hpp"
#include "lab/description/split/calls.hpp"
#include "lab/description/split/items.hpp"

// Jobs of the splits. A record holds its number, from which its key and its other bytes follow; the check looks at
// neighbours of the output, and at checksums of all records.
namespace sheaf::jobs {
namespace {

using primitives::calls_of;

constexpr std::uint32_t most_bits_with_offsets = 20;

split_source source_of(const problem_spec& p, std::uint64_t copy) {
  return {p.keys, p.bits, p.key_bytes, p.record_bytes, p.count, records_seed + copy};
}

bool writes_index(const problem_spec& p) { return primitives::entry_of(p).writes_index; }

bool writes_scatter_index(const problem_spec& p) { return p.primitive == "split_scatter_index"; }

array_shapes shapes(const problem_spec& p) {
  const std::string keys = fmt::format("{}:b{} {} {}", inputs::name(p.keys), p.bits, p.key_bytes, p.count);
  array_shapes all;
  if (!writes_index(p)) {
    all[places::source] = {
        p.count, p.record_bytes, array_role::input,
        fmt::format("split records {} {} {}", p.record_bytes, p.count, p.key_bytes == 0 ? keys : "")};
  }
  if (p.key_bytes != 0) all[places::index] = {p.count, p.key_bytes, array_role::input, "keys " + keys};
  all[places::target] = {p.count, p.record_bytes, array_role::output};
  if (p.bits <= most_bits_with_offsets && calls_of(p) == 1) {
    all[places::offsets] = {(std::uint64_t{1} << p.bits) + 1, sizeof(std::uint64_t), array_role::side_output};
  }
  // Several calls alternate between the output and this; the check of a scatter index inverts the index into it.
  if (calls_of(p) > 1 || writes_scatter_index(p)) all[places::work] = {p.count, p.record_bytes, array_role::work};
  return all;
}

std::uint64_t moved_bytes(const problem_spec& p) {
  return p.count * ((writes_index(p) ? 1 : 2) * p.record_bytes + p.key_bytes);
}

std::string unchecked(const problem_spec& p) {
  if (p.categories != 0 || p.first_bit != 0 || p.bits_from != bit_order::little_endian) {
    return "only keys in the lowest bits are generated";
  }
  if (p.bits > primitives::most_bits_of_call * calls_of(p)) return "no call splits by so many bits";
  const bool by_number = !writes_index(p) && p.key_bytes != 0;
  return by_number && source_of(p, 0).number_bits_dropped() != 0 ? "records are too narrow to be told apart" : "";
}

void fill_array(const context& ctx, const problem_spec& p, std::uint64_t copy, std::size_t place, records array) {
  switch (place) {
    case places::source: over_items(ctx, p.count, fill_split_records{source_of(p, copy), array.data}); break;
    case places::index: over_items(ctx, p.count, fill_split_keys{source_of(p, copy), array.data}); break;
    default: wipe(ctx, array);
  }
}

std::span<std::uint64_t> offsets_of(const array_set& arrays, bool wanted) {
  const records offsets = arrays[places::offsets];
  if (!wanted || offsets.count == 0) return {};
  return {reinterpret_cast<std::uint64_t*>(offsets.data), offsets.count};
}

template <auto Split>
void run_records(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  const std::span<std::uint64_t> offsets = offsets_of(arrays, settings.with_side_outputs);
  const std::uint32_t calls = calls_of(p);
  const_records from = arrays[places::source];
  for (std::uint32_t call = 0; call < calls; ++call) {
    const records to = arrays[(calls - call) % 2 == 1 ? places::target : places::work];
    Split(ctx, from, primitives::key_of_call(p, arrays[places::index], call), to, offsets, {settings.variant});
    from = to;
  }
}

template <auto Split>
void run_index(const context& ctx, const problem_spec& p, const array_set& arrays, const call_settings& settings) {
  Split(ctx, primitives::key_of_call(p, arrays[places::index], 0), {arrays[places::target].data, p.count, p.index},
        offsets_of(arrays, settings.with_side_outputs), {settings.variant});
}

offset_check offset_check_of(const problem_spec& p, const array_set& arrays, bool with_offsets) {
  const std::span<std::uint64_t> offsets = offsets_of(arrays, with_offsets);
  return {offsets.empty() ? nullptr : offsets.data(), p.bits < 64 ? std::uint64_t{1} << p.bits : 0, p.count};
}

template <bool Stable>
std::uint64_t mistakes_of_records(const context& ctx, const problem_spec& p, const array_set& arrays,
                                  bool with_offsets) {
  const tally found = over_items(ctx, p.count,
                                 check_split_records{source_of(p, 0), arrays[places::target].data, Stable,
                                                     offset_check_of(p, arrays, with_offsets)});
  return found.mismatches + (found.sum != 0);
}

std::uint64_t mistakes_of_gather_index(const context& ctx, const problem_spec& p, const array_set& arrays,
                                       bool with_offsets) {
  return over_items(ctx, p.count,
                    check_gather_index{source_of(p, 0), arrays[places::target].data, p.record_bytes,
                                       offset_check_of(p, arrays, with_offsets)})
      .mismatches;
}

std::uint64_t mistakes_of_scatter_index(const context& ctx, const problem_spec& p, const array_set& arrays,
                                        bool with_offsets) {
  const std::byte* const found = arrays[places::target].data;
  std::byte* const inverse = arrays[places::work].data;
  over_items(ctx, p.count * p.record_bytes, fill_ones{inverse});
  const tally inverted = over_items(ctx, p.count, invert_index{found, inverse, p.record_bytes, p.count});
  if (inverted.mismatches != 0) return inverted.mismatches;
  return over_items(
             ctx, p.count,
             check_gather_index{source_of(p, 0), inverse, p.record_bytes, offset_check_of(p, arrays, with_offsets)})
      .mismatches;
}

constexpr sample split_samples[] = {{"split/uniform:b8/r4/own"},
                                    {"split/uniform:b8/r8/k32"},
                                    {"split/zipf:b11/r16/k32"},
                                    {"split/uniform:b16/r8/own"},
                                    {"split/equal:b8/r100/own"}};

constexpr sample unstable_samples[] = {{"split_unstable/uniform:b1/r8/own"}, {"split_unstable/uniform:b8/r8/k32"}};

constexpr sample gather_index_samples[] = {{"split_gather_index/uniform:b8/r4/k32"},
                                           {"split_gather_index/zipf:b11/r8/k32"}};

constexpr sample scatter_index_samples[] = {{"split_scatter_index/uniform:b8/r4/k32"},
                                            {"split_scatter_index/zipf:b11/r8/k32"}};

constexpr std::string_view calibrated_splits[] = {
    "split/uniform:b5/r4/own",  "split/uniform:b8/r4/own",   "split/uniform:b11/r4/own", "split/uniform:b16/r4/own",
    "split/uniform:b8/r16/k32", "split/uniform:b16/r16/k32", "split/uniform:b8/r100/k32"};

constexpr std::string_view calibrated_unstable[] = {
    "split_unstable/uniform:b5/r4/own",  "split_unstable/uniform:b8/r4/own",  "split_unstable/uniform:b11/r4/own",
    "split_unstable/uniform:b16/r4/own", "split_unstable/uniform:b8/r16/k32", "split_unstable/uniform:b16/r16/k32",
    "split_unstable/uniform:b8/r100/k32"};

constexpr std::string_view calibrated_gather_indices[] = {"split_gather_index/uniform:b5/r4/k32",
                                                          "split_gather_index/uniform:b8/r4/k32",
                                                          "split_gather_index/uniform:b16/r4/k32"};

constexpr std::string_view calibrated_scatter_indices[] = {"split_scatter_index/uniform:b5/r4/k32",
                                                           "split_scatter_index/uniform:b8/r4/k32",
                                                           "split_scatter_index/uniform:b16/r4/k32"};

}  // namespace

extern const job split_job{.primitive = "split",
                           .samples = split_samples,
                           .calibrated = calibrated_splits,
                           .shapes = shapes,
                           .moved_bytes = moved_bytes,
                           .unchecked = unchecked,
                           .fill = fill_array,
                           .run = run_records<split>,
                           .count_mistakes = mistakes_of_records<true>,
                           .plain_loop = plain_split};

extern const job split_unstable_job{.primitive = "split_unstable",
                                    .samples = unstable_samples,
                                    .calibrated = calibrated_unstable,
                                    .shapes = shapes,
                                    .moved_bytes = moved_bytes,
                                    .unchecked = unchecked,
                                    .fill = fill_array,
                                    .run = run_records<split_unstable>,
                                    .count_mistakes = mistakes_of_records<false>,
                                    .plain_loop = plain_split};

extern const job split_gather_index_job{.primitive = "split_gather_index",
                                        .samples = gather_index_samples,
                                        .calibrated = calibrated_gather_indices,
                                        .shapes = shapes,
                                        .moved_bytes = moved_bytes,
                                        .unchecked = unchecked,
                                        .fill = fill_array,
                                        .run = run_index<split_gather_index>,
                                        .count_mistakes = mistakes_of_gather_index,
                                        .plain_loop = plain_split};

extern const job split_scatter_index_job{.primitive = "split_scatter_index",
                                         .samples = scatter_index_samples,
                                         .calibrated = calibrated_scatter_indices,
                                         .shapes = shapes,
                                         .moved_bytes = moved_bytes,
                                         .unchecked = unchecked,
                                         .fill = fill_array,
                                         .run = run_index<split_scatter_index>,
                                         .count_mistakes = mistakes_of_scatter_index,
                                         .plain_loop = plain_split};

}  // namespace sheaf::jobs
