#include "apps/sheaf/checks/split.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "apps/sheaf/files/progress.hpp"
#include "primitives/split/category.hpp"

namespace sheaf::jobs {
namespace {

constexpr split_options by_reference{"reference.serial"};

std::optional<std::string> offsets_mistake(std::span<const std::uint64_t> found,
                                           std::span<const std::uint64_t> expected) {
  const auto [place, other] = std::mismatch(found.begin(), found.end(), expected.begin());
  if (place == found.end()) return std::nullopt;
  return fmt::format("offset {} is {}, but the reference's is {}", place - found.begin(), *place, *other);
}

std::optional<std::string> first_other_record(const_records found, const_records expected) {
  for (std::uint64_t i = 0; i < found.count; ++i) {
    if (std::memcmp(found.data + i * found.stride_bytes, expected.data + i * expected.stride_bytes,
                    found.record_bytes) != 0) {
      return fmt::format("record {} of the result is not that of the reference", i);
    }
  }
  return std::nullopt;
}

// Records [first, last) in the order of their bytes.
std::vector<const std::byte*> sorted_records(const_records list, std::uint64_t first, std::uint64_t last) {
  std::vector<const std::byte*> sorted;
  sorted.reserve(last - first);
  for (std::uint64_t i = first; i < last; ++i) sorted.push_back(list.data + i * list.stride_bytes);
  std::ranges::sort(sorted,
                    [&](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, list.record_bytes) < 0; });
  return sorted;
}

primitives::wide_category category_of(const_records keys, const split_key& key, std::uint64_t i) {
  const bit_field all{0, static_cast<std::uint32_t>(8 * keys.record_bytes)};
  return primitives::wide_field_of(keys.data + i * keys.stride_bytes,
                                   key.from == split_key::kind::category ? all : key.bits);
}

std::string text_of(const primitives::wide_category& c) {
  return c.high == 0 ? fmt::to_string(c.low) : fmt::format("{:#x}{:016x}", c.high, c.low);
}

// `expected` is the result of the stable split, and `numbers` are the input records that it consists of.
std::optional<std::string> first_other_category(const_records found, const_records expected, const_records keys,
                                                const split_key& key, std::span<const std::uint64_t> numbers) {
  for (std::uint64_t first = 0, last = 0; first < found.count; first = last) {
    const primitives::wide_category category = category_of(keys, key, numbers[first]);
    while (last < found.count && category_of(keys, key, numbers[last]) == category) ++last;
    const auto found_records = sorted_records(found, first, last);
    const auto expected_records = sorted_records(expected, first, last);
    const bool same =
        std::equal(found_records.begin(), found_records.end(), expected_records.begin(),
                   [&](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, found.record_bytes) == 0; });
    if (!same) return fmt::format("category {} has records other than the reference's", text_of(category));
  }
  return std::nullopt;
}

// The step of a reference's call, which says nothing of how far it is.
std::unique_ptr<io::progress_step> step_of(const explanation& plan) {
  return std::make_unique<io::progress_step>("verifying by the reference", io::progress_unit::seconds,
                                             plan.choice() != nullptr ? plan.choice()->seconds : 0);
}

std::uint64_t entry_of(index_span list, std::uint64_t i) {
  if (bytes(list.type) == 4) return static_cast<const std::uint32_t*>(list.data)[i];
  return static_cast<const std::uint64_t*>(list.data)[i];
}

}  // namespace

std::optional<std::string> split_mistake(const_records in, const split_key& key, bool stable, const_records out,
                                         std::span<const std::uint64_t> offsets) {
  const context host = context::cpu(1);
  const buffer memory(host, out.count * out.record_bytes);
  const records expected{memory.data(), out.count, out.record_bytes};
  std::vector<std::uint64_t> bounds(offsets.size());
  {
    const auto step = step_of(explain_split(host, in, key, true, by_reference));
    split(host, in, key, expected, bounds, by_reference);
    host.wait();
  }
  if (auto mistake = offsets_mistake(offsets, bounds)) return mistake;
  if (stable) return first_other_record(out, expected);
  const bool in_record = key.from == split_key::kind::record_bits;
  const const_records keys = in_record ? in : key.keys;
  std::vector<std::uint64_t> numbers(in.count);
  split_gather_index(host, in_record ? split_key::of(in, key.bits) : key, numbers, {}, by_reference);
  return first_other_category(out, expected, keys, key, numbers);
}

std::optional<std::string> split_index_mistake(const split_key& key, bool gathers, index_span index,
                                               std::span<const std::uint64_t> offsets) {
  const context host = context::cpu(1);
  const std::uint64_t width = bytes(index.type);
  const buffer memory(host, index.count * width);
  const index_output expected{memory.data(), index.count, index.type};
  std::vector<std::uint64_t> bounds(offsets.size());
  const auto step = step_of(
      (gathers ? explain_split_gather_index : explain_split_scatter_index)(host, key, index.type, by_reference));
  (gathers ? split_gather_index : split_scatter_index)(host, key, expected, bounds, by_reference);
  host.wait();
  if (auto mistake = offsets_mistake(offsets, bounds)) return mistake;
  if (auto mistake = first_other_record({index.data, index.count, width}, {memory.data(), index.count, width})) {
    return "the index is wrong: " + *mistake;
  }
  return std::nullopt;
}

std::optional<std::string> multi_split_mistake(const_records in, const membership& of, const_records out,
                                               index_span sources, std::span<const std::uint64_t> offsets) {
  const context host = context::cpu(1);
  std::vector<std::uint64_t> memberships(of.category.count);
  std::vector<std::uint64_t> bounds(offsets.size());
  split_gather_index(host, split_key::category(of.category, of.categories), memberships, bounds, by_reference);
  host.wait();
  if (auto mistake = offsets_mistake(offsets, bounds)) return mistake;
  io::progress_step step("verifying memberships", io::progress_unit::items, static_cast<double>(memberships.size()));
  for (std::uint64_t i = 0; i < memberships.size(); ++i, step.add(1)) {
    // The last record that begins at or before the membership: those before it that begin there have none.
    const auto behind = std::upper_bound(of.first.begin(), of.first.end(), memberships[i]);
    const auto record = static_cast<std::uint64_t>(behind - of.first.begin() - 1);
    if (i < sources.count && entry_of(sources, i) != record)
      return fmt::format("source {} is {}, but the reference's is {}", i, entry_of(sources, i), record);
    const auto* const expected = in.data + record * in.stride_bytes;
    if (i < out.count && std::memcmp(out.data + i * out.stride_bytes, expected, out.record_bytes) != 0)
      return fmt::format("record {} of the result is not that of the reference", i);
  }
  return std::nullopt;
}

}  // namespace sheaf::jobs
