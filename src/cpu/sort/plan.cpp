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

// Fewest words that several threads share: below, synchronization costs more than one thread needs for everything.
constexpr std::uint64_t least_shared_words = 8192;
// Most bits of a digit: as for splits, write-combining buffers beyond the second-level cache cost more than another
// pass.
constexpr std::uint32_t most_digit_bits = 11;
// Least bits of a digit: a range that one thread splits takes digits of 8 bits, and uses the write-combining buffers
// that its part has for passes by all threads.
constexpr std::uint32_t least_digit_bits = 8;

// Time of a pass over memory for one word beside streaming it, at core speed ratio 1. A pass counts and moves words;
// keys and payloads in two arrays go through two sets of write-combining buffers.
double seconds_of_pass(const word_encoding& e) noexcept {
  if (e.content == word_content::key_and_payload) return e.word_bytes == 16 ? 8e-9 : 6e-9;
  return e.word_bytes == 16 ? 5e-9 : 3.5e-9;
}

// Time of a pass in cache for one word, with the pass' share of encoding words and writing rows.
double seconds_of_cached_pass(const word_encoding& e) noexcept {
  if (e.word_bytes <= 4) return 1.3e-9;
  return e.word_bytes == 16 && e.content == word_content::key_and_payload ? 3.9e-9 : 2.6e-9;
}

double seconds_in_cache(const sort_problem& p, const word_encoding& e, std::uint64_t cached) noexcept {
  const auto enough = static_cast<std::uint32_t>(std::bit_width(cached)) + 2;  // as cached_digits::of chooses
  const std::uint32_t passes = (std::min(p.key.bits, enough) + cached_digit_bits - 1) / cached_digit_bits;
  return std::min(passes, most_cached_digits) * seconds_of_cached_pass(e);
}

// Time to clear, scan and write out one bucket in a pass.
constexpr double seconds_of_bucket = 2e-9;

// Latency of a call that one thread sorts in its cache: tables, scratch, cold code and data.
constexpr double seconds_alone = 4e-6;

}  // namespace

sort_scratch::sort_scratch(const sort_problem& p, const word_encoding& e, const plan::planned& plan) noexcept {
  const std::uint64_t parts = plan.parameters[sort_parts];
  cached_words = std::min(p.count, cached_sort_bytes / e.word_bytes);
  const bool encodes_in_spare = e.content == word_content::key_and_payload || plan.parameters[sort_digit_bits] == 0;
  spare_bytes = (encodes_in_spare ? 2 : 1) * whole_write_buffers(cached_words * e.word_bytes);
  if (plan.parameters[sort_digit_bits] == 0) {
    bytes = spare_bytes;
    return;
  }
  const std::uint64_t buckets = std::uint64_t{1} << plan.parameters[sort_digit_bits];
  const std::uint64_t table = whole_write_buffers(parts * buckets * sizeof(std::uint64_t));
  const std::uint64_t buffers_of_bucket =
      e.content == word_content::key_and_payload ? 2 * write_buffer_bytes : write_buffer_bytes;
  cursors = table;
  buffers = 2 * table;
  properties = buffers + parts * buckets * buffers_of_bucket;
  spare = properties + whole_write_buffers(parts * line_bytes);
  words[0] = spare + parts * spare_bytes;
  const std::uint64_t array =
      e.content == word_content::key_and_payload
          ? whole_write_buffers(p.count * e.key_bytes) + whole_write_buffers(p.count * e.payload_bytes)
          : whole_write_buffers(p.count * e.word_bytes);
  words[1] = words[0] + array;
  bytes = e.out_holds_words ? words[1] : words[1] + array;
}

