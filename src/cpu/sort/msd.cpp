#include <omp.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "cpu/sort/call.hpp"
#include "cpu/sort/in_cache.hpp"

// Radix clustering from the highest digit on (Boncz, Manegold, Kersten, VLDB 1999): words are split by the highest bits
// that differ, until what is left of them fits a core's cache and is sorted there. Ranges too large for one thread are
// split by all together, so that skewed keys keep all busy; bits that all words of a range share are passed over.
namespace sheaf::cpu {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

constexpr std::uint32_t least_digit_bits = 6;
constexpr std::uint32_t own_digit_bits = 8;  ///< of a range that one thread splits: its tables are on the stack

template <class Array>
class msd_sort {
  using Word = typename Array::word;

 public:
  explicit msd_sort(const sort_call<Array>& call) : call_(call) {}

  void run() const {
    const std::uint64_t count = call_.count;
    const std::uint64_t parts = call_.parts;
    if (call_.digit_bits == 0) return sort_all_in_cache();
    std::vector<range> shared{{{0, count}, call_.rows, 0, false}};
    std::vector<range> jobs;
    const std::uint64_t most_alone = std::max(call_.room.cached_words, count / (2 * parts));
    const pass_tables<Word> tables = call_.tables();
    const auto keep = [&](const range& r) { (r.size() > most_alone ? shared : jobs).push_back(r); };
    while (!shared.empty()) {
      const range r = shared.back();
      shared.pop_back();
      divide(r, parts, call_.digit_bits, tables, keep);
    }
    const auto small = [&](const range& r) { return r.size() <= call_.room.cached_words; };
    std::partition(jobs.begin(), jobs.end(), [&](const range& r) { return !small(r); });
    for_each_job(jobs.size(), parts, [&](std::uint64_t job) {
      sort_alone(jobs[job], parts == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num()));
    });
  }

 private:
  struct range {
    word_range words;
    std::uint32_t side;
    std::uint32_t round;
    bool is_equal;  ///< in the bits of this round

    std::uint64_t size() const noexcept { return words.size(); }
  };

  Word* spare(std::uint64_t part) const noexcept {
    return call_.template at<Word>(call_.room.spare + part * call_.room.spare_bytes);
  }
  const word_reader<Word>& reader(const range& r) const noexcept { return call_.words(r.side); }

  void sort_all_in_cache() const {
    Word* const words = spare(0);
    call_.maker.make(0, call_.count, 0, words);
    call_.maker.write(0, call_.count,
                      sort_rounds_in_cache(words, words + call_.room.cached_words, call_.count, call_.mask, call_.maker,
                                           0, call_.rounds));
  }

  // The digit that begins with the highest bit of those that differ, no wider than worth it for so many words.
  pass_digit digit_below(std::uint32_t end, std::uint64_t count, std::uint32_t most_bits) const noexcept {
    const std::uint64_t target = std::max<std::uint64_t>(1, call_.room.cached_words * 2 / 3);
    const std::uint32_t wanted =
        std::max(least_digit_bits, static_cast<std::uint32_t>(std::bit_width((count - 1) / target)));
    const std::uint32_t last = std::max(end, call_.key_low + 1);
    const std::uint32_t bits = std::min({wanted, most_bits, last - call_.key_low});
    return {last - bits, bits};
  }

  // What a few words of the range are like is mostly what all are.
  range_order<Word> likely_order(const range& r) const noexcept {
    constexpr std::uint64_t samples = 64;
    Word few[samples];
    for (std::uint64_t i = 0; i < samples; ++i) {
      Word room;
      few[i] = *reader(r).read_keys(r.words.begin + (r.size() - 1) / (samples - 1) * i, 1, &room);
    }
    const word_order<Word> order = order_of(few, samples, call_.mask);
    return {.differing = order.differing, .ascends = order.ascends};
  }

