#include "lab/spatter/chunks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/startable.hpp"
#include "lab/description/host_threads.hpp"

namespace sheaf::bench {
namespace {

// Entries of a list in device memory that are expanded on the host at once.
constexpr std::uint64_t staged_entries = std::uint64_t{1} << 22;

template <class T>
void expand(const spatter_sequence& sequence, std::uint64_t phase, std::uint64_t first_entry, std::uint64_t count,
            T* list, int threads) {
  const std::uint64_t length = sequence.places.size();
  const std::uint64_t base = sequence.offset(phase);
  constexpr std::uint64_t block = 1 << 14;
#pragma omp parallel for num_threads(core::startable(threads)) schedule(static)
  for (std::uint64_t begin = 0; begin < count; begin += block) {
    const std::uint64_t end = std::min(count, begin + block);
    std::uint64_t row = (first_entry + begin) / length;
    std::uint64_t j = (first_entry + begin) % length;
    std::uint64_t shift = sequence.offset(phase + row) - base;
    for (std::uint64_t e = begin; e < end; ++e) {
      list[e] = static_cast<T>(sequence.places[j] + shift);
      if (++j < length) continue;
      j = 0;
      shift = sequence.offset(phase + ++row) - base;
    }
  }
}

template <class T>
void expand_into(const context& ctx, const spatter_sequence& sequence, std::uint64_t phase, index_span list) {
  T* const entries = const_cast<T*>(static_cast<const T*>(list.data));
  if (ctx.backend() == backend_kind::cpu)
    return expand(sequence, phase, 0, list.count, entries, jobs::host_threads(ctx));
  std::vector<T> staged(std::min(list.count, staged_entries));
  for (std::uint64_t done = 0; done < list.count; done += staged.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(staged.size(), list.count - done);
    expand(sequence, phase, done, count, staged.data(), jobs::host_threads(ctx));
    copy_bytes(ctx, entries + done, staged.data(), count * sizeof(T));
  }
}

}  // namespace

spatter_layout lay_out(const spatter_config& config, std::uint64_t chunk_indices) {
  const bool has_dense = config.kernel != spatter_kernel::gather_scatter;
  const std::uint64_t wrap = has_dense ? std::min(config.wrap, config.count) : 1;
  const std::uint64_t most_rows = std::max<std::uint64_t>(1, chunk_indices / config.length());
  if (config.count <= most_rows) return {config.count, config.count, wrap};

  const std::uint64_t period = config.gathers() ? config.gather.period() : config.scatter.period();
  const auto multiple_of = [&](std::uint64_t unit) { return unit <= most_rows ? most_rows / unit * unit : most_rows; };
  if (wrap > most_rows) return {multiple_of(period), wrap, wrap};
  // wrap and period are at most 2^48. Their least common multiple may overflow, so it is compared by division.
  const std::uint64_t factor = period / std::gcd(wrap, period);
  const std::uint64_t rows = factor <= most_rows / wrap ? multiple_of(wrap * factor) : multiple_of(wrap);
  return {rows, rows, wrap};
}

spatter_chunk chunk_at(const spatter_config& config, const spatter_layout& layout, std::uint64_t first) {
  const std::uint64_t left = std::min(layout.rows, config.count - first);
  if (layout.dense_rows == layout.rows) return {first, left, 0};
  const std::uint64_t dense_row = first % layout.wrap;
  return {first, std::min(left, layout.dense_rows - dense_row), dense_row};
}

std::uint64_t chunk_extent(const spatter_sequence& sequence, const spatter_chunk& chunk) {
  return sequence.last_place + sequence.offset(chunk.first + chunk.rows - 1) - sequence.offset(chunk.first) + 1;
}

index_type list_type(const spatter_sequence& sequence, const spatter_layout& layout) {
  const std::uint64_t shift = sequence.period() == 1 ? (layout.rows - 1) * sequence.period_delta
                                                     : (layout.rows / sequence.period() + 1) * sequence.period_delta;
  const bool fits = sequence.last_place + shift <= std::numeric_limits<std::uint32_t>::max();
  return fits ? index_type::u32 : index_type::u64;
}

void expand_list(const context& ctx, const spatter_sequence& sequence, std::uint64_t phase, index_span list) {
  if (bytes(list.type) == 4) {
    expand_into<std::uint32_t>(ctx, sequence, phase, list);
  } else {
    expand_into<std::uint64_t>(ctx, sequence, phase, list);
  }
}

}  // namespace sheaf::bench
