#include "cpu/sort/plan.hpp"

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

sort_scratch scratch_layout_of(const sort_problem& problem, const sort_decision& decided) noexcept {
  const word_encoding& encoding = decided.encoding;
  const std::uint64_t parts = decided.parts;
  sort_scratch scratch;
  scratch.cached_words = std::min(problem.count, cached_sort_bytes / encoding.word_bytes);
  const bool encodes_in_spare = encoding.content == word_content::key_and_payload || decided.digit_bits == 0;
  scratch.spare_bytes = (encodes_in_spare ? 2 : 1) * whole_write_buffers(scratch.cached_words * encoding.word_bytes);
  if (decided.digit_bits == 0) {
    scratch.bytes = scratch.spare_bytes;
    return scratch;
  }
  const std::uint64_t buckets = std::uint64_t{1} << decided.digit_bits;
  const std::uint64_t table = whole_write_buffers(parts * buckets * sizeof(std::uint64_t));
  const std::uint64_t buffers_of_bucket =
      encoding.content == word_content::key_and_payload ? 2 * write_buffer_bytes : write_buffer_bytes;
  scratch.cursors = table;
  scratch.buffers = 2 * table;
  scratch.properties = scratch.buffers + parts * buckets * buffers_of_bucket;
  scratch.spare = scratch.properties + whole_write_buffers(parts * line_bytes);
  scratch.words[0] = scratch.spare + parts * scratch.spare_bytes;
  const std::uint64_t array = encoding.content == word_content::key_and_payload
                                  ? whole_write_buffers(problem.count * encoding.key_bytes) +
                                        whole_write_buffers(problem.count * encoding.payload_bytes)
                                  : whole_write_buffers(problem.count * encoding.word_bytes);
  scratch.words[1] = scratch.words[0] + array;
  scratch.bytes = encoding.out_holds_words ? scratch.words[1] : scratch.words[1] + array;
  return scratch;
}

sort_decision decide_parts(const sort_problem& p, const machine& machine) {
  sort_decision decided;
  decided.encoding = encoding_of(p);
  const std::uint64_t moved = p.count * decided.encoding.stored_bytes();
  decided.parts = parts_worth(2 * moved, machine.parallelism);
  decided.streams = moved > machine.cache_bytes;
  return decided;
}

