#include "cpu/sort/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/sort/in_cache.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

namespace sheaf::cpu {
namespace {

using primitives::sort_problem;
using primitives::sort_product;

// Below, one thread is done sooner than several agree on what to do.
constexpr std::uint64_t least_shared_words = 8192;
// As for splits, more buckets than the second cache holds cost more than another pass.
constexpr std::uint32_t most_digit_bits = 11;
// What a thread splits alone goes by digits of 8 bits, through the lines that it has for passes of all.
constexpr std::uint32_t least_digit_bits = 8;

// What a word costs beside being streamed, at pace 1. A pass counts and moves words, two arrays through two sets of
// lines.
double seconds_to_split(const sort_shape& s) noexcept {
  if (s.moves == sort_moves::payload) return s.word_bytes == 16 ? 8e-9 : 6e-9;
  return s.word_bytes == 16 ? 5e-9 : 3.5e-9;
}

// One pass in cache, and its share of making words and writing them.
double seconds_of_cached_pass(const sort_shape& s) noexcept {
  if (s.word_bytes <= 4) return 1.3e-9;
  return s.word_bytes == 16 && s.moves == sort_moves::payload ? 3.9e-9 : 2.6e-9;
}

double seconds_in_cache(const sort_problem& p, const sort_shape& s, std::uint64_t cached) noexcept {
  const auto enough = static_cast<std::uint32_t>(std::bit_width(cached)) + 2;  // as cached_digits has it
  const std::uint32_t passes = (std::min(p.key.bits, enough) + cached_digit_bits - 1) / cached_digit_bits;
  return std::min(passes, most_cached_digits) * seconds_of_cached_pass(s);
}

// To clear, scan and write out a bucket of a pass.
constexpr double seconds_of_bucket = 2e-9;

// A call that one thread does in its cache: tables, scratch, what is cold.
constexpr double seconds_alone = 4e-6;

std::uint64_t whole(std::uint64_t bytes) noexcept { return (bytes + bucket_bytes - 1) / bucket_bytes * bucket_bytes; }

}  // namespace

sort_room::sort_room(const sort_problem& p, const sort_shape& s, const plan::planned& plan) noexcept {
  const std::uint64_t parts = plan.parameters[sort_parts];
  cached_words = std::min(p.count, cached_sort_bytes / s.word_bytes);
  const bool makes_words = s.moves == sort_moves::payload || plan.parameters[sort_digit_bits] == 0;
  spare_bytes = (makes_words ? 2 : 1) * whole(cached_words * s.word_bytes);
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

// Rows are seldom in the cores' own caches when a sort begins; when they are fetched they were seen a moment ago.
std::uint64_t first_seen(std::uint64_t bytes, const machine& m) noexcept { return std::max(bytes, m.cache_bytes / 8); }
std::uint64_t seen_before(std::uint64_t bytes, const machine& m) noexcept {
  return std::max(bytes, m.cache_bytes / 64);
}

// How many times as long memory takes the threads that work as it takes all.
double fewer_threads(const plan::planned& plan, const machine& m) noexcept {
  return static_cast<double>(m.parallelism) / static_cast<double>(plan.parameters[sort_parts]);
}

// `once` of the bytes are the call's own arrays, read or written; sorting reads and writes the others again.
void add_streamed(std::uint64_t bytes, std::uint64_t once, const machine& m, plan::planned& plan) {
  plan.add("streamed", m.streamed(bytes, first_seen(once, m)) * fewer_threads(plan, m));
}

// Rows and values that are fetched one by one when their order is known.
void add_fetches(const sort_problem& p, const sort_shape& s, const machine& m, plan::planned& plan) {
  if (s.moves != sort_moves::index || p.product == sort_product::gather_index) return;
  double seconds = 0;
  const auto fetch = [&](const primitives::sorted_array& a) {
    seconds += m.random_reads(p.count, a.record_bytes, seen_before(p.count * a.in_stride_bytes, m));
  };
  if (p.writes_rows) fetch(p.rows);
  for (std::uint32_t c = 0; c < p.column_count; ++c) fetch(p.columns[c]);
  plan.add("random read", seconds * fewer_threads(plan, m));
}

// Work of `seconds` at pace 1, shared by the threads that work.
double shared_by(double seconds, const machine& m, const plan::planned& plan) noexcept {
  return seconds * core_speed_ratio(m) / static_cast<double>(plan.parameters[sort_parts]);
}

}  // namespace

plan::planned plan_msd(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  const sort_shape s = shape_of(p);
  plan::planned plan = with_parts(p, s, m);
  const std::uint64_t cached = cached_sort_bytes / s.word_bytes;
  const bool alone = p.count <= (plan.parameters[sort_parts] == 1 ? cached : least_shared_words);
  if (alone) plan.parameters[sort_parts] = 1;
  const auto buckets = static_cast<std::uint32_t>(std::bit_width(p.count / (cached / 2)));
  plan.parameters[sort_digit_bits] = alone ? 0 : std::clamp(buckets, least_digit_bits, most_digit_bits);
  plan.scratch_bytes = sort_room(p, s, plan).bytes;

  const auto count = static_cast<double>(p.count);
  plan.add("latency", alone ? seconds_alone * core_speed_ratio(m) : m.launch_seconds + 3 * m.step_seconds);
  const std::uint64_t once = bytes_read(p, s) + bytes_written(p);
  add_streamed(alone ? once : once + bytes_read(p, s) + 2 * p.count * s.stored_bytes(), once, m, plan);
  const double levels = alone ? 0 : std::max(1.0, std::log2(count / static_cast<double>(cached)) / most_digit_bits);
  plan.add("splitting", shared_by(levels * count * seconds_to_split(s), m, plan));
  plan.add("sorting in cache", shared_by(count * seconds_in_cache(p, s, std::min(p.count, cached)), m, plan));
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
  add_streamed(streamed, bytes_read(p, s) + bytes_written(p), m, plan);
  const double tables =
      core_speed_ratio(m) * seconds_of_bucket * static_cast<double>(std::uint64_t{passes} << digit_bits);
  plan.add("splitting", tables + shared_by(passes * static_cast<double>(p.count) * seconds_to_split(s), m, plan));
  if (s.rounds > 1)
    plan.add("keys anew",
             (s.rounds - 1) * m.random_reads(p.count, p.rows.record_bytes, p.count * p.rows.in_stride_bytes));
  add_fetches(p, s, m, plan);
  return plan;
}

}  // namespace sheaf::cpu
