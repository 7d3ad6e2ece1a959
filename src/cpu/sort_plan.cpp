#include "cpu/sort_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/parts.hpp"
#include "cpu/split_buckets.hpp"

namespace sheaf::cpu {
namespace {

using primitives::sort_problem;
using primitives::sort_product;

constexpr std::uint64_t least_shared_words = 8192;
constexpr std::uint32_t most_digit_bits = 11;

constexpr double seconds_of_bucket = 2e-9;

double seconds_to_split(const sort_shape& s) noexcept { return s.word_bytes == 16 ? 5e-9 : 3.5e-9; }

double seconds_in_cache(const sort_problem& p, const sort_shape& s, double cached) noexcept {
  const double digits = std::min<double>(p.key.bits, std::log2(cached + 1) + 2) / 9;
  return std::max(1.0, digits) * (s.word_bytes == 16 ? 3e-9 : 2e-9);
}

std::uint64_t whole(std::uint64_t bytes) noexcept { return (bytes + bucket_bytes - 1) / bucket_bytes * bucket_bytes; }

}  // namespace

sort_room::sort_room(const sort_problem& p, const sort_shape& s, const plan::planned& plan) noexcept {
  const std::uint64_t parts = plan.parameters[sort_parts];
  cached_words = std::min(p.count, cached_sort_bytes / s.word_bytes);
  const std::uint64_t spare_bytes = 2 * whole(cached_words * s.word_bytes);
  if (plan.parameters[sort_digit_bits] == 0) {
    bytes = spare_bytes;
    return;
  }
  const std::uint64_t buckets = std::uint64_t{1} << plan.parameters[sort_digit_bits];
  const std::uint64_t table = whole(parts * buckets * sizeof(std::uint64_t));
  const std::uint64_t lines_of_bucket = s.moves == sort_moves::payload ? 2 * bucket_bytes : bucket_bytes;
  next = table;
  lines = 2 * table;
  orders = lines + parts * buckets * lines_of_bucket;
  spare = orders + whole(parts * line_bytes);
  words[0] = spare + parts * spare_bytes;
  const std::uint64_t array = s.moves == sort_moves::payload
                                  ? whole(p.count * s.key_bytes) + whole(p.count * s.payload_bytes)
                                  : whole(p.count * s.word_bytes);
  words[1] = words[0] + array;
  bytes = s.out_holds_words ? words[1] : words[1] + array;
}

namespace {

plan::planned with_parts(const sort_problem& p, const sort_shape& s, const machine& m) {
  plan::planned plan;
  const std::uint64_t moved = p.count * s.stored_bytes();
  plan.parameters[sort_parts] = parts_worth(2 * moved, m.parallelism);
  plan.parameters[sort_streams] = moved > m.cache_bytes;
  return plan;
}

// Bytes that reading all keys takes, and values that go along with them.
std::uint64_t bytes_read(const sort_problem& p, const sort_shape& s) noexcept {
  const auto lines_of = [&](const primitives::sorted_array& a) {
    return p.count * std::min(a.in_stride_bytes, std::max(a.record_bytes, line_bytes));
  };
  return lines_of(p.rows) + (s.moves == sort_moves::payload && !s.payload_is_row ? lines_of(p.columns[0]) : 0);
}

std::uint64_t bytes_written(const sort_problem& p) noexcept {
  if (p.product == sort_product::gather_index) return p.count * bytes(p.index);
  std::uint64_t all = p.writes_rows ? p.count * p.rows.record_bytes : 0;
  for (std::uint32_t c = 0; c < p.column_count; ++c) all += p.count * p.columns[c].record_bytes;
  return all;
}

// Rows and values that are fetched one by one when their order is known.
void add_fetches(const sort_problem& p, const sort_shape& s, const machine& m, plan::planned& plan) {
  if (s.moves != sort_moves::index || p.product == sort_product::gather_index) return;
  double seconds = 0;
  const auto fetch = [&](const primitives::sorted_array& a) {
    seconds += m.random_reads(p.count, a.record_bytes, p.count * a.in_stride_bytes);
  };
  if (p.writes_rows) fetch(p.rows);
  for (std::uint32_t c = 0; c < p.column_count; ++c) fetch(p.columns[c]);
  plan.add("random read", seconds);
}

double shared_by(double seconds, const plan::planned& plan) noexcept {
  return seconds / static_cast<double>(plan.parameters[sort_parts]);
}

}  // namespace

plan::planned plan_msd(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  const sort_shape s = shape_of(p);
  plan::planned plan = with_parts(p, s, m);
  const std::uint64_t cached = cached_sort_bytes / s.word_bytes;
  const bool alone = p.count <= (plan.parameters[sort_parts] == 1 ? cached : least_shared_words);
  if (alone) plan.parameters[sort_parts] = 1;
  plan.parameters[sort_digit_bits] = alone ? 0 : most_digit_bits;
  plan.scratch_bytes = sort_room(p, s, plan).bytes;

  const auto count = static_cast<double>(p.count);
  plan.add("latency", alone ? m.launch_seconds / 4 : m.launch_seconds + 3 * m.step_seconds);
  const std::uint64_t moved = p.count * s.stored_bytes();
  std::uint64_t streamed = bytes_read(p, s) + bytes_written(p);
  if (!alone) streamed += bytes_read(p, s) + 2 * moved;
  plan.add("streamed", m.streamed(streamed, bytes_read(p, s) + bytes_written(p)));
  const double levels = alone ? 0 : std::max(1.0, std::log2(count / static_cast<double>(cached)) / most_digit_bits);
  plan.add("splitting", shared_by(levels * count * seconds_to_split(s), plan));
  plan.add("sorting in cache",
           shared_by(count * seconds_in_cache(p, s, std::min(count, static_cast<double>(cached))), plan));
  add_fetches(p, s, m, plan);
  return plan;
}

plan::planned plan_lsd(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  const sort_shape s = shape_of(p);
  plan::planned plan = with_parts(p, s, m);
  const std::uint32_t passes_at_most = (s.key_bits + most_digit_bits - 1) / most_digit_bits;
  const std::uint32_t digit_bits = (s.key_bits + passes_at_most - 1) / passes_at_most;
  // A part has more to do than to scan its counts.
  const std::uint64_t most_parts = std::max<std::uint64_t>(1, p.count >> digit_bits);
  plan.parameters[sort_parts] = std::min(plan.parameters[sort_parts], most_parts);
  plan.parameters[sort_digit_bits] = digit_bits;
  plan.scratch_bytes = sort_room(p, s, plan).bytes;

  const std::uint32_t passes = (p.key.bits + digit_bits - 1) / digit_bits;
  plan.add("latency", m.launch_seconds + (2 * passes + 1) * m.step_seconds);
  const std::uint64_t moved = p.count * s.stored_bytes();
  std::uint64_t streamed = 2 * bytes_read(p, s) + (3 * passes - 2) * moved;
  if (!s.out_holds_words) streamed += moved + bytes_written(p);
  plan.add("streamed", m.streamed(streamed, bytes_read(p, s) + bytes_written(p)));
  const double tables = seconds_of_bucket * static_cast<double>(std::uint64_t{passes} << digit_bits);
  plan.add("splitting", tables + shared_by(passes * static_cast<double>(p.count) * seconds_to_split(s), plan));
  if (s.rounds > 1)
    plan.add("keys anew",
             (s.rounds - 1) * m.random_reads(p.count, p.rows.record_bytes, p.count * p.rows.in_stride_bytes));
  add_fetches(p, s, m, plan);
  return plan;
}

}  // namespace sheaf::cpu