namespace {

plan::planned with_parts(const sort_problem& p, const word_encoding& e, const machine& m) {
  plan::planned plan;
  const std::uint64_t moved = p.count * e.stored_bytes();
  plan.parameters[sort_parts] = parts_worth(2 * moved, m.parallelism);
  plan.parameters[sort_streams] = moved > m.cache_bytes;
  return plan;
}

// Bytes of memory that reading all keys takes, and the payloads that are read with them.
std::uint64_t bytes_read(const sort_problem& p, const word_encoding& e) noexcept {
  const auto lines_of = [&](const primitives::sorted_array& a) {
    return p.count * std::min(a.in_stride_bytes, std::max(a.record_bytes, line_bytes));
  };
  return lines_of(p.rows) +
         (e.content == word_content::key_and_payload && !e.payload_is_row ? lines_of(p.columns[0]) : 0);
}

std::uint64_t bytes_written(const sort_problem& p) noexcept {
  if (p.product == sort_product::gather_index) return p.count * bytes(p.index);
  std::uint64_t all = p.writes_rows ? p.count * p.rows.record_bytes : 0;
  for (std::uint32_t c = 0; c < p.column_count; ++c) all += p.count * p.columns[c].record_bytes;
  return all;
}

// Footprint that prices a sort's first read of its rows: they are seldom in the cores' own caches.
std::uint64_t first_seen(std::uint64_t bytes, const machine& m) noexcept { return std::max(bytes, m.cache_bytes / 8); }
// Footprint that prices fetching rows that the sort has read before: some are cached.
std::uint64_t seen_before(std::uint64_t bytes, const machine& m) noexcept {
  return std::max(bytes, m.cache_bytes / 64);
}

// Factor by which streaming takes the threads that work longer than all threads of the machine.
double fewer_threads(const plan::planned& plan, const machine& m) noexcept {
  return static_cast<double>(m.parallelism) / static_cast<double>(plan.parameters[sort_parts]);
}

// Adds the time of streaming `bytes`, of which `once` are the call's own arrays; the others are passes over words.
void add_streamed(std::uint64_t bytes, std::uint64_t once, const machine& m, plan::planned& plan) {
  plan.add("streamed", m.streamed(bytes, first_seen(once, m)) * fewer_threads(plan, m));
}

// Adds the time of gathering rows and values when their order is known.
void add_fetches(const sort_problem& p, const word_encoding& e, const machine& m, plan::planned& plan) {
  if (e.content != word_content::key_and_index || p.product == sort_product::gather_index) return;
  double seconds = 0;
  const auto fetch = [&](const primitives::sorted_array& a) {
    seconds += m.random_reads(p.count, a.record_bytes, seen_before(p.count * a.in_stride_bytes, m));
  };
  if (p.writes_rows) fetch(p.rows);
  for (std::uint32_t c = 0; c < p.column_count; ++c) fetch(p.columns[c]);
  plan.add("random read", seconds * fewer_threads(plan, m));
}

// Time of work of `seconds` at core speed ratio 1, shared by the threads that work.
double shared_by(double seconds, const machine& m, const plan::planned& plan) noexcept {
  return seconds * core_speed_ratio(m) / static_cast<double>(plan.parameters[sort_parts]);
}

}  // namespace

plan::planned plan_msd(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  const word_encoding e = encoding_of(p);
  plan::planned plan = with_parts(p, e, m);
  const std::uint64_t cached = cached_sort_bytes / e.word_bytes;
  const bool alone = p.count <= (plan.parameters[sort_parts] == 1 ? cached : least_shared_words);
  if (alone) plan.parameters[sort_parts] = 1;
  const auto buckets = static_cast<std::uint32_t>(std::bit_width(p.count / (cached / 2)));
  plan.parameters[sort_digit_bits] = alone ? 0 : std::clamp(buckets, least_digit_bits, most_digit_bits);
  plan.scratch_bytes = sort_scratch(p, e, plan).bytes;

  const auto count = static_cast<double>(p.count);
  plan.add("latency", alone ? seconds_alone * core_speed_ratio(m) : m.launch_seconds + 3 * m.step_seconds);
  const std::uint64_t once = bytes_read(p, e) + bytes_written(p);
  add_streamed(alone ? once : once + bytes_read(p, e) + 2 * p.count * e.stored_bytes(), once, m, plan);
  const double passes = alone ? 0 : std::max(1.0, std::log2(count / static_cast<double>(cached)) / most_digit_bits);
  plan.add("splitting", shared_by(passes * count * seconds_of_pass(e), m, plan));
  plan.add("sorting in cache", shared_by(count * seconds_in_cache(p, e, std::min(p.count, cached)), m, plan));
  add_fetches(p, e, m, plan);
  return plan;
}

plan::planned plan_lsd(const sort_problem& p, const machine& m) {
  if (p.backend != backend_kind::cpu) return plan::rejected("works on host memory");
  const word_encoding e = encoding_of(p);
  plan::planned plan = with_parts(p, e, m);
  const std::uint32_t passes_at_most = (e.key_bits + most_digit_bits - 1) / most_digit_bits;
  const std::uint32_t digit_bits = (e.key_bits + passes_at_most - 1) / passes_at_most;
  // A part must have more words than buckets, or the scan of its counts would cost more than its words.
  const std::uint64_t most_parts = std::max<std::uint64_t>(1, p.count >> digit_bits);
  plan.parameters[sort_parts] = std::min(plan.parameters[sort_parts], most_parts);
  plan.parameters[sort_digit_bits] = digit_bits;
  plan.scratch_bytes = sort_scratch(p, e, plan).bytes;

  const std::uint32_t passes = (p.key.bits + digit_bits - 1) / digit_bits;
  plan.add("latency", m.launch_seconds + (2 * passes + 1) * m.step_seconds);
  const std::uint64_t moved = p.count * e.stored_bytes();
  std::uint64_t streamed = 2 * bytes_read(p, e) + (3 * passes - 2) * moved;
  if (!e.out_holds_words) streamed += moved + bytes_written(p);
  add_streamed(streamed, bytes_read(p, e) + bytes_written(p), m, plan);
  const double tables =
      core_speed_ratio(m) * seconds_of_bucket * static_cast<double>(std::uint64_t{passes} << digit_bits);
  plan.add("splitting", tables + shared_by(passes * static_cast<double>(p.count) * seconds_of_pass(e), m, plan));
  if (e.rounds > 1)
    plan.add("keys encoded again",
             (e.rounds - 1) * m.random_reads(p.count, p.rows.record_bytes, p.count * p.rows.in_stride_bytes));
  add_fetches(p, e, m, plan);
  return plan;
}

}  // namespace sheaf::cpu