  // Splits a range into others that keep() gets, or finishes it where nothing is left to do.
  template <class Keep>
  void divide(const range& r, std::uint64_t parts, std::uint32_t most_bits, const pass_tables<Word>& tables,
              Keep keep) const {
    if (r.is_equal) return finish_equal(r, parts, keep);
    const range_order<Word> likely = likely_order(r);
    const bool in_order_is_done = r.side == call_.rows && call_.rounds == 1;
    if (in_order_is_done && likely.ascends &&
        write_while_in_order(call_.maker, r.words, parts, call_.mask, tables.orders)) {
      return;
    }
    pass_digit digit = digit_below(width_of(likely.differing), r.size(), most_bits);
    const range_order<Word> order = count_range(reader(r), r.words, parts, call_.mask, digit, tables);
    if (order.differing == 0) return finish_equal(r, parts, keep);
    if (in_order_is_done && order.descends) return write_range_reversed(call_.maker, reader(r), r.words, parts);
    if (const std::uint32_t end = width_of(order.differing); end > digit.shift + digit.bits) {
      digit = digit_below(end, r.size(), most_bits);
      count_range(reader(r), r.words, parts, call_.mask, digit, tables);
    }
    const std::uint32_t side = r.side == 0 ? 1 : 0;
    const bool streams = call_.streams && r.size() > call_.room.cached_words * 16;
    const std::uint64_t* const starts =
        move_range(reader(r), r.words, parts, digit, tables, call_.arrays[side], streams).of(0);
    const bool is_equal = digit.shift <= call_.key_low;
    for (std::uint64_t b = 0; b < digit.buckets(); ++b) {
      const std::uint64_t end = b + 1 < digit.buckets() ? starts[b + 1] : r.size();
      if (starts[b] < end) keep({{r.words.begin + starts[b], r.words.begin + end}, side, r.round, is_equal});
    }
  }

  // Words that are equal are in order, or need the bits of the next round.
  template <class Keep>
  void finish_equal(const range& r, std::uint64_t parts, Keep keep) const {
    if (r.round + 1 == call_.rounds) return write_range(call_.maker, reader(r), r.words, parts);
    const std::uint32_t side = call_.begin_round(r.words, parts, r.side, r.round + 1);
    keep({r.words, side, r.round + 1, false});
  }

  void sort_alone(const range& r, std::uint64_t thread) const {
    if (r.size() > call_.room.cached_words) return divide_alone(r, thread);
    const std::uint64_t begin = r.words.begin;
    Word* words = spare(thread);
    Word* other = words + call_.room.cached_words;
    if constexpr (Array::holds_words) {
      other = words;
      words = call_.arrays[r.side].at(begin);
    } else {
      call_.arrays[r.side].read(begin, r.size(), words);
    }
    if (r.is_equal && r.round + 1 == call_.rounds) return call_.maker.write(begin, r.size(), words);
    call_.maker.write(begin, r.size(),
                      sort_rounds_in_cache(words, other, r.size(), call_.mask, call_.maker, r.round, call_.rounds));
  }

  void divide_alone(const range& r, std::uint64_t thread) const {
    std::uint64_t starts[1U << own_digit_bits];
    std::uint64_t next[1U << own_digit_bits];
    range_order<Word> order;
    const std::uint64_t lines_of_thread = (std::uint64_t{1} << call_.digit_bits) * Array::line_room;
    const pass_tables<Word> tables{starts, next, call_.scratch + call_.room.lines + thread * lines_of_thread, &order};
    divide(r, 1, own_digit_bits, tables, [&](const range& part) { sort_alone(part, thread); });
  }

  const sort_call<Array>& call_;
};

void run_msd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  with_sort_call(ctx, p, plan, b, [](const auto& call) { msd_sort(call).run(); });
}

}  // namespace

constinit const primitives::sort_variant sort_msd{"cpu.msd", plan_msd, run_msd};

}  // namespace sheaf::cpu
