#include "bench/harness/contents.hpp"

#include <fmt/format.h>

#include "bench/primitives/reduce_items.hpp"
#include "bench/primitives/sort_items.hpp"
#include "bench/primitives/split_items.hpp"

namespace sheaf::bench {
namespace {

constexpr std::uint64_t records_seed = 20070715;

inputs::pattern pattern_of_copy(const problem& p, std::uint64_t copy) {
  inputs::pattern pattern = p.pattern;
  pattern.seed += copy;
  return pattern;
}

split_source split_of(const problem& p, std::uint64_t copy) {
  return {p.keys, p.bits, p.key_bytes, p.record_bytes, p.count, records_seed + copy};
}

sort_source sort_of(const problem& p, std::uint64_t copy) {
  return {.distribution = p.keys,
          .type = p.number,
          .key_bytes = static_cast<std::uint32_t>(p.key_bytes),
          .first_bit = p.first_bit,
          .bits = p.bits,
          .record_bytes = p.record_bytes,
          .keys_in_rows = keys_in_rows(p.primitive),
          .count = p.count,
          .seed = records_seed + copy};
}

reduce_source reduce_of(const problem& p) { return {p.value, pattern_of_copy(p, 0), p.slots}; }

std::uint64_t count_scatter_index_mismatches(const context& ctx, const split_source& from, records inverse,
                                             const_records target, const offset_check& offsets) {
  const std::uint64_t width = target.record_bytes;
  over_items(ctx, target.count * width, fill_ones{inverse.data});
  const tally inverted = over_items(ctx, target.count, invert_index{target.data, inverse.data, width, target.count});
  if (inverted.mismatches != 0) return inverted.mismatches;
  return over_items(ctx, target.count, check_gather_index{from, inverse.data, width, offsets}).mismatches;
}

std::uint64_t count_split_mismatches(const context& ctx, const problem& p, records source, records target,
                                     const std::uint64_t* offsets) {
  const split_source from = split_of(p, 0);
  const offset_check check{offsets, p.bits < 64 ? std::uint64_t{1} << p.bits : 0, p.count};
  if (p.primitive == primitive::split_scatter_index) {
    return count_scatter_index_mismatches(ctx, from, source, target, check);
  }
  if (p.primitive == primitive::split_gather_index) {
    return over_items(ctx, p.count, check_gather_index{from, target.data, p.record_bytes, check}).mismatches;
  }
  const bool stable = p.primitive == primitive::split;
  const tally found = over_items(ctx, p.count, check_split_records{from, target.data, stable, check});
  return found.mismatches + (found.sum != 0);
}

std::uint64_t count_sort_mismatches(const context& ctx, const problem& p, const answer& found) {
  const sort_source from = sort_of(p, 0);
  const std::byte* const target = found.target.data;
  if (p.primitive == primitive::sort_gather_index) {
    return over_items(ctx, p.count, check_sort_index{from, target, p.record_bytes}).mismatches;
  }
  if (p.primitive == primitive::sort_keys) {
    const tally keys = over_items(ctx, p.count, check_sorted_keys{from, target});
    return keys.mismatches + (keys.sum != 0);
  }
  const std::byte* const keys = p.primitive == primitive::sort_pairs ? found.sorted_keys.data : nullptr;
  return over_items(ctx, p.count, check_sorted_rows{from, target, keys}).mismatches;
}

std::uint64_t count_reduce_mismatches(const context& ctx, const problem& p, const_records target) {
  const reduce_source from = reduce_of(p);
  const tally added = over_items(ctx, p.slots, checksum_slots{from, target.data});
  const std::uint64_t difference = added.sum - over_items(ctx, p.count, checksum_values{from}).sum;
  // Integers of 4 bytes wrap around at 2^32, and so does their weighted sum.
  const bool is_narrow = bytes(p.value) == 4 && !from.is_float();
  return added.mismatches + ((is_narrow ? difference & 0xffffffffU : difference) != 0);
}

}  // namespace

array_shapes shapes_of(const problem& p) noexcept {
  const array_shape records{p.count, p.record_bytes};
  const array_shape index{p.count, bytes(p.index)};
  const array_shape keys{p.count, p.key_bytes};
  switch (p.primitive) {
    case primitive::split:
    case primitive::split_unstable: return {records, keys, records};
    case primitive::split_gather_index: return {{}, keys, records};
    case primitive::split_scatter_index: return {records, keys, records};
    case primitive::scatter_reduce: return {records, index, {p.slots, p.record_bytes}};
    case primitive::sort_keys:
    case primitive::sort_records: return {records, {}, records};
    case primitive::sort_pairs: return {records, keys, records, keys};
    case primitive::sort_gather_index: return {{}, keys, records};
    default: return {records, index, records};
  }
}

std::string unchecked(const problem& p) {
  if (p.primitive == primitive::sort_pairs || p.primitive == primitive::sort_records) {
    return sort_of(p, 0).holds_whole_number() ? "" : "rows are too narrow to be told apart";
  }
  const bool by_number = splits(p.primitive) && !splits_index(p.primitive) && p.key_bytes != 0;
  return by_number && split_of(p, 0).number_bits_dropped() != 0 ? "records are too narrow to be told apart" : "";
}

std::string source_contents(const problem& p) {
  if (writes_index(p.primitive)) return "anything";
  if (p.primitive == primitive::scatter_reduce) return fmt::format("values {} {}", name(p.value), p.count);
  if (sorts(p.primitive)) {
    const bool with_key = keys_in_rows(p.primitive);
    return fmt::format("sort rows {} {} {}", p.record_bytes, p.count,
                       with_key ? fmt::format("{} {}", pattern_name(p), type_name(p)) : "");
  }
  if (!splits(p.primitive)) return fmt::format("records {} {}", p.record_bytes, p.count);
  const std::string keys = p.key_bytes == 0 ? pattern_name(p) : "";
  return fmt::format("split records {} {} {}", p.record_bytes, p.count, keys);
}

std::string index_contents(const problem& p) {
  if (sorts(p.primitive)) return fmt::format("sort keys {} {} {}", pattern_name(p), type_name(p), p.count);
  if (splits(p.primitive)) return fmt::format("keys {} {} {}", pattern_name(p), p.key_bytes, p.count);
  return fmt::format("index {} {} {} of {}", inputs::name(p.pattern), name(p.index), p.count,
                     p.primitive == primitive::scatter_reduce ? p.slots : p.count);
}

void fill_source(const context& ctx, const problem& p, std::uint64_t copy, records source) {
  if (writes_index(p.primitive)) return;
  if (sorts(p.primitive)) {
    over_items(ctx, p.count, fill_sort_rows{sort_of(p, copy), source.data});
  } else if (splits(p.primitive)) {
    over_items(ctx, p.count, fill_split_records{split_of(p, copy), source.data});
  } else if (p.primitive == primitive::scatter_reduce) {
    over_items(ctx, p.count, fill_values{reduce_of(p), source.data});
  } else {
    inputs::fill_records(ctx, source, records_seed);
  }
}

void fill_index(const context& ctx, const problem& p, std::uint64_t copy, records index) {
  if (sorts(p.primitive)) {
    if (!keys_in_rows(p.primitive)) over_items(ctx, p.count, fill_sort_keys{sort_of(p, copy), index.data});
    return;
  }
  if (splits(p.primitive)) {
    if (p.key_bytes != 0) over_items(ctx, p.count, fill_split_keys{split_of(p, copy), index.data});
    return;
  }
  const std::uint64_t indexed_count = p.primitive == primitive::scatter_reduce ? p.slots : p.count;
  inputs::fill_index(ctx, pattern_of_copy(p, copy), indexed_count, {index.data, p.count, p.index});
}

void wipe_target(const context& ctx, const problem& p, records target) {
  if (p.primitive == primitive::scatter_reduce) {
    over_items(ctx, p.slots, fill_slots{reduce_of(p), target.data});
  } else {
    inputs::fill_records(ctx, target, records_seed + 1);
  }
}

std::uint64_t count_mismatches(const context& ctx, const problem& p, records source, const answer& found) {
  const inputs::pattern pattern = pattern_of_copy(p, 0);
  const records target = found.target;
  if (sorts(p.primitive)) return count_sort_mismatches(ctx, p, found);
  if (splits(p.primitive)) return count_split_mismatches(ctx, p, source, target, found.offsets);
  switch (p.primitive) {
    case primitive::gather: return inputs::count_gather_mismatches(ctx, target, pattern, p.count, records_seed);
    case primitive::scatter_reduce: return count_reduce_mismatches(ctx, p, target);
    default: return inputs::count_scatter_mismatches(ctx, target, pattern, p.count, records_seed);
  }
}

}  // namespace sheaf::bench
