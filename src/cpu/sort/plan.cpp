#include "cpu/sort/plan.hpp"

#include <bit>
#include <cmath>

#include "cpu/sort/in_cache.hpp"
#include "cpu/sort/packed_encoder.hpp"
#include "cpu/sort/vqsort.hpp"
#include "cpu/threads/core_speed.hpp"
#include "cpu/threads/parts.hpp"
#include "cpu/threads/write_combining.hpp"

namespace sheaf::cpu {
namespace {

using namespace primitives;

// Fewest words that several threads share: below, synchronization costs more than one thread needs for everything.
constexpr std::uint64_t least_shared_words = 8192;
// Most bits of a digit: as for splits, write-combining buffers beyond the second-level cache cost more than another
// pass.
constexpr std::uint32_t most_digit_bits = 11;
// Least bits of a digit: a range that one thread splits takes digits of 8 bits, and uses the write-combining buffers
// that its part has for passes by all threads.
constexpr std::uint32_t least_digit_bits = 8;

// Time of a pass over memory for one word beside streaming it, in digits. A pass counts and moves words;
// keys and payloads in two arrays go through two sets of write-combining buffers.
double digits_of_pass(const word_encoding& e) noexcept {
  if (e.content == word_content::key_and_payload) return e.word_bytes == 16 ? 3.08 : 2.31;
  return e.word_bytes == 16 ? 1.92 : 1.35;
}

// Time of a pass in cache for one word, in digits, with the pass' share of encoding words and writing rows.
double digits_of_cached_pass(const word_encoding& e) noexcept {
  if (e.word_bytes <= 4) return 0.5;
  return e.word_bytes == 16 && e.content == word_content::key_and_payload ? 1.5 : 1;
}

double digits_in_cache(const sort_problem& p, const word_encoding& e, std::uint64_t cached) noexcept {
  const auto enough = static_cast<std::uint32_t>(std::bit_width(cached)) + 2;  // as cached_digits::of chooses
  const std::uint32_t passes = (std::min(p.key.bits, enough) + cached_digit_bits - 1) / cached_digit_bits;
  return std::min(passes, most_cached_digits) * digits_of_cached_pass(e);
}

// Time to clear, scan and write out one bucket in a pass, in digits.
constexpr double digits_of_bucket = 0.769;

// Latency, in digits, of a call that one thread sorts in its cache: tables, scratch, cold code and data.
constexpr double digits_alone = 1.54e+03;

sort_scratch scratch_layout_of(const sort_problem& p, const sort_decision& decided) noexcept {
  const word_encoding& e = decided.encoding;
  const std::uint64_t parts = decided.parts;
  sort_scratch l;
  l.cached_words = std::min(p.count, cached_sort_bytes / e.word_bytes);
  const bool encodes_in_spare = e.content == word_content::key_and_payload || decided.digit_bits == 0;
  l.spare_bytes = (encodes_in_spare ? 2 : 1) * whole_write_buffers(l.cached_words * e.word_bytes);
  if (decided.digit_bits == 0) {
    l.bytes = l.spare_bytes;
    return l;
  }
  const std::uint64_t buckets = std::uint64_t{1} << decided.digit_bits;
  const std::uint64_t table = whole_write_buffers(parts * buckets * sizeof(std::uint64_t));
  const std::uint64_t buffers_of_bucket =
      e.content == word_content::key_and_payload ? 2 * write_buffer_bytes : write_buffer_bytes;
  l.cursors = table;
  l.buffers = 2 * table;
  l.properties = l.buffers + parts * buckets * buffers_of_bucket;
  l.spare = l.properties + whole_write_buffers(parts * line_bytes);
  l.words[0] = l.spare + parts * l.spare_bytes;
  const std::uint64_t array =
      e.content == word_content::key_and_payload
          ? whole_write_buffers(p.count * e.key_bytes) + whole_write_buffers(p.count * e.payload_bytes)
          : whole_write_buffers(p.count * e.word_bytes);
  l.words[1] = l.words[0] + array;
  l.bytes = e.out_holds_words ? l.words[1] : l.words[1] + array;
  return l;
}

sort_decision decide_parts(const sort_problem& p, const machine& m) {
  sort_decision decided;
  decided.encoding = encoding_of(p);
  const std::uint64_t moved = p.count * decided.encoding.stored_bytes();
  decided.parts = parts_worth(2 * moved, m.parallelism);
  decided.streams = moved > m.cache_bytes;
  return decided;
}

// Bytes of memory that reading all keys takes, and the payloads that are read with them.
std::uint64_t bytes_read(const sort_problem& p, const word_encoding& e) noexcept {
  const auto lines_of = [&](const sorted_array& a) {
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
double fewer_threads(const sort_decision& decided, const machine& m) noexcept {
  return static_cast<double>(m.parallelism) / static_cast<double>(decided.parts);
}

// Adds the time of streaming `bytes`, of which `once` are the call's own arrays; the others are passes over words.
void add_streamed(std::uint64_t bytes, std::uint64_t once, const machine& m, const sort_decision& decided,
                  plan::planned& plan) {
  plan.add("streamed", m.streamed(bytes, first_seen(once, m)) * fewer_threads(decided, m));
}

// Adds the time of gathering rows and values when their order is known.
void add_fetches(const sort_problem& p, const sort_decision& decided, const machine& m, plan::planned& plan) {
  if (decided.encoding.content != word_content::key_and_index || p.product == sort_product::gather_index) return;
  double seconds = 0;
  const auto fetch = [&](const sorted_array& a) {
    seconds += m.random_reads(p.count, a.record_bytes, seen_before(p.count * a.in_stride_bytes, m));
  };
  if (p.writes_rows && !words_hold_rows(p, decided.encoding)) fetch(p.rows);
  for (std::uint32_t c = 0; c < p.column_count; ++c) fetch(p.columns[c]);
  plan.add("random read", seconds * fewer_threads(decided, m));
}

// Whether one thread sorts keys with values or row numbers, and 8 or 16 bytes hold key and row number. Shorter lists
// are too short for a look at their keys.
bool may_take_vectors(const sort_problem& p, const sort_decision& decided) noexcept {
  constexpr std::uint64_t least = 8192;
  if (decided.parts > 1 || p.count < least || p.key.bits > 64) return false;
  const bool is_row = decided.encoding.content == word_content::row;
  return !is_row && index_encoding_of(p).rounds == 1 && sorts_in_vectors();
}

// Time of work of so many digits, shared by the threads that work.
double shared_by(double digits, const machine& m, const sort_decision& decided) noexcept {
  return digits * digit_seconds(m) / static_cast<double>(decided.parts);
}

}  // namespace

plan::planned plan_msd(const sort_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  sort_decision decided = decide_parts(p, m);
  const word_encoding& e = decided.encoding;
  const std::uint64_t cached = cached_sort_bytes / e.word_bytes;
  const bool alone = p.count <= (decided.parts == 1 ? cached : least_shared_words);
  if (alone) decided.parts = 1;
  const auto buckets = static_cast<std::uint32_t>(std::bit_width(p.count / (cached / 2)));
  decided.digit_bits = alone ? 0 : std::clamp(buckets, least_digit_bits, most_digit_bits);
  plan::planned plan;
  decided.layout = scratch_layout_of(p, decided);
  decided.may_take_vectors = may_take_vectors(p, decided);
  if (decided.may_take_vectors) {
    const std::uint64_t words = whole_write_buffers(p.count * index_encoding_of(p).word_bytes);
    // sort.hpp promises that keys and values of 12 bytes take 1.1 times as much and 64 MiB; their words have 16.
    const bool is_promised_less = e.content == word_content::key_and_payload;
    const std::uint64_t promised = p.count * e.stored_bytes() / 10 * 11 + (std::uint64_t{64} << 20);
    decided.may_take_vectors = !is_promised_less || words <= promised;
    if (decided.may_take_vectors) decided.layout.bytes = std::max(decided.layout.bytes, words);
  }
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;

  const auto count = static_cast<double>(p.count);
  plan.add("latency", alone ? digits_alone * digit_seconds(m) : m.launch_seconds + 3 * m.step_seconds);
  const std::uint64_t once = bytes_read(p, e) + bytes_written(p);
  add_streamed(alone ? once : once + bytes_read(p, e) + 2 * p.count * e.stored_bytes(), once, m, decided, plan);
  const double passes = alone ? 0 : std::max(1.0, std::log2(count / static_cast<double>(cached)) / most_digit_bits);
  plan.add("splitting", shared_by(passes * count * digits_of_pass(e), m, decided));
  // Keys of other distributions than uniform share digits, and buckets are uneven. Where one thread sorts keys and what
  // belongs to them, nothing else hides that.
  const bool is_pair = e.content == word_content::key_and_payload;
  const bool is_wide_index = e.content == word_content::key_and_index && e.word_bytes == 16;
  const double usual_keys = alone && is_pair ? 1.6 : decided.parts == 1 && is_wide_index ? 2.2 : 1;
  const double in_cache = usual_keys * digits_in_cache(p, e, std::min(p.count, cached));
  plan.add("sorting in cache", shared_by(count * in_cache, m, decided));
  add_fetches(p, decided, m, plan);
  return plan;
}

plan::planned plan_lsd(const sort_problem& p, const plan::scope& scope) {
  const machine& m = scope.machine;
  sort_decision decided = decide_parts(p, m);
  const word_encoding& e = decided.encoding;
  const std::uint32_t passes_at_most = (e.key_bits + most_digit_bits - 1) / most_digit_bits;
  const std::uint32_t digit_bits = (e.key_bits + passes_at_most - 1) / passes_at_most;
  // A part must have more words than buckets, or the scan of its counts would cost more than its words.
  const std::uint64_t most_parts = std::max<std::uint64_t>(1, p.count >> digit_bits);
  decided.parts = std::min(decided.parts, most_parts);
  decided.digit_bits = digit_bits;
  plan::planned plan;
  decided.layout = scratch_layout_of(p, decided);
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;

  const std::uint32_t passes = (p.key.bits + digit_bits - 1) / digit_bits;
  plan.add("latency", m.launch_seconds + (2 * passes + 1) * m.step_seconds);
  const std::uint64_t moved = p.count * e.stored_bytes();
  std::uint64_t streamed = 2 * bytes_read(p, e) + (3 * passes - 2) * moved;
  if (!e.out_holds_words) streamed += moved + bytes_written(p);
  add_streamed(streamed, bytes_read(p, e) + bytes_written(p), m, decided, plan);
  const double tables = digit_seconds(m) * digits_of_bucket * static_cast<double>(std::uint64_t{passes} << digit_bits);
  plan.add("splitting", tables + shared_by(passes * static_cast<double>(p.count) * digits_of_pass(e), m, decided));
  if (e.rounds > 1)
    plan.add("keys encoded again",
             (e.rounds - 1) * m.random_reads(p.count, p.rows.record_bytes, p.count * p.rows.in_stride_bytes));
  add_fetches(p, decided, m, plan);
  return plan;
}

// One thread of an EPYC with vectors of 512 bits, uniform numbers: 2^10 take 4.4 ns each, 2^14 5.9, 300,000 8.4 and
// 2^24 10.2; numbers of which many are equal take a third of that. A digit is 2.9 ns there.
plan::planned plan_vqsort(const sort_problem& p, const plan::scope& scope) {
  constexpr double digits_of_call = 300;
  constexpr double digits_of_1024 = 1.35;
  constexpr double digits_of_doubling = 0.15;
  constexpr double share_of_4_bytes = 0.55;
  constexpr double share_of_16_bytes = 1.95;
  const machine& m = scope.machine;
  sort_decision decided;
  decided.encoding = encoding_of(p);
  const bool is_word = decided.encoding.word_bytes == 4 || decided.encoding.word_bytes == 8;
  const bool is_number = decided.encoding.content == word_content::row && is_word && key_is_row(p);
  if (!is_number) decided.encoding = index_encoding_of(p);
  const word_encoding& e = decided.encoding;
  if (p.count == 0) return plan::rejected("there is nothing to sort");
  const bool is_packed = p.count <= most_packed_rows && packed_encoder<std::uint64_t>::takes(p);
  if (!is_number && (e.rounds > 1 || (e.word_bytes != 8 && !is_packed))) {
    return plan::rejected(
        "rows are not numbers of 4 or 8 bytes, 8 bytes do not hold key and row number, and rows are not up to 2^20 "
        "keys of 8 bytes side by side for an index or with one such array of values of 4 or 8 bytes");
  }
  if (!sorts_in_vectors()) return plan::rejected("the library or the processor has no vectorized sort");
  plan::planned plan;
  decided.layout.bytes = e.out_holds_words ? 0 : whole_write_buffers(p.count * e.word_bytes);
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;
  const auto count = static_cast<double>(p.count);
  plan.add("latency", digits_of_call * digit_seconds(m));
  const std::uint64_t once = bytes_read(p, e) + bytes_written(p);
  add_streamed(once, once, m, decided, plan);
  const double digits = digits_of_1024 + digits_of_doubling * std::max(0.0, std::log2(count) - 10);
  // Vectors hold twice as many numbers of 4 bytes, and half as many of 16.
  const double vectors = e.word_bytes == 4 ? share_of_4_bytes : e.word_bytes == 16 ? share_of_16_bytes : 1;
  plan.add("sorting in vectors", count * digits * vectors * digit_seconds(m));
  add_fetches(p, decided, m, plan);
  return plan;
}

}  // namespace sheaf::cpu
