#include <sheaf/distributed/split.hpp>

#include <sheaf/gather.hpp>

#include "distributed/collectives.hpp"
#include "distributed/movement/routed_list.hpp"
#include "distributed/sort/keys.hpp"
#include "distributed/sort/moved_arrays.hpp"
#include "primitives/split/contract.hpp"

namespace sheaf::distributed {
namespace {

constexpr std::string_view call_name = "split";
constexpr std::uint64_t most_counted = std::uint64_t{1} << 24;

/// The category as a key of sorts: a stable split is a stable sort by it.
key_field field_of(const split_key& key) {
  if (key.from == split_key::kind::category)
    return {0, static_cast<std::uint32_t>(key.keys.record_bytes), key_type::unsigned_integer};
  const bit_field& bits = key.bits;
  key_field field;
  field.offset = bits.first / 8;
  const auto first = static_cast<std::uint32_t>(bits.first % 8);
  field.bytes = (first + bits.count + 7) / 8;
  field.bit_count = bits.count;
  if (bits.order == bit_order::from_left) {
    field.type = key_type::bytes;
    field.first_bit = field.bytes * 8 - first - bits.count;
  } else {
    field.first_bit = first;
  }
  return field;
}

std::uint64_t fingerprint_of(const split_key& key) {
  std::uint64_t hash = static_cast<std::uint64_t>(key.from);
  for (const std::uint64_t n : {key.bits.first, std::uint64_t{key.bits.count},
                                static_cast<std::uint64_t>(key.bits.order), key.categories, key.keys.record_bytes})
    hash = (hash ^ n) * 0x9e3779b97f4a7c15U;
  return hash;
}

/// Records of good categories, with their keys; copies where there are bad ones.
struct good_records {
  const_records in;
  const_records keys;
  buffer in_memory;
  buffer keys_memory;
};

good_records good_of(group_state& state, const_records in, const split_key& key, std::uint64_t first,
                     std::uint64_t call) {
  good_records good{in, key.from == split_key::kind::record_bits ? in : key.keys, {}, {}};
  if (key.from != split_key::kind::category) return good;
  const narrow_keys categories(key.keys, layout_of(field_of(key)));
  std::vector<std::uint64_t> list;
  bool has_bad = false;
  for (std::uint64_t i = 0; i < in.count; ++i) {
    const std::uint64_t category = categories(i);
    if (category < key.categories) {
      if (has_bad) list.push_back(i);
      continue;
    }
    if (has_bad) continue;
    has_bad = true;
    for (std::uint64_t j = 0; j < i; ++j) list.push_back(j);
    state.keep_first({.call = call,
                      .position = first + i,
                      .value = category,
                      .limit = key.categories,
                      .wording = &primitives::category_wording});
  }
  if (!has_bad) return good;
  good.in_memory = buffer(state.ctx, list.size() * in.record_bytes);
  good.keys_memory = buffer(state.ctx, list.size() * key.keys.record_bytes);
  const records in_copy(good.in_memory.data(), list.size(), in.record_bytes);
  const records keys_copy(good.keys_memory.data(), list.size(), key.keys.record_bytes);
  sheaf::gather(state.ctx, in, list, in_copy);
  sheaf::gather(state.ctx, key.keys, list, keys_copy);
  good.in = in_copy;
  good.keys = keys_copy;
  return good;
}

std::vector<std::uint64_t> offsets_of(group_state& state, const_records keys, const key_layout& layout,
                                      std::uint64_t categories) {
  std::vector<std::uint64_t> offsets(categories + 1);
  const narrow_keys category(keys, layout);
  for (std::uint64_t i = 0; i < keys.count; ++i) ++offsets[category(i)];
  all_add(state, offsets);
  std::uint64_t sum = 0;
  for (std::uint64_t& offset : offsets) sum += std::exchange(offset, sum);
  return offsets;
}

}  // namespace

split_records split(const group& ranks, const_records in, const split_key& key, balance parts, bool with_offsets) {
  return collective(ranks, [&](group_state& state, std::uint64_t call) {
    const agreed_value values[] = {{"the width of a record", in.record_bytes},
                                   agreed_digest("the key", fingerprint_of(key)),
                                   {"balance", static_cast<std::uint64_t>(parts)},
                                   {"with_offsets", with_offsets ? 1U : 0U}};
    const std::uint64_t shared[] = {in.count};
    const auto headers = state.agree(call_name, values, shared, [&] {
      primitives::require_enumerator(call_name, "balance", parts, balance::by_key);
      sheaf::explain_split(state.ctx, in, key);
      primitives::require_memory(call_name, state.ctx, in.data, primitives::extent(in), "in");
      if (key.from != split_key::kind::record_bits)
        primitives::require_memory(call_name, state.ctx, key.keys.data, primitives::extent(key.keys), "keys");
      if (with_offsets && (key.categories == 0 || key.categories > most_counted)) {
        primitives::refuse("{}: offsets of {} categories, more than {} are counted", call_name,
                           key.categories == 0 ? "2^33 or more" : fmt::to_string(key.categories), most_counted);
      }
    });
    const good_records good = good_of(state, in, key, first_position(state, headers), call);
    const sort_key by{field_of(key)};
    split_records out;
    if (with_offsets) out.offsets = offsets_of(state, good.keys, layout_of(by), key.categories);
    const std::vector<std::uint64_t> counts = all_gather(state, good.in.count);
    if (key.from == split_key::kind::record_bits) {
      sorted_pairs sorted = sort_between_ranks(state, {good.in, by, {}, parts, true}, counts);
      out.rows = std::move(sorted.keys);
      out.where = std::move(sorted.where);
    } else {
      sorted_pairs sorted = sort_between_ranks(state, {good.keys, by, {good.in}, parts, false}, counts);
      out.rows = std::move(sorted.values.front());
      out.where = std::move(sorted.where);
    }
    return out;
  });
}

}  // namespace sheaf::distributed
