#include <algorithm>

#include "core/context_state.hpp"
#include "cpu/huge_pages.hpp"
#include "cpu/sort_pass.hpp"
#include "cpu/sort_plan.hpp"

// Passes over all words, from the lowest digit in which keys differ to the highest. Every pass takes as long whatever
// the keys are like, so this is for keys of few bits.
namespace sheaf::cpu {
namespace {

using primitives::sort_buffers;
using primitives::sort_problem;

template <class Array>
class lsd_sort {
  using Word = typename Array::word;

 public:
  lsd_sort(const sort_problem& p, const sort_shape& s, const sort_room& room, const plan::planned& plan,
           const sort_buffers& b, const word_maker<Word>& maker, std::byte* scratch)
      : maker_(maker),
        room_(room),
        scratch_(scratch),
        count_(p.count),
        parts_(plan.parameters[sort_parts]),
        digit_bits_(static_cast<std::uint32_t>(plan.parameters[sort_digit_bits])),
        streams_(plan.parameters[sort_streams] != 0),
        mask_(bits_at<Word>(s.key_low, s.key_bits)),
        arrays_{Array::in_scratch(scratch + room.words[0], p.count),
                s.out_holds_words ? Array::in_outputs(b) : Array::in_scratch(scratch + room.words[1], p.count)},
        rounds_(s.rounds) {}

  // The last round has the lowest bits.
  void run() {
    for (std::uint32_t round = rounds_; round-- > 0;) {
      if (round + 1 < rounds_) {
        renew(round);
      } else if (rounds_ > 1) {
        make(round);
      }
      sort_round();
    }
    for_each_part(parts_, [&](std::uint64_t part) {
      for_each_word_block(part_begin(count_, parts_, part), part_begin(count_, parts_, part + 1),
                          [&](std::uint64_t first, std::uint64_t here) {
                            Word room[block_words];
                            maker_.write(first, here, words().read(first, here, room));
                          });
    });
  }

 private:
  static constexpr std::uint32_t rows = 2;

  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch_ + offset);
  }
  const word_reader<Word>& words() const noexcept {
    if (side_ == rows) return maker_;
    return arrays_[side_];
  }

  // Keys of several rounds go with the rows' numbers, in words side by side.
  void make(std::uint32_t round) {
    if constexpr (Array::holds_words) {
      side_ = 0;
      for_each_part(parts_, [&](std::uint64_t part) {
        const std::uint64_t begin = part_begin(count_, parts_, part);
        maker_.make(begin, part_begin(count_, parts_, part + 1) - begin, round, arrays_[0].at(begin));
      });
    }
  }
  void renew(std::uint32_t round) {
    if constexpr (Array::holds_words) {
      if (side_ == rows) return make(round);
      for_each_part(parts_, [&](std::uint64_t part) {
        const std::uint64_t begin = part_begin(count_, parts_, part);
        maker_.renew(arrays_[side_].at(begin), part_begin(count_, parts_, part + 1) - begin, round);
      });
    }
  }

  range_order<Word> count(pass_digit digit) {
    auto* const orders = at<range_order<Word>>(room_.orders);
    for_each_part(parts_, [&](std::uint64_t part) {
      std::uint64_t* const counts = at<std::uint64_t>(room_.starts) + part * digit.buckets();
      std::fill_n(counts, digit.buckets(), std::uint64_t{0});
      orders[part] = count_words(words(), part_begin(count_, parts_, part), part_begin(count_, parts_, part + 1), mask_,
                                 digit, counts);
    });
    for (std::uint64_t part = 1; part < parts_; ++part) orders[0].add(orders[part]);
    return orders[0];
  }

  // The lowest digit among bits that differ.
  pass_digit lowest_digit(Word differing) const noexcept {
    const std::uint32_t low = lowest_bit(differing);
    return {low, std::min(digit_bits_, width_of(differing) - low)};
  }

  void sort_round() {
    pass_digit digit = lowest_digit(mask_);
    const range_order<Word> order = count(digit);
    if (order.ascends) return;
    Word left = order.differing;
    if (lowest_digit(left).shift != digit.shift || lowest_digit(left).bits != digit.bits) {
      digit = lowest_digit(left);
      count(digit);
    }
    while (true) {
      move(digit);
      left = static_cast<Word>(left & ~bits_at<Word>(digit.shift, digit.bits));
      if (left == 0) return;
      digit = lowest_digit(left);
      count(digit);
    }
  }

  void move(pass_digit digit) {
    const std::uint64_t buckets = digit.buckets();
    const bucket_table starts(at<std::uint64_t>(room_.starts), parts_, buckets);
    starts.scan();
    const std::uint32_t to = side_ == 1 ? 0 : 1;
    for_each_part(parts_, [&](std::uint64_t part) {
      const typename Array::writer writer(arrays_[to], scratch_ + room_.lines + part * buckets * Array::line_room,
                                          at<std::uint64_t>(room_.next) + part * buckets, starts.of(part), buckets,
                                          streams_);
      move_words_by_digit(words(), part_begin(count_, parts_, part), part_begin(count_, parts_, part + 1), digit,
                          writer);
    });
    side_ = to;
  }

  const word_maker<Word>& maker_;
  const sort_room& room_;
  std::byte* scratch_;
  std::uint64_t count_;
  std::uint64_t parts_;
  std::uint32_t digit_bits_;
  bool streams_;
  Word mask_;
  Array arrays_[2];
  std::uint32_t rounds_;
  std::uint32_t side_ = rows;
};

void run_lsd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  const sort_shape shape = shape_of(p);
  const sort_room room(p, shape, plan);
  const core::scratch scratch(ctx.state(), room.bytes);
  ask_for_huge_pages(scratch.as<void>(), room.bytes);
  with_words(p, b, shape, [&](const auto& maker, auto array) {
    lsd_sort<decltype(array)>(p, shape, room, plan, b, maker, scratch.as<std::byte>()).run();
  });
}

}  // namespace

constinit const primitives::sort_variant sort_lsd{"cpu.lsd", plan_lsd, run_lsd};

}  // namespace sheaf::cpu
