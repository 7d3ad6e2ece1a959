#include "cpu/split/plan.hpp"

#include <algorithm>
#include <bit>

#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"

namespace sheaf::cpu {
namespace {

using primitives::split_problem;
using primitives::split_product;

// More buckets than the second cache holds cost more than another pass. One thread, 2^24 records of 8 bytes, Xeon of
// family 6 model 207 with 2 MB: 58 ms with 8 bits, 74 with 11, 82 with 12, 94 with 13, but 150 in two passes of 7 or 8.
constexpr std::uint32_t most_digit_bits = 12;
// Ranks need counters alone, which the second cache holds.
constexpr std::uint32_t most_rank_bits = 16;

// What counting and moving a record takes beside streaming it: some 30 instructions, and a bucket that turns out to be
// full once in 16 records of 8 bytes. Xeon of family 6 model 207.
constexpr double seconds_per_record = 2e-9;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + bucket_bytes - 1) / bucket_bytes * bucket_bytes;
}

std::uint32_t most_bits(const split_problem& p) noexcept {
  return p.product == split_product::scatter_index ? most_rank_bits : most_digit_bits;
}

// Numbers that a key can say and that are categories.
std::uint64_t split_buckets_of(const split_problem& p) noexcept {
  return std::min(p.categories, std::uint64_t{1} << p.bits.count);
}

std::uint64_t key_bytes_read(const split_problem& p) noexcept {
  return p.count * std::min(p.key_stride_bytes, std::max(p.key_bytes, line_bytes));
}

}  // namespace

bool combines_lines(const split_problem& p) noexcept {
  return std::has_single_bit(p.record_bytes) && p.record_bytes <= 16 && p.out_stride_bytes == p.record_bytes &&
         p.word_bytes >= p.record_bytes;
}

split_carries carried_by(const split_problem& p) noexcept {
  if (p.product != split_product::records || !combines_lines(p)) return split_carries::category_and_index;
  if (!p.key_is_apart()) return split_carries::records;
  return p.record_bytes == 4 || p.record_bytes == 8 ? split_carries::category_and_record
                                                    : split_carries::category_and_index;
}

std::uint64_t carried_bytes(const split_problem& p) noexcept {
  switch (carried_by(p)) {
    case split_carries::records: return p.record_bytes;
    case split_carries::category_and_record: return 2 * p.record_bytes;
    default: return p.count > std::uint64_t{1} << 32 ? 16 : 8;
  }
}

split_room::split_room(const split_problem& p, const plan::planned& plan) noexcept {
  const std::uint64_t passes = plan.parameters[split_passes];
  const std::uint64_t parts = plan.parameters[split_parts];
  buckets = passes == 1 ? split_buckets_of(p) : std::uint64_t{1} << plan.parameters[split_digit_bits];
  const bool has_lines = passes > 1 || (p.product != split_product::scatter_index && combines_lines(p));
  const std::uint64_t table = aligned(bucket_table::bytes(parts, buckets));
  starts = 0;
  next = table;
  lines = 2 * table;
  bad = lines + (has_lines ? parts * buckets * bucket_bytes : 0);
  carried[0] = bad + aligned(parts * sizeof(std::uint64_t));
  const std::uint64_t buffer = aligned(p.count * carried_bytes(p));
  const bool out_carries = carried_by(p) == split_carries::records;
  carried[1] = carried[0] + (passes > 1 ? buffer : 0);
  bytes = carried[1] + (passes > 2 && !out_carries ? buffer : 0);
}

plan::planned plan_split(const split_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  plan::planned plan;
  const std::uint32_t bits = std::max(1U, primitives::category_bits(split_buckets_of(p)));
  const std::uint32_t passes = (bits + most_bits(p) - 1) / most_bits(p);
  const std::uint64_t digit_bits = (bits + passes - 1) / passes;
  const std::uint64_t moved = p.count * p.record_bytes;
  const std::uint64_t all_bytes = 2 * moved + (p.key_is_apart() ? key_bytes_read(p) : 0);
  // A part has more to do than to scan its counts.
  const std::uint64_t most_parts = std::max<std::uint64_t>(1, p.count >> digit_bits);
  plan.parameters[split_passes] = passes;
  plan.parameters[split_digit_bits] = digit_bits;
  plan.parameters[split_parts] = std::min(parts_worth(all_bytes, m.parallelism), most_parts);
  plan.parameters[split_streams] = moved > m.cache_bytes;
  plan.scratch_bytes = split_room(p, plan).bytes;

  plan.add("latency", m.launch_seconds + 2 * passes * m.step_seconds);
  const std::uint64_t carried = p.count * carried_bytes(p);
  std::uint64_t streamed = 2 * key_bytes_read(p) + moved;  // counted, read with the key, written
  if (p.product == split_product::records && p.key_is_apart()) streamed += moved;
  // Records that do not go along are fetched with the last pass, at random.
  const bool fetches =
      passes > 1 && p.product == split_product::records && carried_by(p) == split_carries::category_and_index;
  if (fetches) plan.add("random read", m.random_reads(p.count, p.record_bytes, p.count * p.in_stride_bytes));
  if (passes > 1) streamed += (passes - 1) * 3 * carried;
  plan.add("streamed", m.streamed(streamed, all_bytes));
  plan.add("moving records",
           static_cast<double>(p.count) * passes * seconds_per_record * core_speed_ratio(m) / m.parallelism);
  return plan;
}

}  // namespace sheaf::cpu
