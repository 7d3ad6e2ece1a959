#include "apps/sheaf/checks/movement.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <sheaf/error.hpp>
#include <sheaf/gather.hpp>

#include "apps/sheaf/files/progress.hpp"
#include "primitives/index_reader.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t widest_word = 16;  // widest record that scatter writes at once

bool is_aligned(const_records r) noexcept {
  return reinterpret_cast<std::uintptr_t>(r.data) % r.record_bytes == 0 && r.stride_bytes % r.record_bytes == 0;
}

// The caller reports bad indices; here only their effect on the records counts.
void wait_for_records(const context& ctx) {
  try {
    ctx.wait();
  } catch (const error& e) {
    if (e.code() != error_code::bad_index) throw;
  }
}

const std::byte* record(const_records list, std::uint64_t i) { return list.data + i * list.stride_bytes; }

std::optional<std::uint64_t> first_difference(const_records expected, const_records found) {
  for (std::uint64_t i = 0; i < found.count; ++i) {
    if (std::memcmp(record(expected, i), record(found, i), found.record_bytes) != 0) return i;
  }
  return std::nullopt;
}

// The first record from `first` on that has a part of `part_bytes` which no entry that names the record has there.
std::optional<std::uint64_t> first_without_writer(const_records in, index_span index, const_records out,
                                                  const_records expected, std::uint64_t first,
                                                  std::uint64_t part_bytes) {
  const std::uint64_t parts = out.record_bytes / part_bytes;
  std::vector<bool> explained((out.count - first) * parts, false);
  const reference::index_reader entries(index, out.count);
  for (std::uint64_t i = 0; i < index.count; ++i) {
    if (!entries.in_range(i) || entries.bits(i) < first) continue;
    const std::uint64_t to = entries.bits(i);
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::uint64_t offset = part * part_bytes;
      if (std::memcmp(record(in, i) + offset, record(out, to) + offset, part_bytes) == 0) {
        explained[(to - first) * parts + part] = true;
      }
    }
  }
  for (std::uint64_t r = first; r < out.count; ++r) {
    if (std::memcmp(record(expected, r), record(out, r), out.record_bytes) == 0) continue;
    for (std::uint64_t part = 0; part < parts; ++part) {
      if (!explained[(r - first) * parts + part]) return r;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> first_gather_difference(const_records table, index_span index, const_records out) {
  const context host = context::cpu(1);
  const std::uint64_t part_count = std::max<std::uint64_t>(most_bytes_to_check_a_gather / out.record_bytes, 1);
  const buffer expected(host, std::min(part_count, out.count) * out.record_bytes);
  io::progress_step step("verifying records", io::progress_unit::items, static_cast<double>(out.count));
  for (std::uint64_t first = 0; first < out.count; first += part_count) {
    const std::uint64_t count = std::min(part_count, out.count - first);
    const records rows{expected.data(), count, out.record_bytes};
    const auto* const entries = static_cast<const std::byte*>(index.data) + first * bytes(index.type);
    gather(host, table, {entries, count, index.type}, rows, {.variant = "reference.serial"});
    wait_for_records(host);
    const const_records found(out.data + first * out.stride_bytes, count, out.record_bytes, out.stride_bytes);
    if (const auto other = first_difference(rows, found)) return first + *other;
    step.add(count);
  }
  return std::nullopt;
}

repeated_records allowed_by(duplicates repeats, const_records in, const_records out) noexcept {
  if (repeats == duplicates::last) return repeated_records::last;
  const bool is_word = std::has_single_bit(out.record_bytes) && out.record_bytes <= widest_word;
  return is_word && is_aligned(in) && is_aligned(out) ? repeated_records::whole : repeated_records::mixed;
}

std::optional<std::uint64_t> first_scatter_difference(const_records in, index_span index, const_records out,
                                                      const std::byte* before, repeated_records allowed) {
  const context host = context::cpu(1);
  const buffer expected(host, out.count * out.record_bytes);
  const records rows{expected.data(), out.count, out.record_bytes};
  if (before == nullptr && expected.size() > 0) std::memset(expected.data(), 0, expected.size());
  if (before != nullptr) copy_bytes(host, expected.data(), before, expected.size());
  constexpr scatter_options by_reference{.variant = "reference.serial"};
  {
    const explanation plan = explain_scatter(host, in, index, rows, by_reference);
    const io::progress_step step("verifying by the reference", io::progress_unit::seconds,
                                 plan.choice() != nullptr ? plan.choice()->seconds : 0);
    scatter(host, in, index, rows, by_reference);
    wait_for_records(host);
  }
  const std::optional<std::uint64_t> first = first_difference(rows, out);
  if (!first || allowed == repeated_records::last) return first;
  const std::uint64_t part_bytes = allowed == repeated_records::whole ? out.record_bytes : 1;
  return first_without_writer(in, index, out, rows, *first, part_bytes);
}

}  // namespace sheaf::jobs
