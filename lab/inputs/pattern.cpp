#include "lab/inputs/pattern.hpp"

#include "core/startable.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::inputs {
namespace {

template <class T>
void fill(const pattern& p, std::uint64_t indexed_count, const index_span& index, std::uint64_t first, int threads) {
  T* const entries = const_cast<T*>(static_cast<const T*>(index.data));
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < index.count; ++i)
    entries[i] = static_cast<T>(pattern_entry(p, first + i, indexed_count));
}

}  // namespace

void fill_index(const context& ctx, const pattern& order, std::uint64_t indexed_count, index_span index,
                std::uint64_t first) {
  if (index.count == 0) return;
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::fill_index(ctx, order, indexed_count, index, first);
#endif
  if (bytes(index.type) == 4) {
    fill<std::uint32_t>(order, indexed_count, index, first, ctx.threads());
  } else {
    fill<std::uint64_t>(order, indexed_count, index, first, ctx.threads());
  }
}

void fill_records(const context& ctx, records out, std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::fill_records(ctx, out, seed);
#endif
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static)
  for (std::uint64_t r = 0; r < out.count; ++r) {
    std::byte* const record = out.data + r * out.stride_bytes;
    for (std::uint64_t b = 0; b < out.record_bytes; b += 8) {
      const std::uint64_t word = record_word(seed, r, b / 8);
      std::memcpy(record + b, &word, std::min<std::uint64_t>(8, out.record_bytes - b));
    }
  }
}

std::uint64_t count_gather_mismatches(const context& ctx, const_records out, const pattern& order,
                                      std::uint64_t indexed_count, std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::count_gather_mismatches(ctx, out, order, indexed_count, seed);
#endif
  std::uint64_t mismatches = 0;
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static) reduction(+ : mismatches)
  for (std::uint64_t i = 0; i < out.count; ++i) {
    const std::uint64_t record = pattern_entry(order, i, indexed_count);
    mismatches += is_record(out.data + i * out.stride_bytes, out.record_bytes, seed, record) ? 0 : 1;
  }
  return mismatches;
}

std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& order, std::uint64_t count,
                                       std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::count_scatter_mismatches(ctx, out, order, count, seed);
#endif
  std::uint64_t mismatches = 0;
#pragma omp parallel for num_threads(core::startable(ctx.threads())) schedule(static) reduction(+ : mismatches)
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t record = pattern_entry(order, i, out.count);
    mismatches += is_record(out.data + record * out.stride_bytes, out.record_bytes, seed, i) ? 0 : 1;
  }
  return mismatches;
}

}  // namespace sheaf::inputs
