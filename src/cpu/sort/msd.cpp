#include <omp.h>

#include <iterator>

#include "cpu/sort/call.hpp"
#include "cpu/sort/in_cache.hpp"
#include "cpu/sort/in_order.hpp"
#include "cpu/sort/vqsort.hpp"

// MSD radix sort (radix clustering; Boncz, Manegold, Kersten, VLDB 1999): passes split words by the highest bits that
// differ, until a range fits a core's cache and is sorted there. All threads together split a range that is too large
// for one, so that skewed keys keep all threads busy. Bits that all words of a range share are skipped.
namespace sheaf::cpu {
namespace {

using namespace primitives;

constexpr std::uint32_t least_msd_bits = 6;
constexpr std::uint32_t thread_digit_bits =
    8;  ///< most bits of a digit where one thread splits, with tables on its stack

template <class Array>
class msd_sort {
  using Word = typename Array::word;

 public:
  explicit msd_sort(const sort_call<Array>& call) : call_(call) {}

  void run() const {
    const std::uint64_t count = call_.count;
    const std::uint64_t parts = call_.parts;
    if (call_.digit_bits == 0) return sort_all_in_cache();
    std::vector<range> shared_ranges{{{0, count}, call_.encoded_rows, 0, false}};
    std::vector<range> thread_ranges;
    const std::uint64_t most_words_of_thread = std::max(call_.layout.cached_words, count / (2 * parts));
    const pass_scratch<Word> tables = call_.tables();
    const auto emit = [&](const range& r) {
      (r.size() > most_words_of_thread ? shared_ranges : thread_ranges).push_back(r);
    };
    while (!shared_ranges.empty()) {
      const range r = shared_ranges.back();
      shared_ranges.pop_back();
      split_range(r, parts, call_.digit_bits, tables, emit);
    }
    const auto small = [&](const range& r) { return r.size() <= call_.layout.cached_words; };
    std::partition(thread_ranges.begin(), thread_ranges.end(), [&](const range& r) { return !small(r); });
    for_each_task(thread_ranges.size(), parts, [&](std::uint64_t task) {
      sort_by_one_thread(thread_ranges[task], parts == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num()));
    });
  }

 private:
  struct range {
    word_range words;
    std::uint32_t source;
    std::uint32_t round;
    bool is_equal;  ///< all words are equal in the key bits of this round

    std::uint64_t size() const noexcept { return words.size(); }
  };

  Word* spare(std::uint64_t part) const noexcept {
    return call_.template scratch_at<Word>(call_.layout.spare + part * call_.layout.spare_bytes);
  }
  const word_reader<Word>& reader(const range& r) const noexcept { return call_.words(r.source); }

  void sort_all_in_cache() const {
    Word* const words = spare(0);
    call_.encoder.encode(0, call_.count, 0, words);
    call_.encoder.write_rows(0, call_.count,
                             sort_rounds_in_cache(words, words + call_.layout.cached_words, call_.count, call_.mask,
                                                  call_.encoder, 0, call_.rounds));
  }

  // The digit below bit `end`, which is one past the highest bit that differs. It is just wide enough that buckets of
  // uniform words fit the cache.
  pass_digit digit_ending_at(std::uint32_t end, std::uint64_t count, std::uint32_t most_bits) const noexcept {
    const std::uint64_t target = std::max<std::uint64_t>(1, call_.layout.cached_words * 2 / 3);
    const std::uint32_t wanted =
        std::max(least_msd_bits, static_cast<std::uint32_t>(std::bit_width((count - 1) / target)));
    const std::uint32_t last = std::max(end, call_.lowest_key_bit + 1);
    const std::uint32_t bits = std::min({wanted, most_bits, last - call_.lowest_key_bit});
    return {last - bits, bits};
  }

  // Properties of a sample of 64 words, which mostly are those of the whole range.
  range_properties<Word> sampled_properties(const range& part) const noexcept {
    constexpr std::uint64_t samples = 64;
    Word few[samples];
    for (std::uint64_t i = 0; i < samples; ++i) {
      Word buffer;
      few[i] = *reader(part).read_keys(part.words.begin + (part.size() - 1) / (samples - 1) * i, 1, &buffer);
    }
    const word_properties<Word> properties = properties_of(few, samples, call_.mask);
    return {.differing = properties.differing, .ascends = properties.ascends};
  }

