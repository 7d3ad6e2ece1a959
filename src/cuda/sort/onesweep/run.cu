#include "cuda/sort/onesweep/run.hpp"

#include "cuda/sort/onesweep/launch.cuh"

namespace sheaf::cuda {
namespace {

template <int Limbs>
std::uint64_t tile_words_of(std::uint64_t count, std::uint32_t value_bytes) {
  switch (value_bytes) {
    case 0: return onesweep_tile_words<Limbs, payload_mode::none>(count);
    case 16: return onesweep_tile_words<Limbs, payload_mode::values_16>(count);
    default: return onesweep_tile_words<Limbs, payload_mode::values_4>(count);
  }
}

/// Where the tables begin in the scratch, in bytes; the histogram is the first of them.
struct onesweep_scratch_layout {
  std::uint64_t tile_counters;
  std::uint64_t tile_states[2];
  std::uint64_t bytes;  ///< bytes of the whole scratch

  onesweep_scratch_layout(std::uint64_t count, std::uint32_t limbs, std::uint32_t value_bytes) {
    const std::uint64_t tiles =
        ceil_div(count, limbs == 1 ? tile_words_of<1>(count, value_bytes) : tile_words_of<2>(count, value_bytes));
    const std::uint64_t states_bytes = tiles * radix_bins * sizeof(tile_state);
    tile_counters = most_onesweep_passes<2> * radix_bins * sizeof(std::uint32_t);
    tile_states[0] = tile_counters + 256;
    tile_states[1] = tile_states[0] + states_bytes;
    bytes = tile_states[1] + states_bytes;
  }
};

}  // namespace

std::uint64_t onesweep_scratch_bytes(const word_sort& s) {
  return onesweep_scratch_layout(s.count, s.limbs, s.value_bytes).bytes;
}

void run_onesweep(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if) {
  const onesweep_scratch_layout layout(s.count, s.limbs, s.value_bytes);
  const auto table_at = [&](std::uint64_t offset) { return reinterpret_cast<std::uint32_t*>(scratch + offset); };
  const onesweep_arguments a{
      .buffers = {s.in, s.buffers[0], s.buffers[1]},
      .values = {s.values, s.value_buffers[0], s.value_buffers[1]},
      .count = static_cast<std::uint32_t>(s.count),
      .key_low = s.key_low,
      .key_high = s.key_high,
      .only_if = only_if,
      .rows = s.rows,
      .transform = s.target.transform,
      .target = s.target,
      .values_to = s.values_to,
      .tables = {.histogram = table_at(0),
                 .tile_counters = table_at(layout.tile_counters),
                 .tile_states = {table_at(layout.tile_states[0]), table_at(layout.tile_states[1])}},
  };
  return s.limbs == 1 ? queue_onesweep<1>(ctx, operation, a, s.from_rows, s.value_bytes)
                      : queue_onesweep<2>(ctx, operation, a, s.from_rows, s.value_bytes);
}

}  // namespace sheaf::cuda
