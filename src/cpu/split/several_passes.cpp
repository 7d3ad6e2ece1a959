#include "cpu/split/call.hpp"
#include "cpu/split/category_reader.hpp"

namespace sheaf::cpu {
namespace {

using primitives::split_product;

template <class Payload>
struct alignas(2 * sizeof(Payload)) category_pair {
  std::uint32_t category;
  Payload payload;
};

// Records that hold their keys: passes alternate between scratch and the output, so that the last one writes the
// output.
template <class T>
void split_records(split_call& call) {
  const std::byte* from = call.arrays.in.data;
  std::uint64_t stride = call.problem.in_stride_bytes;
  for (std::uint64_t pass = 0; pass < call.passes; ++pass) {
    const bool to_output = (call.passes - pass) % 2 == 1;
    auto* const to = to_output ? call.arrays.out.data : call.scratch_at<std::byte>(call.layout.entries[0]);
    pass_input in{category_reader(from, sizeof(T), stride, call.problem.bits), call.problem.count, call.layout.buckets};
    call.set_digit(in, pass);
    call.run_record_pass<T>(in, from, stride, to);
    from = to;
    stride = sizeof(T);
  }
  find_offsets(category_reader(from, sizeof(T), sizeof(T), call.problem.bits), call.problem.count, call.arrays.offsets,
               call.problem.categories, call.parts);
}

// The last pass over pairs writes the output: the payload if it is the record, else what the record number stands for.
template <class Payload, pass_entry Entry>
void move_last(split_call& call, const pass_input& in, const category_pair<Payload>* from, std::uint64_t part,
               std::uint64_t* cursors) {
  const auto payload = [from](std::uint64_t i, std::uint32_t) { return from[i].payload; };
  if constexpr (Entry == pass_entry::category_and_record) {
    move_part(in, call.parts, part, payload, call.buffers<Payload>(part, cursors, call.arrays.out.data));
  } else if (call.problem.product == split_product::records) {
    const auto prefetched_payload = [=, &call](std::uint64_t i, std::uint32_t) {
      constexpr std::uint64_t distance = 32;
      const std::uint64_t ahead = std::min(i + distance, in.count - 1);
      prefetch(call.arrays.in.data, from[ahead].payload * call.problem.in_stride_bytes, call.problem.record_bytes);
      return from[i].payload;
    };
    move_part(in, call.parts, part, prefetched_payload, call.record_writer(cursors));
  } else {
    call.with_index_type([&](auto index) {
      using T = decltype(index);
      if (call.problem.product == split_product::scatter_index) {
        move_part(in, call.parts, part, payload, rank_sink<T>{static_cast<T*>(call.arrays.index.data), cursors});
      } else {
        move_part(
            in, call.parts, part, [from](std::uint64_t i, std::uint32_t) { return static_cast<T>(from[i].payload); },
            call.buffers<T>(part, cursors, call.arrays.index.data));
      }
    });
  }
}

// Pairs of category and payload: the first pass makes them of the caller's keys, the last pass drops the category.
template <class Payload, pass_entry Entry>
void split_pairs(split_call& call) {
  using pair = category_pair<Payload>;
  clear_offsets(call.arrays.offsets, call.problem.categories, call.parts);
  pass_input in = call.key_input();
  call.set_digit(in, 0);
  auto* to = call.scratch_at<pair>(call.layout.entries[0]);
  const std::uint64_t count = call.run_category_pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* cursors) {
    const auto record = split_call::records_at<Payload>(call.arrays.in.data, call.problem.in_stride_bytes);
    move_part(
        in, call.parts, part,
        [&](std::uint64_t i, std::uint32_t category) {
          if constexpr (Entry == pass_entry::category_and_record) return pair{category, record(i, category)};
          return pair{category, static_cast<Payload>(i)};
        },
        call.buffers<pair>(part, cursors, to));
  });
  for (std::uint64_t pass = 1; pass < call.passes; ++pass) {
    const pair* const from = to;
    in = {category_reader(reinterpret_cast<const std::byte*>(from), sizeof(pair), sizeof(pair), {0, 32}), count,
          call.layout.buckets};
    call.set_digit(in, pass);
    if (pass + 1 == call.passes) {
      call.run_category_pass(in, call.arrays.offsets, [&](std::uint64_t part, std::uint64_t* cursors) {
        move_last<Payload, Entry>(call, in, from, part, cursors);
      });
    } else {
      to = call.scratch_at<pair>(call.layout.entries[pass % 2]);
      call.run_category_pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* cursors) {
        move_part(
            in, call.parts, part, [from](std::uint64_t r, std::uint32_t) { return from[r]; },
            call.buffers<pair>(part, cursors, to));
      });
    }
  }
  sum_offsets(call.arrays.offsets, call.problem.categories, call.parts,
              call.scratch_at<std::uint64_t>(call.layout.bad_positions));
}

}  // namespace

void split_in_several_passes(split_call& call) {
  switch (pass_entry_of(call.problem)) {
    case pass_entry::record: return call.with_record_width([&](auto record) { split_records<decltype(record)>(call); });
    case pass_entry::category_and_record:
      if (call.problem.record_bytes == 4) return split_pairs<std::uint32_t, pass_entry::category_and_record>(call);
      return split_pairs<std::uint64_t, pass_entry::category_and_record>(call);
    case pass_entry::category_and_index:
      if (pass_entry_bytes(call.problem) == 8) return split_pairs<std::uint32_t, pass_entry::category_and_index>(call);
      return split_pairs<std::uint64_t, pass_entry::category_and_index>(call);
  }
}

}  // namespace sheaf::cpu
