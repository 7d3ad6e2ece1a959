#include "papers/patidar2009/split_sort.hpp"

#include "cpu/split/category_reader.hpp"

// cpu.split_sort: SplitSort on the CPU's basic split, to compare with, by name only.
namespace sheaf::cpu {
namespace {

using namespace primitives;
using namespace papers::patidar2009;

/// Calls work(record, i) for packed records, in parallel.
template <class Byte, class Work>
void for_each_packed(const context& ctx, const packed_records& layout, std::uint64_t count, Byte* packed, Work work) {
  const std::uint64_t parts = parts_worth(count * layout.record_bytes, static_cast<std::uint64_t>(ctx.threads()));
  for_each_range(count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    for (std::uint64_t i = begin; i < end; ++i) work(packed + i * layout.record_bytes, i);
  });
}

void pack(const context& ctx, const packed_records& layout, std::uint64_t count, packed_side keys, packed_side payloads,
          std::byte* packed) {
  for_each_packed(ctx, layout, count, packed, [&](std::byte* to, std::uint64_t i) {
    std::memset(to, 0, layout.record_bytes);
    std::memcpy(to, keys.data + i * keys.stride_bytes, layout.key_bytes);
    const void* const payload = payloads.data == nullptr
                                    ? static_cast<const void*>(&i)  // its low bytes, on a little-endian machine
                                    : payloads.data + i * payloads.stride_bytes;
    std::memcpy(to + layout.payload_offset, payload, layout.payload_bytes);
  });
}

void unpack(const context& ctx, const packed_records& layout, std::uint64_t count, const std::byte* packed,
            packed_side keys, packed_side payloads) {
  for_each_packed(ctx, layout, count, packed, [&](const std::byte* from, std::uint64_t i) {
    if (keys.data != nullptr) std::memcpy(keys.data + i * keys.stride_bytes, from, layout.key_bytes);
    std::memcpy(payloads.data + i * payloads.stride_bytes, from + layout.payload_offset, layout.payload_bytes);
  });
}

void find_offsets(const context& ctx, const split_problem& problem, const split_buffers& buffers, std::byte*) {
  const std::uint64_t parts = parts_worth(problem.count * problem.key_bytes, static_cast<std::uint64_t>(ctx.threads()));
  const category_reader keys(buffers.keys.data, problem.key_bytes, problem.key_stride_bytes, problem.bits);
  clear_offsets(buffers.offsets, problem.categories, parts);
  for_each_range(problem.count, parts, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
    std::uint32_t block[category_reader::block_records];
    for (std::uint64_t i = begin; i < end; i += category_reader::block_records) {
      const std::uint64_t records = std::min(category_reader::block_records, end - i);
      keys.read(i, records, block);
      count_categories(block, records, buffers.offsets);
    }
  });
  std::vector<std::uint64_t> sums(parts);
  sum_offsets(buffers.offsets, problem.categories, parts, sums.data());
}

double streaming_seconds(std::uint64_t bytes, const machine& machine) { return machine.streamed(bytes, bytes); }

plan::planned plan_sort(const sort_problem& problem, const plan::scope& scope) {
  return plan_split_sort(problem, scope, steps_of_split_sort);
}

void run_sort(const context& ctx, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
              std::byte* scratch) {
  run_split_sort(ctx, problem, plan, buffers, scratch, steps_of_split_sort);
}

}  // namespace

const papers::patidar2009::split_sort_steps steps_of_split_sort{plan_basic_split, run_basic_split,   pack,
                                                                unpack,           streaming_seconds, find_offsets};

extern constinit const sort_variant sort_split_sort{"cpu.split_sort", backend_kind::cpu, plan_sort, run_sort};

}  // namespace sheaf::cpu
