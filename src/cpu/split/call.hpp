#pragma once

#include "cpu/split/pass.hpp"
#include "cpu/split/plan.hpp"
#include "cpu/threads/huge_pages.hpp"

namespace sheaf::cpu {

/// One call of cpu.buffered: its arguments, its scratch, and the steps that every pass is made of.
class split_call {
 public:
  split_call(const primitives::split_problem& call_problem, const split_decision& decided,
             const primitives::split_buffers& call_arrays, std::byte* scratch)
      : problem(call_problem),
        arrays(call_arrays),
        layout(decided.layout),
        parts(decided.parts),
        passes(decided.passes),
        digit_bits_(decided.digit_bits),
        streams_(decided.streams),
        scratch_(scratch),
        starts_(scratch_at<std::uint64_t>(layout.starts), parts, layout.buckets) {
    ask_for_huge_pages(scratch_, layout.bytes);
  }

  const primitives::split_problem& problem;
  const primitives::split_buffers& arrays;
  const split_scratch layout;
  const std::uint64_t parts;
  const std::uint64_t passes;

  /// First record of a bad category, as far as passes have run.
  first_bad bad() const noexcept { return bad_; }
  /// Start of each bucket in the output of the last pass.
  const std::uint64_t* bucket_starts() const noexcept { return starts_.row(0); }

  template <class T>
  T* scratch_at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<T*>(scratch_ + offset);
  }

  /// Calls body with a block_of_bytes as wide as a record that is written through write-combining buffers.
  template <class Body>
  auto with_record_width(Body body) const {
    switch (problem.record_bytes) {
      case 1: return body(block_of_bytes<1>{});
      case 2: return body(block_of_bytes<2>{});
      case 4: return body(block_of_bytes<4>{});
      case 8: return body(block_of_bytes<8>{});
      default: return body(block_of_bytes<16>{});
    }
  }

  /// Calls body with an unsigned number as wide as an entry of the index that the call returns.
  template <class Body>
  auto with_index_type(Body body) const {
    if (problem.record_bytes == 4) return body(std::uint32_t{});
    return body(std::uint64_t{});
  }

  /// Input of a pass over the caller's keys, whose categories are the buckets.
  pass_input key_input() const {
    return {category_reader(arrays.keys.data, problem.key_bytes, problem.key_stride_bytes, problem.bits),
            problem.count,
            layout.buckets,
            problem.categories,
            0,
            ~std::uint32_t{0},
            problem.checks_category()};
  }

  /// Makes the pass' digit of the category the bucket, digits numbered from the lowest.
  void set_digit(pass_input& in, std::uint64_t pass) const {
    in.shift = static_cast<std::uint32_t>(pass) * digit_bits_;
    in.mask = static_cast<std::uint32_t>((std::uint64_t{1} << digit_bits_) - 1);
  }

  /// A pass: histogram by count(part, counts), scan, scatter by move(part, cursors). Returns the number of records that
  /// were counted.
  template <class Count, class Move>
  std::uint64_t run_pass(Count count, Move move) {
    for_each_part(parts, [&](std::uint64_t part) { count(part, starts_.cleared_row(part)); });
    const std::uint64_t sum = starts_.scan();
    for_each_part(parts, [&](std::uint64_t part) {
      std::uint64_t* const cursors = scratch_at<std::uint64_t>(layout.cursors) + part * layout.buckets;
      std::copy_n(starts_.row(part), layout.buckets, cursors);
      move(part, cursors);
    });
    return sum;
  }

  /// A pass whose histogram reads categories, leaves out the bad ones, and counts whole categories too where
  /// category_counts is not null.
  template <class Move>
  std::uint64_t run_category_pass(const pass_input& in, std::uint64_t* category_counts, Move move) {
    auto* const bad_positions = scratch_at<std::uint64_t>(layout.bad_positions);
    std::fill_n(bad_positions, parts, ~std::uint64_t{0});
    const std::uint64_t sum = run_pass(
        [&](std::uint64_t part, std::uint64_t* counts) {
          bad_positions[part] = count_part(in, parts, part, counts, category_counts).position;
        },
        move);
    for (std::uint64_t part = 0; part < parts; ++part) bad_.note(bad_positions[part]);
    return sum;
  }

  /// A pass over records that hold their keys.
  template <class T>
  std::uint64_t run_record_pass(const pass_input& in, const std::byte* from, std::uint64_t stride, std::byte* to) {
    if (stride == sizeof(T) && word_digit::takes<T>(in.categories)) {
      const word_digit digit(from, in);
      return run_pass(
          [&](std::uint64_t part, std::uint64_t* counts) {
            count_words<T>(digit, part_begin(in.count, parts, part), part_begin(in.count, parts, part + 1), counts);
          },
          [&](std::uint64_t part, std::uint64_t* cursors) {
            move_words<T>(digit, from, part_begin(in.count, parts, part), part_begin(in.count, parts, part + 1),
                          in.buckets, buffers<T>(part, cursors, to));
          });
    }
    return run_category_pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* cursors) {
      move_part(in, parts, part, records_at<T>(from, stride), buffers<T>(part, cursors, to));
    });
  }

  /// The write-combining buffers of a part for an output. Adds the output's misalignment to the cursors.
  template <class Value>
  write_buffers<Value> buffers(std::uint64_t part, std::uint64_t* cursors, void* out) const {
    const std::uint64_t misalignment = write_buffers<Value>::misalignment_of(out);
    for (std::uint64_t bucket = 0; bucket < layout.buckets; ++bucket) cursors[bucket] += misalignment;
    return {scratch_at<std::byte>(layout.buffers) + part * layout.buckets * write_buffer_bytes, cursors,
            starts_.row(part), out, streams_};
  }

  /// Writes records of any width from the caller's input to its output.
  record_sink record_writer(std::uint64_t* cursors) const {
    const bool streams = streams_ && are_whole_lines(arrays.out.data, problem.record_bytes, problem.out_stride_bytes);
    return {{problem.record_bytes, problem.out_stride_bytes, problem.in_stride_bytes},
            arrays.in.data,
            arrays.out.data,
            cursors,
            streams};
  }

  /// The function that reads record i of an array.
  template <class T>
  static auto records_at(const std::byte* from, std::uint64_t stride) {
    return [from, stride](std::uint64_t i, std::uint32_t) {
      T record;
      std::memcpy(&record, from + i * stride, sizeof record);
      return record;
    };
  }

 private:
  std::uint32_t digit_bits_;
  bool streams_;
  std::byte* scratch_;
  bucket_table starts_;
  first_bad bad_;
};

/// Splits by the whole category at once, one bucket a category.
void split_in_one_pass(split_call& call);

/// LSD radix sort by the digits of the category, for more categories than one pass has buckets.
void split_in_several_passes(split_call& call);

}  // namespace sheaf::cpu
