#include <algorithm>

#include "cpu/sort/call.hpp"

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
  explicit lsd_sort(const sort_call<Array>& call) : call_(call) {}

  // The last round has the lowest bits.
  void run() {
    for (std::uint32_t round = call_.rounds; round-- > 0;) {
      if (call_.rounds > 1) side_ = call_.begin_round(all(), call_.parts, side_, round);
      sort_round();
    }
    write_range(call_.maker, call_.words(side_), all(), call_.parts);
  }

 private:
  word_range all() const noexcept { return {0, call_.count}; }

  range_order<Word> count(pass_digit digit) const {
    return count_range(call_.words(side_), all(), call_.parts, call_.mask, digit, call_.tables());
  }

  // The lowest digit among bits that differ.
  pass_digit lowest_digit(Word differing) const noexcept {
    const std::uint32_t low = lowest_bit(differing);
    return {low, std::min(call_.digit_bits, width_of(differing) - low)};
  }

  void sort_round() {
    pass_digit digit = lowest_digit(call_.mask);
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
    const std::uint32_t to = side_ == 1 ? 0 : 1;
    move_range(call_.words(side_), all(), call_.parts, digit, call_.tables(), call_.arrays[to], call_.streams);
    side_ = to;
  }

  const sort_call<Array>& call_;
  std::uint32_t side_ = sort_call<Array>::rows;
};

void run_lsd(const context& ctx, const sort_problem& p, const plan::planned& plan, const sort_buffers& b) {
  with_sort_call(ctx, p, plan, b, [](const auto& call) { lsd_sort(call).run(); });
}

}  // namespace

constinit const primitives::sort_variant sort_lsd{"cpu.lsd", plan_lsd, run_lsd};

}  // namespace sheaf::cpu
