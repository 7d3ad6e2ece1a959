#include <cstddef>

#include "core/startable.hpp"
#include "lab/description/movement/problem.hpp"
#include "lab/peers/movement.hpp"

namespace sheaf::bench::peers {
namespace {

template <class Record, class Index>
void loop_gather(const context& ctx, const_records from, index_span index, records to) {
  const auto* const table = reinterpret_cast<const Record*>(from.data);
  const auto* const entries = static_cast<const Index*>(index.data);
  auto* const out = reinterpret_cast<Record*>(to.data);
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static)
  for (std::uint64_t i = 0; i < index.count; ++i) out[i] = table[entries[i]];
}

template <class Record, class Index>
void loop_scatter(const context& ctx, const_records from, index_span index, records to) {
  const auto* const in = reinterpret_cast<const Record*>(from.data);
  const auto* const entries = static_cast<const Index*>(index.data);
  auto* const out = reinterpret_cast<Record*>(to.data);
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static)
  for (std::uint64_t i = 0; i < index.count; ++i) out[entries[i]] = in[i];
}

template <class Record, class Index>
void serial_scatter(const context&, const_records from, index_span index, records to) {
  const auto* const in = reinterpret_cast<const Record*>(from.data);
  const auto* const entries = static_cast<const Index*>(index.data);
  auto* const out = reinterpret_cast<Record*>(to.data);
  for (std::uint64_t i = 0; i < index.count; ++i) out[entries[i]] = in[i];
}

move_records scatter_in_order(std::uint64_t record_bytes, index_type index) noexcept {
  return with_record_type(record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return bytes(index) == 4 ? &serial_scatter<Record, std::uint32_t> : &serial_scatter<Record, std::uint64_t>;
  });
}

}  // namespace

namespace host {

move_records gather(std::uint64_t record_bytes, index_type index) noexcept {
  return with_record_type(record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return bytes(index) == 4 ? &loop_gather<Record, std::uint32_t> : &loop_gather<Record, std::uint64_t>;
  });
}

move_records scatter(std::uint64_t record_bytes, index_type index) noexcept {
  return with_record_type(record_bytes, [&]<class Record>(std::type_identity<Record>) {
    return bytes(index) == 4 ? &loop_scatter<Record, std::uint32_t> : &loop_scatter<Record, std::uint64_t>;
  });
}

std::vector<contender> gathers(const context& ctx, const problem& p, const workspace& arrays) {
  return mover("plain_loop", gather(p.record_bytes, p.index), ctx, arrays, [] {});
}

// Threads would let any writer win.
std::vector<contender> scatters(const context& ctx, const problem& p, const workspace& arrays) {
  const bool keeps_order = p.part<primitives::movement_part>().duplicates == duplicates::last;
  const move_records move = keeps_order ? scatter_in_order(p.record_bytes, p.index) : scatter(p.record_bytes, p.index);
  return mover(keeps_order ? "serial_loop" : "plain_loop", move, ctx, arrays, [] {});
}

}  // namespace host
}  // namespace sheaf::bench::peers
