#include <omp.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/context_state.hpp"
#include "cpu/huge_pages.hpp"
#include "cpu/sort_pass.hpp"
#include "cpu/sort_plan.hpp"

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
  msd_sort(const sort_problem& p, const sort_shape& s, const sort_room& room, const plan::planned& plan,
           const sort_buffers& b, const word_maker<Word>& maker, std::byte* scratch)
      : maker_(maker),
        room_(room),
        scratch_(scratch),
        count_(p.count),
        parts_(plan.parameters[sort_parts]),
        digit_bits_(static_cast<std::uint32_t>(plan.parameters[sort_digit_bits])),
        streams_(plan.parameters[sort_streams] != 0),
        mask_(bits_at<Word>(s.key_low, s.key_bits)),
        key_low_(s.key_low),
        rounds_(s.rounds),
        arrays_{Array::in_scratch(scratch + room.words[0], p.count),
                s.out_holds_words ? Array::in_outputs(b) : Array::in_scratch(scratch + room.words[1], p.count)} {}

  void run() {
    if (digit_bits_ == 0) {
      Word* const words = spare(0);
      maker_.make(0, count_, 0, words);
      maker_.write(0, count_,
                   sort_rounds_in_cache(words, words + room_.cached_words, count_, mask_, maker_, 0, rounds_));
      return;
    }
    std::vector<range> shared{{0, count_, rows, 0, false}};
    std::vector<range> jobs;
    const std::uint64_t most_alone = std::max(room_.cached_words, count_ / (2 * parts_));
    const shared_tables tables{at<std::uint64_t>(room_.starts), at<std::uint64_t>(room_.next), scratch_ + room_.lines,
                               at<range_order<Word>>(room_.orders)};
    const auto keep = [&](const range& r) { (r.size() > most_alone ? shared : jobs).push_back(r); };
    while (!shared.empty()) {
      const range r = shared.back();
      shared.pop_back();
      divide(r, parts_, digit_bits_, tables, keep);
    }
    const auto small = [&](const range& r) { return r.size() <= room_.cached_words; };
    std::partition(jobs.begin(), jobs.end(), [&](const range& r) { return !small(r); });
    for_each_job(jobs.size(), parts_, [&](std::uint64_t job) {
      sort_alone(jobs[job], parts_ == 1 ? 0 : static_cast<std::uint64_t>(omp_get_thread_num()));
    });
  }

 private:
  static constexpr std::uint32_t rows = 2;  ///< a side: what the caller gave, of which words are made

  struct range {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t side;
    std::uint32_t round;
    bool is_equal;  ///< in the bits of this round

    std::uint64_t size() const noexcept { return end - begin; }
  };
  struct shared_tables {
    std::uint64_t* starts;
    std::uint64_t* next;
    std::byte* lines;
    range_order<Word>* orders;  ///< of each part
  };

  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  Word* spare(std::uint64_t part) const noexcept {
    return at<Word>(room_.spare + part * 2 * whole_buckets(room_.cached_words * sizeof(Word)));
  }
  const word_reader<Word>& reader(const range& r) const noexcept {
    if (r.side == rows) return maker_;
    return arrays_[r.side];
  }

  // The digit that begins with the highest bit of those that differ, no wider than worth it for so many words.
  pass_digit digit_below(std::uint32_t end, std::uint64_t count, std::uint32_t most_bits) const noexcept {
    const std::uint64_t target = std::max<std::uint64_t>(1, room_.cached_words * 2 / 3);
    const std::uint32_t wanted =
        std::max(least_digit_bits, static_cast<std::uint32_t>(std::bit_width((count - 1) / target)));
    const std::uint32_t last = std::max(end, key_low_ + 1);
    const std::uint32_t bits = std::min({wanted, most_bits, last - key_low_});
    return {last - bits, bits};
  }

  // What a few words of the range differ in is mostly what all do.
  std::uint32_t likely_end(const range& r) const noexcept {
    constexpr std::uint64_t samples = 64;
    Word differing = 0;
    Word first = 0;
    for (std::uint64_t i = 0; i < samples; ++i) {
      Word room;
      const Word word = *reader(r).read(r.begin + (r.size() - 1) / (samples - 1) * i, 1, &room);
      if (i == 0) first = word;
      differing = static_cast<Word>(differing | (word ^ first));
    }
    return width_of(static_cast<Word>(differing & mask_));
  }

  range_order<Word> count(const range& r, std::uint64_t parts, pass_digit digit, const shared_tables& tables) const {
    std::uint64_t* const counts = tables.starts;
    range_order<Word>* const orders = tables.orders;
    const std::uint64_t buckets = digit.buckets();
    for_each_part(parts, [&](std::uint64_t part) {
      std::fill_n(counts + part * buckets, buckets, std::uint64_t{0});
      orders[part] =
          count_words(reader(r), r.begin + part_begin(r.size(), parts, part),
                      r.begin + part_begin(r.size(), parts, part + 1), mask_, digit, counts + part * buckets);
    });
    for (std::uint64_t part = 1; part < parts; ++part) orders[0].add(orders[part]);
    return orders[0];
  }

  // Splits a range into others that keep() gets, or finishes it where nothing is left to do.
  template <class Keep>
  void divide(const range& r, std::uint64_t parts, std::uint32_t most_bits, const shared_tables& tables,
              Keep keep) const {
    if (r.is_equal) return finish_equal(r, parts, keep);
    pass_digit digit = digit_below(likely_end(r), r.size(), most_bits);
    range_order<Word> order = count(r, parts, digit, tables);
    if (order.differing == 0) return finish_equal(r, parts, keep);
    if (r.side == rows && rounds_ == 1) {
      if (order.ascends) return write_in_order(r, parts);
      if (order.descends) return write_reversed(r, parts);
    }
    if (const std::uint32_t end = width_of(order.differing); end > digit.shift + digit.bits) {
      digit = digit_below(end, r.size(), most_bits);
      count(r, parts, digit, tables);
    }
    const std::uint64_t buckets = digit.buckets();
    const bucket_table starts(tables.starts, parts, buckets);
    starts.scan();
    const std::uint32_t side = r.side == 0 ? 1 : 0;
    const Array to = arrays_[side].from(r.begin);
    for_each_part(parts, [&](std::uint64_t part) {
      const typename Array::writer writer(to, tables.lines + part * buckets * Array::line_room,
                                          tables.next + part * buckets, starts.of(part), buckets,
                                          streams_ && r.size() > room_.cached_words * 16);
      move_words_by_digit(reader(r), r.begin + part_begin(r.size(), parts, part),
                          r.begin + part_begin(r.size(), parts, part + 1), digit, writer);
    });
    const bool is_equal = digit.shift <= key_low_;
    for (std::uint64_t b = 0; b < buckets; ++b) {
      const std::uint64_t begin = starts.of(0)[b];
      const std::uint64_t end = b + 1 < buckets ? starts.of(0)[b + 1] : r.size();
      if (begin < end) keep({r.begin + begin, r.begin + end, side, r.round, is_equal});
    }
  }

  // Calls work(begin, end) for parts of a range.
  template <class Work>
  static void in_parts(const range& r, std::uint64_t parts, Work work) {
    for_each_part(parts, [&](std::uint64_t part) {
      work(r.begin + part_begin(r.size(), parts, part), r.begin + part_begin(r.size(), parts, part + 1));
    });
  }

  // Words that are equal are in order, or need the bits of the next round.
  template <class Keep>
  void finish_equal(const range& r, std::uint64_t parts, Keep keep) const {
    if (r.round + 1 == rounds_) return write_in_order(r, parts);
    if constexpr (Array::holds_words) {
      const std::uint32_t side = r.side == rows ? 0 : r.side;
      in_parts(r, parts, [&](std::uint64_t begin, std::uint64_t end) {
        Word* const words = arrays_[side].at(begin);
        if (r.side == rows) {
          maker_.make(begin, end - begin, r.round + 1, words);
        } else {
          maker_.renew(words, end - begin, r.round + 1);
        }
      });
      keep({r.begin, r.end, side, r.round + 1, false});
    }
  }

  void write_in_order(const range& r, std::uint64_t parts) const {
    in_parts(r, parts, [&](std::uint64_t begin, std::uint64_t end) {
      for_each_word_block(begin, end, [&](std::uint64_t first, std::uint64_t here) {
        Word room[block_words];
        maker_.write(first, here, reader(r).read(first, here, room));
      });
    });
  }

  void write_reversed(const range& r, std::uint64_t parts) const {
    in_parts(r, parts, [&](std::uint64_t begin, std::uint64_t end) {
      for_each_word_block(begin, end, [&](std::uint64_t first, std::uint64_t here) {
        Word room[block_words];
        Word reversed[block_words];
        const Word* const words = reader(r).read(r.begin + r.end - first - here, here, room);
        std::reverse_copy(words, words + here, reversed);
        maker_.write(first, here, reversed);
      });
    });
  }

  void sort_alone(const range& r, std::uint64_t thread) const {
    if (r.size() <= room_.cached_words) {
      Word* words = spare(thread);
      Word* other = words + room_.cached_words;
      if constexpr (Array::holds_words) {
        other = words;
        words = arrays_[r.side].at(r.begin);
      } else {
        arrays_[r.side].read(r.begin, r.size(), words);
      }
      if (r.is_equal && r.round + 1 == rounds_) return maker_.write(r.begin, r.size(), words);
      maker_.write(r.begin, r.size(), sort_rounds_in_cache(words, other, r.size(), mask_, maker_, r.round, rounds_));
      return;
    }
    divide_alone(r, thread);
  }

  void divide_alone(const range& r, std::uint64_t thread) const {
    std::uint64_t starts[1U << own_digit_bits];
    std::uint64_t next[1U << own_digit_bits];
    range_order<Word> order;
    const std::uint64_t lines_of_thread = (std::uint64_t{1} << digit_bits_) * Array::line_room;
    const shared_tables tables{starts, next, scratch_ + room_.lines + thread * lines_of_thread, &order};
    divide(r, 1, own_digit_bits, tables, [&](const range& part) { sort_alone(part, thread); });
  }

  const word_maker<Word>& maker_;
  const sort_room& room_;
  std::byte* scratch_;
  std::uint64_t count_;
  std::uint64_t parts_;
  std::uint32_t digit_bits_;
  bool streams_;
  Word mask_;
  std::uint32_t key_low_;
  std::uint32_t rounds_;
  Array arrays_[2];
};

void run_msd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  const sort_shape shape = shape_of(p);
  const sort_room room(p, shape, plan);
  const core::scratch scratch(ctx.state(), room.bytes);
  ask_for_huge_pages(scratch.as<void>(), room.bytes);
  with_words(p, b, shape, [&](const auto& maker, auto array) {
    msd_sort<decltype(array)>(p, shape, room, plan, b, maker, scratch.as<std::byte>()).run();
  });
}

}  // namespace

constinit const primitives::sort_variant sort_msd{"cpu.msd", plan_msd, run_msd};

}  // namespace sheaf::cpu
