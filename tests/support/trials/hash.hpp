#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/hash_search.hpp>

#include "lab/inputs/pattern_function.hpp"
#include "primitives/hash/search.hpp"
#include "support/contexts.hpp"
#include "support/hash_keys.hpp"
#include "support/placed.hpp"

namespace sheaf::tests {

/// Which keys there are.
enum class key_kind : std::uint8_t {
  at_random,     ///< nearly all of them once
  in_order,      ///< 0, 1, 2, ...
  few,           ///< 25 keys
  equal,         ///< one key
  halves,        ///< half of the records have one key, the others have keys of their own
  extreme,       ///< no bits, all bits, one bit
  one_bucket,    ///< hashes that share their leading half, of which the records have the even ones: 0x5a5a5a5a...
  first_bucket,  ///< the same, with a leading half of zeros
  last_bucket,   ///< and with one of ones: what finds no place there lies behind the table that hashes reach
};
constexpr key_kind key_kinds[] = {key_kind::at_random,  key_kind::in_order,     key_kind::few,
                                  key_kind::equal,      key_kind::halves,       key_kind::extreme,
                                  key_kind::one_bucket, key_kind::first_bucket, key_kind::last_bucket};

struct hash_case {
  std::uint64_t count = 0;   ///< records
  std::uint64_t probes = 0;  ///< keys to look for
  std::uint64_t key_bytes = 8;
  key_kind kind = key_kind::at_random;
  std::uint64_t hits = 50;  ///< per cent of the probes that are some record's key
  std::uint64_t stride_bytes = 8;
  std::uint64_t misalignment = 0;
  double load = 0.8;
  std::uint64_t seed = 1;

  std::string description() const {
    constexpr const char* kinds[] = {"random",
                                     "ordered",
                                     "few",
                                     "equal",
                                     "half equal",
                                     "extreme",
                                     "in one bucket",
                                     "in the first bucket",
                                     "in the last bucket"};
    return fmt::format("{} {} keys of {} bytes, {} apart, {} bytes past a word, load {}, {} probes, {}% hits, seed {}",
                       count, kinds[static_cast<int>(kind)], key_bytes, stride_bytes, misalignment, load, probes, hits,
                       seed);
  }
  std::uint64_t cut(std::uint64_t key) const { return key_bytes == 4 ? key & 0xffffffffU : key; }
  std::uint64_t key_of(std::uint64_t record) const {
    const std::uint64_t number = inputs::mix(seed * 977 + record);
    switch (kind) {
      case key_kind::at_random: return cut(number);
      case key_kind::in_order: return cut(record);
      case key_kind::few: return cut(inputs::mix(seed + number % 25));
      case key_kind::equal: return cut(inputs::mix(seed));
      case key_kind::halves: return cut(number % 2 == 0 ? seed : number);
      case key_kind::one_bucket:
      case key_kind::first_bucket:
      case key_kind::last_bucket: return in_bucket(2 * record);
      case key_kind::extreme: break;
    }
    return cut(number % 4 == 0 ? 0 : number % 4 == 1 ? ~std::uint64_t{0} : std::uint64_t{1} << number / 4 % 64);
  }
  bool shares_buckets() const {
    return kind == key_kind::one_bucket || kind == key_kind::first_bucket || kind == key_kind::last_bucket;
  }
  /// The key whose hash is the trailing half behind the leading one of its kind.
  std::uint64_t in_bucket(std::uint64_t trailing) const {
    const std::uint64_t lead = kind == key_kind::one_bucket ? 0x5a5a5a5aU : kind == key_kind::first_bucket ? 0U : ~0U;
    if (key_bytes == 8) return key_with_hash(lead << 32 | (trailing & 0xffffffffU));
    return key_with_hash(static_cast<std::uint32_t>(lead << 16 | (trailing & 0xffffU)));
  }
  std::uint64_t probe_of(std::uint64_t i) const {
    const std::uint64_t number = inputs::mix(seed * 1009 + (i << 20));
    if (count > 0 && number % 100 < hits) return key_of(number / 100 % count);
    if (shares_buckets() && number % 3 == 0) return in_bucket(2 * (number / 3 % (count + 1)) + 1);
    // Neighbours of keys, and the keys that a table without reserved ones may mistake for an empty slot.
    if (number % 7 == 0) return 0;
    if (number % 7 == 1) return cut(~std::uint64_t{0});
    return cut(number % 7 == 2 && count > 0 ? key_of(number / 100 % count) + 1 : inputs::mix(number));
  }
};

inline hash_case drawn_hash_case(std::uint64_t count, std::uint64_t probes, std::uint64_t seed) {
  const auto draw = [seed](std::uint64_t place, std::uint64_t choices) {
    return inputs::mix(seed * 64 + place) % choices;
  };
  constexpr std::uint64_t hits[] = {0, 50, 100};
  constexpr double loads[] = {0.99, 0.8, 0.05};
  hash_case c;
  c.count = count;
  c.probes = probes;
  c.seed = seed;
  c.key_bytes = draw(0, 2) == 0 ? 4 : 8;
  c.kind = key_kinds[draw(1, std::size(key_kinds))];
  c.hits = hits[draw(2, std::size(hits))];
  c.stride_bytes = c.key_bytes + (draw(3, 2) == 0 ? 0 : draw(4, 9));
  c.misalignment = draw(5, 2) == 0 ? 0 : draw(6, 8);
  c.load = loads[draw(7, std::size(loads))];
  return c;
}

/// Memory of a case, and what must come out, made by a std::map.
struct hash_trial {
  hash_case c;
  image keys, probes;
  std::map<std::uint64_t, std::vector<std::uint64_t>> records;  ///< by key
  std::vector<std::uint64_t> offsets, ids;

