#include <sheaf/distributed/split.hpp>

#include <numeric>

#include <sheaf/gather.hpp>

#include "distributed/collectives.hpp"
#include "distributed/movement/routed_list.hpp"
#include "distributed/sort/keys.hpp"
#include "distributed/sort/moved_arrays.hpp"
#include "primitives/split/contract.hpp"

namespace sheaf::distributed {
namespace {

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

/// Offsets from this rank's numbers of records, with one number more.
std::vector<std::uint64_t> offsets_of(group_state& state, std::vector<std::uint64_t> counts) {
  all_add(state, counts);
  std::uint64_t sum = 0;
  for (std::uint64_t& count : counts) sum += std::exchange(count, sum);
  return counts;
}

std::vector<std::uint64_t> counts_of_keys(const_records keys, const key_layout& layout, std::uint64_t categories) {
  std::vector<std::uint64_t> counts(categories + 1);
  const narrow_keys category(keys, layout);
  for (std::uint64_t i = 0; i < keys.count; ++i) ++counts[category(i)];
  return counts;
}

/// Numbers of records by the offsets of their order. No category is bad.
std::vector<std::uint64_t> counts_by_primitives(group_state& state, const_records in, const split_key& key) {
  split_key of_keys = key;
  if (key.from != split_key::kind::category)
    of_keys = split_key::of(key.from == split_key::kind::record_bits ? in : key.keys, key.bits);
  std::vector<std::uint64_t> counts(of_keys.categories + 1);
  if (in.count == 0) return counts;
  const bool are_many = in.count >> 32 != 0;
  const buffer order(state.ctx, in.count * (are_many ? 8 : 4));
  const buffer offsets(state.ctx, counts.size() * sizeof(std::uint64_t));
  sheaf::split_gather_index(state.ctx, of_keys,
                            index_output(order.data(), in.count, are_many ? index_type::u64 : index_type::u32),
                            std::span(offsets.as<std::uint64_t>(), counts.size()));
  copy_bytes(state.ctx, counts.data(), offsets.data(), offsets.size());
  for (std::size_t c = 0; c + 1 < counts.size(); ++c) counts[c] = counts[c + 1] - counts[c];
  counts.back() = 0;
  return counts;
}

/// Reports the first bad category, and counts the good ones if `counts` has room for them: reads them piece by piece.
void look_at_categories(group_state& state, const split_key& key, std::uint64_t first, std::uint64_t call,
                        std::vector<std::uint64_t>& counts) {
  constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 24;
  const const_records& all = key.keys;
  const std::uint64_t rows = std::max<std::uint64_t>(1, piece_bytes / std::max<std::uint64_t>(1, all.stride_bytes));
  const key_layout layout = layout_of(sort_key{field_of(key)});
  std::vector<std::byte> piece;
  for (std::uint64_t begin = 0; begin < all.count; begin += rows) {
    const std::uint64_t count = std::min(rows, all.count - begin);
    const const_records part(all.data + begin * all.stride_bytes, count, all.record_bytes, all.stride_bytes);
    piece.resize(primitives::extent(part));
    copy_bytes(state.ctx, piece.data(), part.data, piece.size());
    const narrow_keys categories(const_records(piece.data(), count, all.record_bytes, all.stride_bytes), layout);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t category = categories(i);
      if (category < key.categories) {
        if (!counts.empty()) ++counts[category];
        continue;
      }
      state.keep_first({.call = call,
                        .position = first + begin + i,
                        .value = category,
                        .limit = key.categories,
                        .wording = &primitives::category_wording});
    }
  }
}

/// A sort leaves out the records of bad categories, which are its last ones: primitives would report them by their
/// local positions.
split_records split_by_primitives(group_state& state, const_records in, const split_key& key, balance parts,
                                  bool with_offsets, const std::vector<call_header>& headers, std::uint64_t call) {
  const std::vector<std::uint64_t> counts = counts_of(headers);
  const bool is_of_record = key.from == split_key::kind::record_bits;
  sort_request request{in, sort_key{field_of(key)}, {}, parts, true};
  if (!is_of_record) {
    request.keys = key.keys;
    request.values = {in};
    request.wants_keys = false;
  }
  const bool can_be_bad = key.from == split_key::kind::category && key.categories >> (8 * key.keys.record_bytes) == 0;
  if (can_be_bad) request.first_left_out = key.categories;
  std::vector<std::uint64_t> begins;
  if (with_offsets) request.number_begins = &begins;
  sorted_pairs sorted = sort_between_ranks(state, request, counts);
  split_records out;
  out.rows = std::move(is_of_record ? sorted.keys : sorted.values.front());
  out.where = std::move(sorted.where);
  const bool has_bad = out.where.count() < std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::vector<std::uint64_t> mine;
  if (has_bad) {
    if (with_offsets) mine.resize(key.categories + 1);
    look_at_categories(state, key, first_position(state, headers), call, mine);
  } else if (with_offsets && begins.empty()) {
    mine = counts_by_primitives(state, in, key);
  }
  // Not all categories may be numbers that a key can have.
  if (!begins.empty()) begins.resize(std::max(begins.size(), key.categories + 1), begins.back());
  if (with_offsets) out.offsets = mine.empty() ? std::move(begins) : offsets_of(state, std::move(mine));
  return out;
}

}  // namespace

split_records split(const group& ranks, const_records in, const split_key& key, balance parts, bool with_offsets) {
  return collective(ranks, [&](group_state& state, std::uint64_t call) {
    constexpr std::string_view call_name = "split";
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
    if (state.goes_by_primitives) return split_by_primitives(state, in, key, parts, with_offsets, headers, call);
    const good_records good = good_of(state, in, key, first_position(state, headers), call);
    const sort_key by{field_of(key)};
    split_records out;
    if (with_offsets) out.offsets = offsets_of(state, counts_of_keys(good.keys, layout_of(by), key.categories));
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
