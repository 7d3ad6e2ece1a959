#include "lab/description/movement/last_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include <sheaf/memory.hpp>

#include "core/startable.hpp"
#include "lab/description/host_threads.hpp"
#include "lab/inputs/pattern_function.hpp"

namespace sheaf::jobs {
namespace {

constexpr std::uint64_t staged_bytes = std::uint64_t{1} << 26;

bool is_record(const std::byte* bytes, std::uint64_t record_bytes, std::uint64_t seed, std::uint64_t record) {
  for (std::uint64_t b = 0; b < record_bytes; b += 8) {
    const std::uint64_t word = inputs::record_word(seed, record, b / 8);
    if (std::memcmp(bytes + b, &word, std::min<std::uint64_t>(8, record_bytes - b)) != 0) return false;
  }
  return true;
}

// For each record, one past the last position whose entry names it; 0 if no entry does.
template <class Entry>
std::vector<std::uint32_t> last_writers(const context& ctx, index_span list, std::uint64_t indexed_count, int threads) {
  std::vector<Entry> entries(list.count);
  copy_bytes(ctx, entries.data(), list.data, list.count * sizeof(Entry));
  std::vector<std::uint32_t> last(indexed_count);
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t i = 0; i < list.count; ++i) {
    std::atomic_ref<std::uint32_t> writer(last[entries[i]]);
    const auto position = static_cast<std::uint32_t>(i + 1);
    std::uint32_t seen = writer.load(std::memory_order_relaxed);
    while (seen < position && !writer.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
    }
  }
  return last;
}

}  // namespace

std::uint64_t count_last_writer_mismatches(const context& ctx, const_records out, index_span list,
                                           std::uint64_t in_seed, std::uint64_t out_seed) {
  const int threads = host_threads(ctx);
  const std::vector<std::uint32_t> last = bytes(list.type) == 4
                                              ? last_writers<std::uint32_t>(ctx, list, out.count, threads)
                                              : last_writers<std::uint64_t>(ctx, list, out.count, threads);
  const bool in_place = ctx.backend() == backend_kind::cpu;
  const std::uint64_t piece = in_place ? out.count : std::max<std::uint64_t>(1, staged_bytes / out.stride_bytes);
  std::vector<std::byte> staging(in_place ? 0 : piece * out.stride_bytes);
  std::uint64_t mismatches = 0;
  for (std::uint64_t first = 0; first < out.count; first += piece) {
    const std::uint64_t records_in_piece = std::min(piece, out.count - first);
    const std::byte* found = out.data + first * out.stride_bytes;
    if (!in_place) {
      copy_bytes(ctx, staging.data(), found, (records_in_piece - 1) * out.stride_bytes + out.record_bytes);
      found = staging.data();
    }
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static) reduction(+ : mismatches)
    for (std::uint64_t r = 0; r < records_in_piece; ++r) {
      const std::uint32_t writer = last[first + r];
      const bool right = writer == 0 ? is_record(found + r * out.stride_bytes, out.record_bytes, out_seed, first + r)
                                     : is_record(found + r * out.stride_bytes, out.record_bytes, in_seed, writer - 1);
      mismatches += right ? 0 : 1;
    }
  }
  return mismatches;
}

}  // namespace sheaf::jobs
