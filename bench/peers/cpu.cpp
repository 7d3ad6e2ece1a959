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

}  // namespace host

std::string_view name(backend_kind backend) noexcept { return backend == backend_kind::cuda ? "thrust" : "plain_loop"; }

move_records gather(backend_kind backend, std::uint64_t record_bytes, index_type index) noexcept {
#if SHEAF_HAS_CUDA
  if (backend == backend_kind::cuda) return device::gather(record_bytes, index);
#endif
  return backend == backend_kind::cpu ? host::gather(record_bytes, index) : nullptr;
}

move_records scatter(backend_kind backend, std::uint64_t record_bytes, index_type index) noexcept {
#if SHEAF_HAS_CUDA
  if (backend == backend_kind::cuda) return device::scatter(record_bytes, index);
#endif
  return backend == backend_kind::cpu ? host::scatter(record_bytes, index) : nullptr;
}

void wait(const context& ctx) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) device::wait(ctx);
#endif
  (void)ctx;
}

}  // namespace sheaf::bench::peers
