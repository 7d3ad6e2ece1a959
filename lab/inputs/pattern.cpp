#include "lab/inputs/pattern.hpp"

#include <vector>

#include "core/startable.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::inputs {
namespace {

// Calls use(k, entry) -> count with entry first + k of the pattern for every k below `count`, on all threads, and adds
// up what it returns.
template <class Use>
std::uint64_t for_each_entry(const pattern& order, std::uint64_t indexed_count, std::uint64_t first,
                             std::uint64_t count, int threads, Use use) {
  std::uint64_t sum = 0;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : sum)
  for (std::uint64_t k = 0; k < count; ++k) sum += use(k, pattern_entry(order, first + k, indexed_count));
  return sum;
}

// for_each_entry() of pattern_kind::drawn: each window once from its first entry on, counting the entries of each
// partition. The list begins again where all records have been named.
template <class Use>
std::uint64_t for_each_drawn(const pattern& order, std::uint64_t indexed_count, std::uint64_t first,
                             std::uint64_t count, int threads, Use use) {
  const drawn_windows windows(indexed_count, order.parameter, order.seed);
  const std::uint64_t windows_of_a_lap = (indexed_count - 1) / windows.window_entries() + 1;
  const auto window_of = [&](std::uint64_t entry) {
    return entry / indexed_count * windows_of_a_lap + entry % indexed_count / windows.window_entries();
  };
  const std::uint64_t first_window = window_of(first);
  const std::uint64_t end_window = window_of(first + count - 1) + 1;
  // No more threads than windows: each has a byte for every partition, so all have a byte for 16 records at most.
  const auto walkers = static_cast<int>(std::min<std::uint64_t>(end_window - first_window, threads));
  std::uint64_t sum = 0;
#pragma omp parallel num_threads(core::startable(walkers)) reduction(+ : sum)
  {
    std::vector<unsigned char> ranks(windows.partitions);
#pragma omp for schedule(static)
    for (std::uint64_t w = first_window; w < end_window; ++w) {
      const std::uint64_t window = w % windows_of_a_lap;
      const std::uint64_t begin = w / windows_of_a_lap * indexed_count + windows.begin(window);
      const std::uint64_t end = std::min(begin + windows.entries(window), first + count);
      std::ranges::fill(ranks, static_cast<unsigned char>(0));
      for (std::uint64_t i = begin; i < end; ++i) {
        const std::uint64_t partition = windows.partition(window, i - begin);
        const std::uint64_t rank = ranks[partition]++;
        if (i >= first) sum += use(i - first, windows.record(window, partition, rank));
      }
    }
  }
  return sum;
}

template <class Use>
std::uint64_t visit_entries(const pattern& order, std::uint64_t indexed_count, std::uint64_t first, std::uint64_t count,
                            int threads, Use use) {
  if (count == 0) return 0;
  return order.kind == pattern_kind::drawn ? for_each_drawn(order, indexed_count, first, count, threads, use)
                                           : for_each_entry(order, indexed_count, first, count, threads, use);
}

template <class T>
void fill(const pattern& p, std::uint64_t indexed_count, const index_span& index, std::uint64_t first, int threads) {
  T* const entries = const_cast<T*>(static_cast<const T*>(index.data));
  visit_entries(p, indexed_count, first, index.count, threads, [&](std::uint64_t k, std::uint64_t entry) {
    entries[k] = static_cast<T>(entry);
    return std::uint64_t{0};
  });
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
  return visit_entries(order, indexed_count, 0, out.count, ctx.threads(), [&](std::uint64_t i, std::uint64_t record) {
    return is_record(out.data + i * out.stride_bytes, out.record_bytes, seed, record) ? std::uint64_t{0} : 1;
  });
}

std::uint64_t count_scatter_mismatches(const context& ctx, const_records out, const pattern& order, std::uint64_t count,
                                       std::uint64_t seed) {
#if SHEAF_HAS_CUDA
  if (ctx.backend() == backend_kind::cuda) return device::count_scatter_mismatches(ctx, out, order, count, seed);
#endif
  return visit_entries(order, out.count, 0, count, ctx.threads(), [&](std::uint64_t i, std::uint64_t record) {
    return is_record(out.data + record * out.stride_bytes, out.record_bytes, seed, i) ? std::uint64_t{0} : 1;
  });
}

}  // namespace sheaf::inputs
