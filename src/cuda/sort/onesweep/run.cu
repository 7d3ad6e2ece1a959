#include "cuda/sort/onesweep/run.hpp"

#include <algorithm>

#include "cuda/device/state.hpp"
#include "cuda/sort/onesweep/kernel.cuh"

namespace sheaf::cuda {
namespace {

std::uint64_t tile_words_of(std::uint32_t value_bytes) {
  switch (value_bytes) {
    case 0: return onesweep_tuning<payload_mode::none>::tile_words;
    case 16: return onesweep_tuning<payload_mode::values_16>::tile_words;
    default: return onesweep_tuning<payload_mode::values_4>::tile_words;
  }
}

/// Where the tables begin in the scratch, in bytes; the histogram is the first of them.
struct onesweep_scratch_layout {
  std::uint64_t tile_counters;
  std::uint64_t tile_states[2];
  std::uint64_t bytes;  ///< bytes of the whole scratch

  onesweep_scratch_layout(std::uint64_t count, std::uint32_t value_bytes) {
    const std::uint64_t tiles = ceil_div(count, tile_words_of(value_bytes));
    const std::uint64_t states_bytes = tiles * radix_bins * sizeof(tile_state);
    tile_counters = most_onesweep_passes * radix_bins * sizeof(std::uint32_t);
    tile_states[0] = tile_counters + 256;
    tile_states[1] = tile_states[0] + states_bytes;
    bytes = tile_states[1] + states_bytes;
  }
};

template <payload_mode Payload, bool FromRows>
void launch_onesweep(const context& ctx, const char* operation, const onesweep_arguments& a) {
  using tuning = onesweep_tuning<Payload>;
  launch_cooperative(ctx, operation, onesweep_words<Payload, FromRows>,
                     ceil_div(std::uint64_t{a.count}, tuning::tile_words), tuning::threads,
                     onesweep_shared_bytes<Payload>(), a);
}

template <payload_mode Payload>
void launch_onesweep(const context& ctx, const char* operation, const onesweep_arguments& a, bool from_rows) {
  from_rows ? launch_onesweep<Payload, true>(ctx, operation, a) : launch_onesweep<Payload, false>(ctx, operation, a);
}

}  // namespace

std::uint64_t onesweep_scratch_bytes(std::uint64_t count, std::uint32_t value_bytes) {
  return onesweep_scratch_layout(count, value_bytes).bytes;
}

void run_onesweep(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if) {
  const onesweep_scratch_layout layout(s.count, s.value_bytes);
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
  switch (s.value_bytes) {
    case 0: return launch_onesweep<payload_mode::none>(ctx, operation, a, s.from_rows);
    case 4: return launch_onesweep<payload_mode::values_4>(ctx, operation, a, s.from_rows);
    case 8: return launch_onesweep<payload_mode::values_8>(ctx, operation, a, s.from_rows);
    default: return launch_onesweep<payload_mode::values_16>(ctx, operation, a, s.from_rows);
  }
}

}  // namespace sheaf::cuda
