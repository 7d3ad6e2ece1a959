#include <cstddef>

#include "bench/peers/movement.hpp"

namespace sheaf::bench::peers {
namespace {

template <class Record, class Index>
void loop_gather(const context& ctx, const_records from, index_span index, records to) {
  const auto* const table = reinterpret_cast<const Record*>(from.data);
  const auto* const entries = static_cast<const Index*>(index.data);
  auto* const out = reinterpret_cast<Record*>(to.data);
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::uint64_t i = 0; i < index.count; ++i) out[i] = table[entries[i]];
}

template <class Record, class Index>
void loop_scatter(const context& ctx, const_records from, index_span index, records to) {
  const auto* const in = reinterpret_cast<const Record*>(from.data);
  const auto* const entries = static_cast<const Index*>(index.data);
  auto* const out = reinterpret_cast<Record*>(to.data);
#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::uint64_t i = 0; i < index.count; ++i) out[entries[i]] = in[i];
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

// It lets any writer win.
std::vector<contender> scatters(const context& ctx, const problem& p, const workspace& arrays) {
  if (p.duplicates == duplicates::last) return {};
  return mover("plain_loop", scatter(p.record_bytes, p.index), ctx, arrays, [] {});
}

}  // namespace host
}  // namespace sheaf::bench::peers
