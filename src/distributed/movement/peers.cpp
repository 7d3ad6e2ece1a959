#include "distributed/movement/peers.hpp"

#include <algorithm>
#include <bit>

#include "distributed/collectives.hpp"

namespace sheaf::distributed {
namespace {

/// Widest power of two up to 16 that divides all addresses, strides and the width.
std::uint32_t word_bytes_of(std::span<const primitives::record_part> parts, const records& out) {
  constexpr std::uint64_t widest = 16;
  std::uint64_t bits = widest | reinterpret_cast<std::uintptr_t>(out.data) | out.stride_bytes | out.record_bytes;
  for (const primitives::record_part& part : parts)
    bits |= reinterpret_cast<std::uintptr_t>(part.data) | part.stride_bytes;
  return std::uint32_t{1} << std::countr_zero(bits);
}

}  // namespace

std::uint64_t shares_memory(const group_state& state) noexcept {
  for (int r = 0; r < state.size; ++r) {
    if (r != state.rank && !state.between->shares_memory_with(r)) return 0;
  }
  return 1;
}

bool memory_is_shared(const group_state& state, std::span<const call_header> headers) noexcept {
  return state.goes_by_primitives &&
         std::all_of(headers.begin(), headers.end(), [](const call_header& h) { return h.shared[2] != 0; });
}

// Of p ranks' records (p - 1) / p cross a link either way, so that factor counts for nothing here. Measured on H200s of
// one host, for each GPU: loads from a peer's memory, 6.7 G a second at 8 bytes and 376 GB/s at 128; an exchange, 351
// GB/s, which carries an entry to its owner and the record back. By these figures loads are faster from 49 bytes on, or
// from 53 where owners know the list. What an exchange does beside that in a GPU's own memory is not counted: its
// passes over lists and records take ten times the rate of a link.
bool peer_loads_win(std::uint64_t record_bytes, std::uint64_t entry_bytes) noexcept {
  constexpr double loads_per_second = 6.7e9;
  constexpr double loaded_bytes_per_second = 376e9;
  constexpr double exchanged_bytes_per_second = 351e9;
  const double load = std::max(1 / loads_per_second, static_cast<double>(record_bytes) / loaded_bytes_per_second);
  return load < static_cast<double>(record_bytes + entry_bytes) / exchanged_bytes_per_second;
}

bool gather_from_peers(group_state& state, const device_owners& owners, const_records table, const list_part& list,
                       records out, std::uint64_t call, const core::index_wording& wording) {
  const context& ctx = state.ctx;
  // What can fail for want of memory does so before other ranks read this one's table, which its caller may free then.
  const std::uint64_t parts_bytes = static_cast<std::uint64_t>(state.size) * sizeof(primitives::record_part);
  const buffer memory(ctx, parts_bytes + sizeof(std::uint64_t));
  wait_for_queued(state);  // tables are written before other ranks know where they are
  const primitives::record_part mine{table.count > 0 ? table.data : nullptr, table.stride_bytes};
  std::vector<primitives::record_part> parts(static_cast<std::size_t>(state.size));
  all_gather(state, &mine, sizeof mine, parts.data());
  const primitives::routing_steps& steps = primitives::routing_steps_of(ctx.backend());
  const std::vector<std::uint64_t> reads = all_gather(state, steps.reads(ctx, parts) ? 1 : 0);
  if (std::find(reads.begin(), reads.end(), 0U) != reads.end()) return false;
  if (list.entries.count > 0) {
    copy_bytes(ctx, memory.data(), parts.data(), parts_bytes);
    auto* const first_bad = reinterpret_cast<std::uint64_t*>(memory.data() + parts_bytes);
    steps.gather(ctx, {owners.rows(list.entries.type), memory.as<primitives::record_part>(), list.entries, out,
                       word_bytes_of(parts, out), first_bad});
    std::uint64_t position = 0;
    copy_bytes(ctx, &position, first_bad, sizeof position);
    note_bad_entry(state, list, position, owners.count(), call, wording);
  }
  all_gather(state, 0);  // until all have read, tables stay as they are
  return true;
}

}  // namespace sheaf::distributed
