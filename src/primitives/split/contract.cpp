#include "primitives/split/contract.hpp"

#include "plan/choose.hpp"
#include "primitives/backends.hpp"
#include "primitives/views.hpp"

namespace sheaf {
namespace primitives {

std::span<const split_variant> split_variants() { return list_of<split_variant>(); }

std::span<const row_of_entry_variant> row_of_entry_variants() { return list_of<row_of_entry_variant>(); }

namespace {

constexpr std::uint64_t most_categories = std::uint64_t{1} << 32;

}  // namespace

void require_categories(std::string_view call, const_records category_of_record, std::uint64_t categories) {
  const std::uint64_t width = category_of_record.record_bytes;
  if (width != 1 && width != 2 && width != 4) {
    refuse("{}: categories are numbers of {} bytes, not 1, 2 or 4", call, width);
  }
  if (categories == 0 || categories > most_categories) refuse("{}: {} categories, not 1 to 2^32", call, categories);
}

void require_offsets(std::string_view call, const context& ctx, std::uint64_t categories,
                     std::span<const std::uint64_t> offsets) {
  if (offsets.empty()) return;
  if (offsets.size() != categories + 1) {
    refuse("{}: offsets has {} values, not {} for {} categories", call, offsets.size(), categories + 1, categories);
  }
  require_memory(call, ctx, offsets.data(), offsets.size_bytes(), "offsets");
  require_aligned(call, offsets.data(), 8, "offsets");
}

namespace {

bool has_wide_bits(const split_key& key) {
  return key.from != split_key::kind::category && key.bits.count > bit_field::most_counted_bits;
}

// The number of categories by the kind of a checked key, 0 where they are not counted. A key that was put together by
// hand may hold another number.
std::uint64_t categories_of(const split_key& key) {
  if (key.from == split_key::kind::category) return key.categories;
  return has_wide_bits(key) ? 0 : std::uint64_t{1} << key.bits.count;
}

void require_offsets_of(std::string_view call, const context& ctx, const split_key& key,
                        std::span<const std::uint64_t> offsets) {
  if (!offsets.empty() && has_wide_bits(key)) {
    refuse("{}: offsets has {} values, but a key of {} bits, more than {}, has too many categories for offsets", call,
           offsets.size(), key.bits.count, bit_field::most_counted_bits);
  }
  require_offsets(call, ctx, categories_of(key), offsets);
}

void require_key(std::string_view call, const split_key& key, const_records in) {
  require_enumerator(call, "the kind of the key", key.from, split_key::kind::category);
  require_enumerator(call, "the order of the key's bits", key.bits.order, bit_order::from_left);
  const const_records& keys = key.from == split_key::kind::record_bits ? in : key.keys;
  require_shape(call, keys, key.from == split_key::kind::record_bits ? "in" : "keys");
  if (key.from == split_key::kind::category) return require_categories(call, keys, key.categories);
  if (key.bits.count == 0 || key.bits.count > bit_field::most_bits) {
    refuse("{}: a key of {} bits, not 1 to {}", call, key.bits.count, bit_field::most_bits);
  }
  if (key.bits.first > keys.record_bytes * 8 || key.bits.count > keys.record_bytes * 8 - key.bits.first) {
    refuse("{}: {} bits from bit {} on reach past a record of {} bits", call, key.bits.count, key.bits.first,
           keys.record_bytes * 8);
  }
}

void require_key_of_each(std::string_view call, const split_key& key, const_records in) {
  require_key(call, key, in);
  if (key.from != split_key::kind::record_bits && key.keys.count != in.count) {
    refuse("{}: in has {} records, but there are {} keys", call, in.count, key.keys.count);
  }
}

// The part of a problem that the key decides. With record_bits `keys` are the records of in.
split_problem describe_key(const context& ctx, const split_key& key, const_records keys) {
  split_problem problem;
  problem.backend = ctx.backend();
  problem.count = keys.count;
  problem.categories = categories_of(key);
  problem.key_from = key.from;
  problem.bits = key.from == split_key::kind::category
                     ? bit_field{0, static_cast<std::uint32_t>(keys.record_bytes * 8), bit_order::little_endian}
                     : key.bits;
  problem.key_bytes = keys.record_bytes;
  problem.key_stride_bytes = keys.stride_bytes;
  problem.key_word_bytes =
      widest_word(reinterpret_cast<std::uintptr_t>(keys.data) | keys.stride_bytes | keys.record_bytes);
  return problem;
}

}  // namespace

split_problem describe_split(const context& ctx, const_records in, const split_key& key, records out, bool stable) {
  split_problem problem = describe_key(ctx, key, key.from == split_key::kind::record_bits ? in : key.keys);
  problem.stable = stable;
  problem.record_bytes = in.record_bytes;
  problem.in_stride_bytes = in.stride_bytes;
  problem.out_stride_bytes = out.stride_bytes;
  problem.word_bytes =
      widest_word(reinterpret_cast<std::uintptr_t>(in.data) | reinterpret_cast<std::uintptr_t>(out.data) |
                  in.stride_bytes | out.stride_bytes | in.record_bytes);
  return problem;
}

namespace {

split_problem describe(const context& ctx, const split_key& key, index_type type, split_product product) {
  split_problem problem = describe_key(ctx, key, key.keys);
  problem.product = product;
  problem.index = type;
  problem.record_bytes = problem.in_stride_bytes = problem.out_stride_bytes = bytes(type);
  problem.word_bytes = static_cast<std::uint32_t>(bytes(type));
  return problem;
}

// An empty span may have an address.
std::uint64_t* values_of(std::span<std::uint64_t> offsets) { return offsets.empty() ? nullptr : offsets.data(); }

void run(const context& ctx, const split_problem& p, const split_buffers& b, std::string_view forced) {
  plan::execute(name_of(p.product, p.stable), split_variants(), p, ctx, forced, b);
}

void split_records(const context& ctx, const_records in, const split_key& key, records out,
                   std::span<std::uint64_t> offsets, const split_options& options, bool stable) {
  const std::string_view call = name_of(split_product::records, stable);
  require_shape(call, in, "in");
  require_shape(call, out, "out");
  if (in.record_bytes != out.record_bytes) {
    refuse("{}: in has records of {} bytes, but out has {}", call, in.record_bytes, out.record_bytes);
  }
  if (in.count != out.count) refuse("{}: in has {} records, but out has {}", call, in.count, out.count);
  require_key_of_each(call, key, in);
  require_offsets_of(call, ctx, key, offsets);
  require_memory(call, ctx, in.data, extent(in), "in");
  require_memory(call, ctx, out.data, extent(out), "out");
  require_no_overlap(call, in.data, extent(in), "in", out.data, extent(out), "out");
  require_no_overlap(call, in.data, extent(in), "in", offsets.data(), offsets.size_bytes(), "offsets");
  require_no_overlap(call, out.data, extent(out), "out", offsets.data(), offsets.size_bytes(), "offsets");
  if (key.from != split_key::kind::record_bits) {
    require_memory(call, ctx, key.keys.data, extent(key.keys), "keys");
    require_no_overlap(call, key.keys.data, extent(key.keys), "keys", out.data, extent(out), "out");
    require_no_overlap(call, key.keys.data, extent(key.keys), "keys", offsets.data(), offsets.size_bytes(), "offsets");
  }
  if (in.count == 0 && offsets.empty()) return;
  const const_records keys = key.from == split_key::kind::record_bits ? in : key.keys;
  run(ctx, describe_split(ctx, in, key, out, stable), {in, keys, out, {}, values_of(offsets)}, options.variant);
}

void split_index(const context& ctx, const split_key& key, index_output index, std::span<std::uint64_t> offsets,
                 const split_options& options, split_product product) {
  const std::string_view call = name_of(product, true);
  if (key.from == split_key::kind::record_bits) refuse("{}: give the keys, with split_key::of or ::category", call);
  require_key(call, key, {});
  if (index.count != key.keys.count) {
    refuse("{}: the index has {} entries, but there are {} keys", call, index.count, key.keys.count);
  }
  require_index_output(call, ctx, index, "the index", index.count);
  require_offsets_of(call, ctx, key, offsets);
  require_memory(call, ctx, key.keys.data, extent(key.keys), "keys");
  const std::uint64_t index_bytes = index.count * bytes(index.type);
  require_no_overlap(call, key.keys.data, extent(key.keys), "keys", index.data, index_bytes, "the index");
  require_no_overlap(call, key.keys.data, extent(key.keys), "keys", offsets.data(), offsets.size_bytes(), "offsets");
  require_no_overlap(call, offsets.data(), offsets.size_bytes(), "offsets", index.data, index_bytes, "the index");
  if (index.count == 0 && offsets.empty()) return;
  run(ctx, describe(ctx, key, index.type, product), {{}, key.keys, {}, index, values_of(offsets)}, options.variant);
}

}  // namespace
}  // namespace primitives

void split(const context& ctx, const_records in, const split_key& key, records out, std::span<std::uint64_t> offsets,
           const split_options& options) {
  primitives::split_records(ctx, in, key, out, offsets, options, true);
}

void split_unstable(const context& ctx, const_records in, const split_key& key, records out,
                    std::span<std::uint64_t> offsets, const split_options& options) {
  primitives::split_records(ctx, in, key, out, offsets, options, false);
}

void split_gather_index(const context& ctx, const split_key& key, index_output gather_index,
                        std::span<std::uint64_t> offsets, const split_options& options) {
  primitives::split_index(ctx, key, gather_index, offsets, options, primitives::split_product::gather_index);
}

void split_scatter_index(const context& ctx, const split_key& key, index_output scatter_index,
                         std::span<std::uint64_t> offsets, const split_options& options) {
  primitives::split_index(ctx, key, scatter_index, offsets, options, primitives::split_product::scatter_index);
}

explanation explain_split(const context& ctx, const_records in, const split_key& key, bool stable,
                          const split_options& options) {
  using namespace primitives;
  const std::string_view call = name_of(split_product::records, stable);
  require_shape(call, in, "in");
  require_key_of_each(call, key, in);
  const records out(nullptr, in.count, in.record_bytes);
  return plan::explain(call, split_variants(), describe_split(ctx, in, key, out, stable), ctx, options.variant);
}

namespace {

explanation explain_index(const context& ctx, const split_key& key, index_type type, const split_options& options,
                          primitives::split_product product) {
  using namespace primitives;
  const std::string_view call = name_of(product, true);
  if (key.from == split_key::kind::record_bits) refuse("{}: give the keys, with split_key::of or ::category", call);
  require_key(call, key, {});
  require_index_width(call, type, "the index", key.keys.count);
  return plan::explain(call, split_variants(), describe(ctx, key, type, product), ctx, options.variant);
}

}  // namespace

explanation explain_split_gather_index(const context& ctx, const split_key& key, index_type type,
                                       const split_options& options) {
  return explain_index(ctx, key, type, options, primitives::split_product::gather_index);
}

explanation explain_split_scatter_index(const context& ctx, const split_key& key, index_type type,
                                        const split_options& options) {
  return explain_index(ctx, key, type, options, primitives::split_product::scatter_index);
}

}  // namespace sheaf