  explicit hash_trial(const hash_case& from_case)
      : c(from_case),
        keys(poisoned(c.count, c.key_bytes, c.stride_bytes, c.misalignment, false)),
        probes(poisoned(c.probes, c.key_bytes, c.stride_bytes, c.misalignment, false)) {
    for (std::uint64_t i = 0; i < c.count; ++i) {
      set_entry(keys, i, c.key_of(i));
      records[c.key_of(i)].push_back(i);
    }
    offsets.push_back(0);
    for (std::uint64_t i = 0; i < c.probes; ++i) {
      set_entry(probes, i, c.probe_of(i));
      const auto found = records.find(c.probe_of(i));
      if (found != records.end()) ids.insert(ids.end(), found->second.begin(), found->second.end());
      offsets.push_back(ids.size());
    }
  }

  std::uint64_t total() const { return ids.size(); }
  std::uint64_t longest_chain() const {
    std::uint64_t longest = 0;
    for (const auto& [key, of_key] : records) longest = std::max<std::uint64_t>(longest, of_key.size());
    return longest;
  }
  /// An array of numbers as a call leaves it: the first of `entries`, and what was there before behind them.
  static image written(const std::vector<std::uint64_t>& entries, std::uint64_t count, std::uint64_t width) {
    image made = poisoned(count, width, width);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, entries.size()); ++i) set_entry(made, i, entries[i]);
    return made;
  }
  template <class Entry>
  std::vector<std::uint64_t> for_each_probe(Entry entry) const {
    std::vector<std::uint64_t> entries;
    for (std::uint64_t i = 0; i < c.probes; ++i) entries.push_back(entry(offsets[i], offsets[i + 1]));
    return entries;
  }
};

/// Runs call(output) on poisoned memory of an output, and expects these entries, and nothing written beside them.
template <class Call>
void expect_written(const context& ctx, const std::vector<std::uint64_t>& entries, std::uint64_t count,
                    std::uint64_t width, std::string_view what, Call call) {
  const image before = poisoned(count, width, width);
  const placed out(ctx, before);
  call(out.view());
  ctx.wait();
  expect_bytes(out.download(), hash_trial::written(entries, count, width), what);
}