  // Splits a range by one digit and calls emit() for every bucket, or writes the range's rows if nothing is left to
  // sort.
  template <class Emit>
  void split_range(const range& part, std::uint64_t parts, std::uint32_t most_bits, const pass_scratch<Word>& tables,
                   Emit emit) const {
    if (part.is_equal) return finish_equal(part, parts, emit);
    const range_properties<Word> sampled = sampled_properties(part);
    const bool may_write_at_once = part.source == call_.encoded_rows && call_.rounds == 1;
    if (may_write_at_once && sampled.ascends &&
        write_while_in_order(call_.encoder, part.words, parts, call_.mask, tables.properties)) {
      return;
    }
    pass_digit digit = digit_ending_at(width_of(sampled.differing), part.size(), most_bits);
    const range_properties<Word> properties = count_range(reader(part), part.words, parts, call_.mask, digit, tables);
    if (properties.differing == 0) return finish_equal(part, parts, emit);
    if (may_write_at_once && properties.descends)
      return write_range_reversed(call_.encoder, reader(part), part.words, parts);
    if (const std::uint32_t end = width_of(properties.differing); end > digit.shift + digit.bits) {
      digit = digit_ending_at(end, part.size(), most_bits);
      count_range(reader(part), part.words, parts, call_.mask, digit, tables);
    }
    const std::uint32_t source = part.source == 0 ? 1 : 0;
    const bool streams = call_.streams && part.size() > call_.layout.cached_words * 16;
    const std::uint64_t* const starts =
        move_range(reader(part), part.words, parts, digit, tables, call_.arrays[source], streams).row(0);
    const bool is_equal = digit.shift <= call_.lowest_key_bit;
    for (std::uint64_t b = 0; b < digit.buckets(); ++b) {
      const std::uint64_t end = b + 1 < digit.buckets() ? starts[b + 1] : part.size();
      if (starts[b] < end) emit({{part.words.begin + starts[b], part.words.begin + end}, source, part.round, is_equal});
    }
  }

  // Equal words are in properties after the last round; before it they are encoded again for the next one.
  template <class Emit>
  void finish_equal(const range& r, std::uint64_t parts, Emit emit) const {
    if (r.round + 1 == call_.rounds) return write_range(call_.encoder, reader(r), r.words, parts);
    const std::uint32_t source = call_.begin_round(r.words, parts, r.source, r.round + 1);
    emit({r.words, source, r.round + 1, false});
  }

  void sort_by_one_thread(const range& part, std::uint64_t thread) const {
    if (part.size() > call_.layout.cached_words) return split_by_one_thread(part, thread);
    const std::uint64_t begin = part.words.begin;
    Word* words = spare(thread);
    Word* other = words + call_.layout.cached_words;
    if constexpr (Array::holds_words) {
      other = words;
      words = call_.arrays[part.source].word_at(begin);
    } else {
      call_.arrays[part.source].read(begin, part.size(), words);
    }
    if (part.is_equal && part.round + 1 == call_.rounds) return call_.encoder.write_rows(begin, part.size(), words);
    call_.encoder.write_rows(
        begin, part.size(),
        sort_rounds_in_cache(words, other, part.size(), call_.mask, call_.encoder, part.round, call_.rounds));
  }

  void split_by_one_thread(const range& whole, std::uint64_t thread) const {
    std::uint64_t starts[1U << thread_digit_bits];
    std::uint64_t next[1U << thread_digit_bits];
    range_properties<Word> properties;
    const std::uint64_t buffers_of_thread = (std::uint64_t{1} << call_.digit_bits) * Array::buffer_bytes_per_bucket;
    const pass_scratch<Word> tables{starts, next, call_.scratch + call_.layout.buffers + thread * buffers_of_thread,
                                    &properties};
    split_range(whole, 1, thread_digit_bits, tables, [&](const range& part) { sort_by_one_thread(part, thread); });
  }

  const sort_call<Array>& call_;
};

// Whether keys are crowded: in a sample many agree in as many of the highest bits that differ as tell keys at random
// apart, and differ below. Digits leave such keys together again and again.
bool are_crowded(const sort_problem& problem, const sort_buffers& buffers) noexcept {
  constexpr std::uint64_t samples = 128;
  constexpr std::uint64_t crowded = samples / 10;
  constexpr std::uint32_t table_bits = 9;
  const key_reader key(problem.key, 0, problem.key.bits);
  std::uint64_t numbers[samples];
  std::uint64_t differing = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    numbers[i] = key.of<std::uint64_t>(buffers.in.data + problem.count / samples * i * buffers.in.stride_bytes);
    differing |= numbers[i] ^ numbers[0];
  }
  const std::uint32_t end = width_of(differing);
  const std::uint32_t enough = static_cast<std::uint32_t>(std::bit_width(problem.count)) + 2;
  const std::uint32_t shift = end - std::min(end, enough);
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t first_with[1U << table_bits];  // the number of a sample, by its highest bits
  std::fill(std::begin(first_with), std::end(first_with), none);
  std::uint64_t found = 0;
  for (const std::uint64_t number : numbers) {
    std::uint64_t& first = first_with[(number >> shift) * 0x9e3779b97f4a7c15U >> (64 - table_bits)];
    if (first == none) {
      first = number;
    } else if (first != number && first >> shift == number >> shift) {
      ++found;
    }
  }
  return found >= crowded;
}

void run_msd(const context&, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
             std::byte* scratch) {
  constexpr std::uint64_t most_for_one_thread = 1 << 16;  // a larger sort has threads that look, if there are several
  const auto decided = plan.decided.get<sort_decision>();
  const bool is_for_one_thread = decided.parts == 1 || problem.count <= most_for_one_thread;
  if (is_for_one_thread && sort_what_is_in_order(problem, buffers)) return;
  if (decided.may_take_vectors && are_crowded(problem, buffers))
    return sort_row_numbers_in_vectors(problem, buffers, scratch);
  with_sort_call(problem, plan, buffers, scratch, [](const auto& call) { msd_sort(call).run(); });
}

}  // namespace

extern constinit const sort_variant sort_msd{"cpu.msd", backend_kind::cpu, plan_msd, run_msd};

}  // namespace sheaf::cpu
