#include "cpu/sort/call.hpp"

// LSD radix sort: passes over all words, from the lowest digit in which keys differ to the highest. A pass takes
// equally long for all key distributions, and there is one for every digit, so this is for keys of few bits.
namespace sheaf::cpu {
namespace {

using namespace primitives;

template <class Array>
class lsd_sort {
  using Word = typename Array::word;

 public:
  explicit lsd_sort(const sort_call<Array>& call) : call_(call) {}

  // The last round has the lowest key bits, so it comes first.
  void run() {
    for (std::uint32_t round = call_.rounds; round-- > 0;) {
      if (call_.rounds > 1) source_ = call_.begin_round(all(), call_.parts, source_, round);
      sort_round();
    }
    write_range(call_.encoder, call_.words(source_), all(), call_.parts);
  }

 private:
  word_range all() const noexcept { return {0, call_.count}; }

  range_properties<Word> count(pass_digit digit) const {
    return count_range(call_.words(source_), all(), call_.parts, call_.mask, digit, call_.tables());
  }

  // The lowest digit of the bits that differ.
  pass_digit lowest_digit(Word differing) const noexcept {
    const std::uint32_t low = lowest_bit(differing);
    return {low, std::min(call_.digit_bits, width_of(differing) - low)};
  }

  void sort_round() {
    pass_digit digit = lowest_digit(call_.mask);
    const range_properties<Word> properties = count(digit);
    if (properties.ascends) return;
    Word bits_left = properties.differing;
    if (lowest_digit(bits_left).shift != digit.shift || lowest_digit(bits_left).bits != digit.bits) {
      digit = lowest_digit(bits_left);
      count(digit);
    }
    while (true) {
      move(digit);
      bits_left = static_cast<Word>(bits_left & ~bits_at<Word>(digit.shift, digit.bits));
      if (bits_left == 0) return;
      digit = lowest_digit(bits_left);
      count(digit);
    }
  }

  void move(pass_digit digit) {
    const std::uint32_t to = source_ == 1 ? 0 : 1;
    move_range(call_.words(source_), all(), call_.parts, digit, call_.tables(), call_.arrays[to], call_.streams);
    source_ = to;
  }

  const sort_call<Array>& call_;
  std::uint32_t source_ = sort_call<Array>::encoded_rows;
};

void run_lsd(const context&, const sort_problem& p, const plan::planned& plan, const sort_buffers& b,
             std::byte* scratch) {
  with_sort_call(p, plan, b, scratch, [](const auto& call) { lsd_sort(call).run(); });
}

}  // namespace

extern constinit const sort_variant sort_lsd{"cpu.lsd", backend_kind::cpu, plan_lsd, run_lsd};

}  // namespace sheaf::cpu