inline std::vector<std::uint64_t> numbers_of(const context& ctx, index_span list) {
  std::vector<std::byte> copy(list.count * bytes(list.type));
  copy_bytes(ctx, copy.data(), list.data, copy.size());
  std::vector<std::uint64_t> numbers(list.count);
  for (std::uint64_t i = 0; i < list.count; ++i) {
    std::memcpy(&numbers[i], copy.data() + i * bytes(list.type), bytes(list.type));
  }
  return numbers;
}

/// Expects what hash_search returns, and what hash_search_into writes for outputs that are too short, fit and are too
/// long.
inline void expect_matches(const context& ctx, const hash_index& index, const hash_trial& t, const placed& probes,
                           std::string_view variant) {
  const hash_search_options options{.variant = variant};
  const hash_matches found = hash_search(ctx, index, probes.view(), options);
  ctx.wait();
  EXPECT_EQ(found.total, t.total());
  EXPECT_EQ(found.id_type, index.id_type());
  EXPECT_TRUE(numbers_of(ctx, found.offsets()) == t.offsets) << "offsets";
  EXPECT_TRUE(numbers_of(ctx, found.ids()) == t.ids) << "ids";
  const std::uint64_t total = t.total();
  for (const std::uint64_t capacity : {std::uint64_t{0}, std::max<std::uint64_t>(total, 1) - 1, total, total + 3}) {
    SCOPED_TRACE(fmt::format("room for {} of {} matches", capacity, total));
    expect_written(ctx, t.offsets, t.c.probes + 1, 8, "offsets", [&](records offsets) {
      expect_written(ctx, t.ids, capacity, bytes(index.id_type()), "ids", [&](records ids) {
        EXPECT_EQ(hash_search_into(ctx, index, probes.view(), {offsets.data, offsets.count, index_type::u64},
                                   {ids.data, ids.count, index.id_type()}, options),
                  total);
      });
    });
  }
}

/// Expects the answers of every search. False if the variant cannot search this index.
inline bool expect_answers(const context& ctx, const hash_index& index, const hash_trial& t, std::string_view variant) {
  const placed probes(ctx, t.probes);
  const hash_search_options options{.variant = variant};
  try {
    expect_matches(ctx, index, t, probes, variant);
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  const auto counts = t.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end - begin; });
  const auto found = t.for_each_probe([](std::uint64_t begin, std::uint64_t end) { return end > begin ? 1U : 0U; });
  const auto first = t.for_each_probe(
      [&](std::uint64_t begin, std::uint64_t end) { return end > begin ? t.ids[begin] : ~std::uint64_t{0}; });
  for (const index_type type : {index_type::u32, index_type::u64, index_type::i32}) {
    expect_written(ctx, counts, t.c.probes, bytes(type), "counts", [&](records out) {
      hash_count(ctx, index, probes.view(), {out.data, out.count, type}, options);
    });
  }
  expect_written(ctx, found, t.c.probes, 1, "found",
                 [&](records out) { hash_contains(ctx, index, probes.view(), out, options); });
  expect_written(ctx, first, t.c.probes, bytes(index.id_type()), "first ids", [&](records out) {
    hash_find(ctx, index, probes.view(), {out.data, out.count, index.id_type()}, options);
  });
  expect_bytes(probes.download(), t.probes, "probes");
  return true;
}

inline hash_index index_of(const context& ctx, const hash_trial& t, std::string_view variant) {
  const placed keys(ctx, t.keys);
  hash_index index = build_hash_index(ctx, keys.view(), {.load = t.c.load, .variant = variant});
  expect_bytes(keys.download(), t.keys, "keys");
  return index;
}

/// Whether the planner has something to choose from on this backend.
inline bool is_hash_planned_on(const context& ctx) {
  for (const auto& v : primitives::hash_build_variants()) {
    if (v.works_on(ctx.backend()) && !v.name.starts_with("reference.")) return true;
  }
  return false;
}

/// The names of a list's variants that work on a backend.
template <class Variant>
std::vector<std::string> names_on(std::span<const Variant> list, backend_kind backend) {
  std::vector<std::string> names;
  for (const Variant& v : list) {
    if (v.works_on(backend)) names.emplace_back(v.name);
  }
  return names;
}

}  // namespace sheaf::tests