// Bytes of memory that reading all keys takes, and the payloads that are read with them.
std::uint64_t bytes_read(const sort_problem& problem, const word_encoding& encoding) noexcept {
  const auto lines_of = [&](const sorted_array& a) {
    return problem.count * std::min(a.in_stride_bytes, std::max(a.record_bytes, line_bytes));
  };
  return lines_of(problem.rows) + (encoding.content == word_content::key_and_payload && !encoding.payload_is_row
                                       ? lines_of(problem.columns[0])
                                       : 0);
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
void add_fetches(const sort_problem& problem, const sort_decision& decided, const machine& machine,
                 plan::planned& plan) {
  if (decided.encoding.content != word_content::key_and_index || problem.product == sort_product::gather_index) return;
  double seconds = 0;
  const auto fetch = [&](const sorted_array& a) {
    seconds +=
        machine.random_reads(problem.count, a.record_bytes, seen_before(problem.count * a.in_stride_bytes, machine));
  };
  if (problem.writes_rows && !words_hold_rows(problem, decided.encoding)) fetch(problem.rows);
  for (std::uint32_t c = 0; c < problem.column_count; ++c) fetch(problem.columns[c]);
  plan.add("random read", seconds * fewer_threads(decided, machine));
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

plan::planned plan_msd(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  sort_decision decided = decide_parts(problem, machine);
  const word_encoding& encoding = decided.encoding;
  const std::uint64_t cached = cached_sort_bytes / encoding.word_bytes;
  const bool alone = problem.count <= (decided.parts == 1 ? cached : least_shared_words);
  if (alone) decided.parts = 1;
  const auto buckets = static_cast<std::uint32_t>(std::bit_width(problem.count / (cached / 2)));
  decided.digit_bits = alone ? 0 : std::clamp(buckets, least_digit_bits, most_digit_bits);
  plan::planned plan;
  decided.layout = scratch_layout_of(problem, decided);
  decided.may_take_vectors = may_take_vectors(problem, decided);
  if (decided.may_take_vectors) {
    const std::uint64_t words = whole_write_buffers(problem.count * index_encoding_of(problem).word_bytes);
    // sort.hpp promises that keys and values of 12 bytes take 1.1 times as much and 64 MiB; their words have 16.
    const bool is_promised_less = encoding.content == word_content::key_and_payload;
    const std::uint64_t promised = problem.count * encoding.stored_bytes() / 10 * 11 + (std::uint64_t{64} << 20);
    decided.may_take_vectors = !is_promised_less || words <= promised;
    if (decided.may_take_vectors) decided.layout.bytes = std::max(decided.layout.bytes, words);
  }
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;

  const auto count = static_cast<double>(problem.count);
  plan.add("latency",
           alone ? digits_alone * digit_seconds(machine) : machine.launch_seconds + 3 * machine.step_seconds);
  const std::uint64_t once = bytes_read(problem, encoding) + bytes_written(problem);
  add_streamed(alone ? once : once + bytes_read(problem, encoding) + 2 * problem.count * encoding.stored_bytes(), once,
               machine, decided, plan);
  const double passes = alone ? 0 : std::max(1.0, std::log2(count / static_cast<double>(cached)) / most_digit_bits);
  plan.add("splitting", shared_by(passes * count * digits_of_pass(encoding), machine, decided));
  // Keys of other distributions than uniform share digits, and buckets are uneven. Where one thread sorts keys and what
  // belongs to them, nothing else hides that.
  const bool is_pair = encoding.content == word_content::key_and_payload;
  const bool is_wide_index = encoding.content == word_content::key_and_index && encoding.word_bytes == 16;
  const double usual_keys = alone && is_pair ? 1.6 : decided.parts == 1 && is_wide_index ? 2.2 : 1;
  const double in_cache = usual_keys * digits_in_cache(problem, encoding, std::min(problem.count, cached));
  plan.add("sorting in cache", shared_by(count * in_cache, machine, decided));
  add_fetches(problem, decided, machine, plan);
  return plan;
}

plan::planned plan_lsd(const sort_problem& problem, const plan::scope& scope) {
  const machine& machine = scope.machine;
  sort_decision decided = decide_parts(problem, machine);
  const word_encoding& encoding = decided.encoding;
  const std::uint32_t passes_at_most = (encoding.key_bits + most_digit_bits - 1) / most_digit_bits;
  const std::uint32_t digit_bits = (encoding.key_bits + passes_at_most - 1) / passes_at_most;
  // A part must have more words than buckets, or the scan of its counts would cost more than its words.
  const std::uint64_t most_parts = std::max<std::uint64_t>(1, problem.count >> digit_bits);
  decided.parts = std::min(decided.parts, most_parts);
  decided.digit_bits = digit_bits;
  plan::planned plan;
  decided.layout = scratch_layout_of(problem, decided);
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;

  const std::uint32_t passes = (problem.key.bits + digit_bits - 1) / digit_bits;
  plan.add("latency", machine.launch_seconds + (2 * passes + 1) * machine.step_seconds);
  const std::uint64_t moved = problem.count * encoding.stored_bytes();
  std::uint64_t streamed = 2 * bytes_read(problem, encoding) + (3 * passes - 2) * moved;
  if (!encoding.out_holds_words) streamed += moved + bytes_written(problem);
  add_streamed(streamed, bytes_read(problem, encoding) + bytes_written(problem), machine, decided, plan);
  const double tables =
      digit_seconds(machine) * digits_of_bucket * static_cast<double>(std::uint64_t{passes} << digit_bits);
  plan.add("splitting", tables + shared_by(passes * static_cast<double>(problem.count) * digits_of_pass(encoding),
                                           machine, decided));
  if (encoding.rounds > 1)
    plan.add("keys encoded again",
             (encoding.rounds - 1) * machine.random_reads(problem.count, problem.rows.record_bytes,
                                                          problem.count * problem.rows.in_stride_bytes));
  add_fetches(problem, decided, machine, plan);
  return plan;
}

// One thread of an EPYC with vectors of 512 bits, uniform numbers: 2^10 take 4.4 ns each, 2^14 5.9, 300,000 8.4 and
// 2^24 10.2; numbers of which many are equal take a third of that. A digit is 2.9 ns there.
plan::planned plan_vqsort(const sort_problem& problem, const plan::scope& scope) {
  constexpr double digits_of_call = 300;
  constexpr double digits_of_1024 = 1.35;
  constexpr double digits_of_doubling = 0.15;
  // Vectors hold twice as many numbers of 4 bytes, and half as many of 16. Where lanes are stored slowly, of which
  // vectors of narrow numbers have more, 50,000 numbers of 4 bytes take 25 ns each, of 8 bytes 7.5, and 3000 of 16
  // bytes 19, 700,000 26 (EPYC of family 25 model 17, Highway 1.0.3).
  const bool slow = stores_lanes_slowly();
  const double share_of_4_bytes = slow ? 3.4 : 0.55;
  const double share_of_8_bytes = slow ? 1.2 : 1;
  const double share_of_16_bytes = slow ? 3.5 : 1.95;
  const machine& machine = scope.machine;
  sort_decision decided;
  decided.encoding = encoding_of(problem);
  const bool is_word = decided.encoding.word_bytes == 4 || decided.encoding.word_bytes == 8;
  const bool is_number = decided.encoding.content == word_content::row && is_word && key_is_row(problem);
  if (!is_number) decided.encoding = index_encoding_of(problem);
  const word_encoding& encoding = decided.encoding;
  if (problem.count == 0) return plan::rejected("there is nothing to sort");
  const bool is_packed = problem.count <= most_packed_rows && packed_encoder<std::uint64_t>::takes(problem);
  if (!is_number && (encoding.rounds > 1 || (encoding.word_bytes != 8 && !is_packed))) {
    return plan::rejected(
        "rows are not numbers of 4 or 8 bytes, 8 bytes do not hold key and row number, and rows are not up to 2^20 "
        "keys of 8 bytes side by side for an index or with one such array of values of 4 or 8 bytes");
  }
  if (!sorts_in_vectors()) return plan::rejected("the library or the processor has no vectorized sort");
  plan::planned plan;
  decided.layout.bytes = encoding.out_holds_words ? 0 : whole_write_buffers(problem.count * encoding.word_bytes);
  plan.decided.set(decided);
  plan.scratch_bytes = decided.layout.bytes;
  const auto count = static_cast<double>(problem.count);
  plan.add("latency", digits_of_call * digit_seconds(machine));
  const std::uint64_t once = bytes_read(problem, encoding) + bytes_written(problem);
  add_streamed(once, once, machine, decided, plan);
  const double digits = digits_of_1024 + digits_of_doubling * std::max(0.0, std::log2(count) - 10);
  const double vectors = encoding.word_bytes == 4    ? share_of_4_bytes
                         : encoding.word_bytes == 16 ? share_of_16_bytes
                                                     : share_of_8_bytes;
  plan.add("sorting in vectors", count * digits * vectors * digit_seconds(machine));
  add_fetches(problem, decided, machine, plan);
  return plan;
}

}  // namespace sheaf::cpu
