#include "cpu/split/call.hpp"

namespace sheaf::cpu {
namespace {

using primitives::split_product;

// Records leave through write-combining buffers.
std::uint64_t split_combined(split_call& call, const pass_input& in) {
  return call.with_record_width([&](auto record) {
    using T = decltype(record);
    if (!call.problem.has_separate_key()) {
      return call.run_record_pass<T>(in, call.arrays.in.data, call.problem.in_stride_bytes, call.arrays.out.data);
    }
    return call.run_category_pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* cursors) {
      move_part(in, call.parts, part, split_call::records_at<T>(call.arrays.in.data, call.problem.in_stride_bytes),
                call.buffers<T>(part, cursors, call.arrays.out.data));
    });
  });
}

std::uint64_t split_index(split_call& call, const pass_input& in) {
  return call.with_index_type([&](auto index) {
    using T = decltype(index);
    T* const to = static_cast<T*>(call.arrays.index.data);
    return call.run_category_pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* cursors) {
      if (call.problem.product == split_product::scatter_index) {
        const auto number = [](std::uint64_t i, std::uint32_t) { return i; };
        move_part(in, call.parts, part, number, rank_sink<T>{to, cursors});
      } else {
        const auto number = [](std::uint64_t i, std::uint32_t) { return static_cast<T>(i); };
        move_part(in, call.parts, part, number, call.buffers<T>(part, cursors, to));
      }
    });
  });
}

// Records of widths that do not divide a line are copied one by one.
std::uint64_t split_record_by_record(split_call& call, const pass_input& in) {
  const auto number = [](std::uint64_t i, std::uint32_t) { return i; };
  return call.run_category_pass(in, nullptr, [&](std::uint64_t part, std::uint64_t* cursors) {
    move_part(in, call.parts, part, number, call.record_writer(cursors));
  });
}

std::uint64_t split_records(split_call& call, const pass_input& in) {
  return combines_writes(call.problem) ? split_combined(call, in) : split_record_by_record(call, in);
}

}  // namespace

void split_in_one_pass(split_call& call) {
  const pass_input in = call.key_input();
  const std::uint64_t count =
      call.problem.product == split_product::records ? split_records(call, in) : split_index(call, in);
  std::uint64_t* const offsets = call.arrays.offsets;
  if (offsets == nullptr) return;
  const std::uint64_t buckets = call.layout.buckets;
  std::copy_n(call.bucket_starts(), buckets, offsets);
  std::fill(offsets + buckets, offsets + call.problem.categories + 1, count);
}

}  // namespace sheaf::cpu
