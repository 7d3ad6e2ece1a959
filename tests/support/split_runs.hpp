#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sheaf/error.hpp>
#include <sheaf/split.hpp>

#include "primitives/split/contract.hpp"
#include "support/trials/split.hpp"

namespace sheaf::tests {

enum class product { stable, unstable, gather_index, scatter_index };
constexpr product products[] = {product::stable, product::unstable, product::gather_index, product::scatter_index};

/// The written array and the offsets of a call, as whole images.
struct split_result {
  std::vector<std::byte> written;
  std::vector<std::byte> offsets;
};

inline const image& before(const split_trial& t, product what) {
  if (what == product::gather_index) return t.gather_before;
  return what == product::scatter_index ? t.scatter_before : t.out_before;
}
inline const image& after(const split_trial& t, product what) {
  if (what == product::gather_index) return t.gather_after;
  return what == product::scatter_index ? t.scatter_after : t.out_after;
}

/// Runs the variant; false if it refuses the problem. Bad categories stay with ctx, to be thrown by wait().
inline bool run_variant(const context& ctx, const split_trial& t, product what, std::string_view variant,
                        split_result& got) {
  const placed in(ctx, t.in);
  const placed keys(ctx, t.keys);
  const placed written(ctx, before(t, what));
  const placed offsets(ctx, t.offsets_before);
  const std::span<std::uint64_t> bounds(reinterpret_cast<std::uint64_t*>(offsets.view().data), t.offsets_before.count);
  const split_key key = t.key(t.c.has_separate_key() ? const_records(keys.view()) : const_records());
  const index_output index(written.view().data, written.view().count, t.c.index);
  const split_options options{variant};
  const auto call = [&] {
    switch (what) {
      case product::stable: return split(ctx, in.view(), key, written.view(), bounds, options);
      case product::unstable: return split_unstable(ctx, in.view(), key, written.view(), bounds, options);
      case product::gather_index: return split_gather_index(ctx, key, index, bounds, options);
      case product::scatter_index: return split_scatter_index(ctx, key, index, bounds, options);
    }
  };
  try {
    call();
  } catch (const error& e) {
    if (e.code() != error_code::no_variant) throw;
    return false;
  }
  got = {written.download(), offsets.download()};
  expect_bytes(in.download(), t.in, "in");
  expect_bytes(keys.download(), t.keys, "keys");
  return true;
}

/// Puts the records of each category into the order of their bytes.
inline void sort_within_categories(image& records, const split_trial& t) {
  struct placed_record {
    std::uint64_t category;
    std::uint64_t head;  ///< first bytes, which decide nearly always
    const std::byte* bytes;
  };
  const image before = records;
  const std::uint64_t head_bytes = std::min<std::uint64_t>(records.record_bytes, 8);
  std::vector<placed_record> order;
  for (std::uint64_t i = 0; i < t.order.size(); ++i) {
    order.push_back({t.category[t.order[i]], 0, before.record(i)});
    std::memcpy(&order.back().head, before.record(i), head_bytes);
  }
  std::sort(order.begin(), order.end(), [&](const placed_record& a, const placed_record& b) {
    if (a.category != b.category) return a.category < b.category;
    if (a.head != b.head) return a.head < b.head;
    return std::memcmp(a.bytes, b.bytes, records.record_bytes) < 0;
  });
  for (std::uint64_t to = 0; to < order.size(); ++to) {
    std::memcpy(records.record(to), order[to].bytes, records.record_bytes);
  }
}

inline void expect_result(split_result got, const split_trial& t, product what) {
  expect_bytes(got.offsets, t.offsets_after, "offsets");
  if (what != product::unstable) return expect_bytes(got.written, after(t, what), "what is written");
  if (!t.out_sorted) {
    t.out_sorted = t.out_after;
    sort_within_categories(*t.out_sorted, t);
  }
  image found = t.out_after;
  found.bytes = std::move(got.written);
  sort_within_categories(found, t);
  expect_bytes(found.bytes, *t.out_sorted, "out, each category sorted");
}

/// What a variant that does not take all of split_cases() takes of them, for each product; of each backend that has it.
struct partial_split_variant {
  std::string_view name;  ///< without its backend
  std::size_t stable, unstable, gather_index, scatter_index;
  bool takes_bad_categories;
};
constexpr std::size_t all_split_cases = ~std::size_t{0};
constexpr partial_split_variant partial_split_variants[] = {
    {"by_sort", 0, 0, 0, 0, false},
    {"second_sort", 3, 3, 2, 111, false},
    {"stable", 67, 67, all_split_cases, all_split_cases, true},
    {"unordered", 3, 67, 2, 2, true},
    {"cub", 20, 20, 20, 20, true},
    {"by_index", all_split_cases, all_split_cases, 2, 2, true},
    {"one_step", 172, 172, 2, 2, false},
    {"two_step", 172, 172, 2, 2, false},
    {"iterated_split", 359, 359, 112, 2, false},
    {"hardware_atomics", 3, 172, 2, 2, false},
    {"global_atomics", 3, 172, 2, 2, false},
    {"thread_histograms", 70, 70, 2, 2, false},
    {"one_bit", 172, 172, 2, 2, false},
};
/// Null where a variant takes all.
inline const partial_split_variant* partial_split_variant_of(std::string_view variant) {
  const std::string_view form = variant.substr(variant.find('.') + 1);
  for (const partial_split_variant& v : partial_split_variants) {
    if (v.name == form) return &v;
  }
  return nullptr;
}

/// Every variant, and "" for the planner's choice.
inline std::vector<std::string> split_variant_names() {
  std::vector<std::string> names{""};
  for (const auto& v : primitives::split_variants()) names.emplace_back(v.name);
  return names;
}

}  // namespace sheaf::tests
