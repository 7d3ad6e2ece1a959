#include "papers/patidar2009/split_sort.hpp"

#include "cpu/threads/parts.hpp"

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

double streaming_seconds(std::uint64_t bytes, const machine& machine) { return machine.streamed(bytes, bytes); }

plan::planned plan_sort(const sort_problem& problem, const plan::scope& scope) {
  return plan_split_sort(problem, scope, split_sort_steps);
}

void run_sort(const context& ctx, const sort_problem& problem, const plan::planned& plan, const sort_buffers& buffers,
              std::byte* scratch) {
  run_split_sort(ctx, problem, plan, buffers, scratch, split_sort_steps);
}

}  // namespace

const papers::patidar2009::split_sort_steps split_sort_steps{plan_basic_split, run_basic_split, pack, unpack,
                                                             streaming_seconds};

extern constinit const sort_variant sort_split_sort{"cpu.split_sort", backend_kind::cpu, plan_sort, run_sort};

}  // namespace sheaf::cpu
