#pragma once

#include <cstddef>
#include <cstdint>

#include <sheaf/context.hpp>

#include "core/context_state.hpp"
#include "cpu/sort/plan.hpp"
#include "cpu/sort/range.hpp"
#include "cpu/threads/huge_pages.hpp"

namespace sheaf::cpu {

/// What the passes of one call work with: what plan and shape say, and where words lie.
template <class Array>
struct sort_call {
  using word = typename Array::word;
  static constexpr std::uint32_t rows = 2;  ///< a side: what the caller gave, of which words are made

  const word_maker<word>& maker;
  const sort_room& room;
  std::byte* scratch;
  Array arrays[2];  ///< the other sides
  std::uint64_t count;
  std::uint64_t parts;
  std::uint32_t digit_bits;
  bool streams;
  std::uint32_t key_low;
  std::uint32_t rounds;
  word mask;  ///< of the bits that words compare by

  template <class T>
  T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch + offset);
  }
  pass_tables<word> tables() const noexcept {
    return {at<std::uint64_t>(room.starts), at<std::uint64_t>(room.next), scratch + room.lines,
            at<range_order<word>>(room.orders)};
  }
  const word_reader<word>& words(std::uint32_t side) const noexcept {
    if (side == rows) return maker;
    return arrays[side];
  }

  /// Gives the words of a range the key bits of a round, and returns the side that they lie in then. Keys of several
  /// rounds go with the rows' numbers, in words side by side.
  std::uint32_t begin_round(word_range range, std::uint64_t range_parts, std::uint32_t side,
                            std::uint32_t round) const {
    if constexpr (Array::holds_words) {
      const std::uint32_t to = side == rows ? 0 : side;
      for_each_part(range_parts, [&](std::uint64_t part) {
        const word_range here = range.part(range_parts, part);
        if (side == rows) {
          maker.make(here.begin, here.size(), round, arrays[to].at(here.begin));
        } else {
          maker.renew(arrays[to].at(here.begin), here.size(), round);
        }
      });
      return to;
    }
    return side;
  }
};

/// Calls body with the sort_call of a planned problem, whose scratch is held for as long.
template <class Body>
void with_sort_call(const context& ctx, const primitives::sort_problem& p, const plan::planned& plan,
                    const primitives::sort_buffers& b, Body body) {
  const sort_shape shape = shape_of(p);
  const sort_room room(p, shape, plan);
  const core::scratch scratch(ctx.state(), room.bytes);
  ask_for_huge_pages(scratch.as<void>(), room.bytes);
  with_words(p, b, shape, [&](const auto& maker, auto array) {
    using Array = decltype(array);
    auto* const memory = scratch.as<std::byte>();
    body(sort_call<Array>{
        .maker = maker,
        .room = room,
        .scratch = memory,
        .arrays = {Array::in_scratch(memory + room.words[0], p.count),
                   shape.out_holds_words ? Array::in_outputs(b) : Array::in_scratch(memory + room.words[1], p.count)},
        .count = p.count,
        .parts = plan.parameters[sort_parts],
        .digit_bits = static_cast<std::uint32_t>(plan.parameters[sort_digit_bits]),
        .streams = plan.parameters[sort_streams] != 0,
        .key_low = shape.key_low,
        .rounds = shape.rounds,
        .mask = bits_at<typename Array::word>(shape.key_low, shape.key_bits),
    });
  });
}

}  // namespace sheaf::cpu
