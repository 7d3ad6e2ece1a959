#include "cuda/sort/onesweep/run.hpp"

#include <algorithm>

#include "cuda/device/state.hpp"
#include "cuda/sort/onesweep/pass.cuh"

namespace sheaf::cuda {
namespace {

/// Words of a tile, and their values.
std::uint64_t tile_of(std::uint32_t value_bytes) {
  switch (value_bytes) {
    case 0: return sweep_shape<payload_mode::nothing>::tile;
    case 16: return sweep_shape<payload_mode::values_16>::tile;
    default: return sweep_shape<payload_mode::values_4>::tile;
  }
}

/// Where the tables lie in scratch, in bytes.
struct onesweep_scratch_layout {
  std::uint64_t tickets;
  std::uint64_t states[2];
  std::uint64_t bytes;

  onesweep_scratch_layout(std::uint64_t count, std::uint32_t value_bytes) {
    const std::uint64_t states_bytes = ceil_div(count, tile_of(value_bytes)) * radix_bins * sizeof(std::uint32_t);
    tickets = most_sweeps * radix_bins * sizeof(std::uint32_t);
    states[0] = tickets + 256;
    states[1] = states[0] + states_bytes;
    bytes = states[1] + states_bytes;
  }
};

template <payload_mode Payload, bool FromRows>
void launch_sweep(const context& ctx, const char* what, const sweep_arguments& a) {
  using shape = sweep_shape<Payload>;
  launch_cooperative(ctx, what, sweep_words<Payload, FromRows>, ceil_div(std::uint64_t{a.of.count}, shape::tile),
                     shape::threads, sweep_shared_bytes<Payload>(), a);
}

template <payload_mode Payload>
void run_sweep_of(const context& ctx, const char* what, const sweep_arguments& a, bool from_rows) {
  from_rows ? launch_sweep<Payload, true>(ctx, what, a) : launch_sweep<Payload, false>(ctx, what, a);
}

}  // namespace

std::uint64_t onesweep_scratch_bytes(std::uint64_t count, std::uint32_t value_bytes) {
  return onesweep_scratch_layout(count, value_bytes).bytes;
}

void run_onesweep(const context& ctx, const char* what, const msd_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if) {
  const onesweep_scratch_layout room(s.count, s.value_bytes);
  const auto numbers = [&](std::uint64_t at) { return reinterpret_cast<std::uint32_t*>(scratch + at); };
  sweep_arguments a{};
  a.of.buffers[0] = s.in;
  a.of.values[0] = s.values;
  for (int i = 0; i < 2; ++i) {
    a.of.buffers[1 + i] = s.buffers[i];
    a.of.values[1 + i] = s.value_buffers[i];
    a.sweep.states[i] = numbers(room.states[i]);
  }
  a.of.count = static_cast<std::uint32_t>(s.count);
  a.of.key_low = s.key_low;
  a.of.key_high = s.key_high;
  a.of.rows = s.rows;
  a.of.change = s.target.change;
  a.target = s.target;
  a.values_to = s.values_to;
  a.sweep.digits = numbers(0);
  a.sweep.tickets = numbers(room.tickets);
  a.only_if = only_if;
  switch (s.value_bytes) {
    case 0: return run_sweep_of<payload_mode::nothing>(ctx, what, a, s.from_rows);
    case 4: return run_sweep_of<payload_mode::values_4>(ctx, what, a, s.from_rows);
    case 8: return run_sweep_of<payload_mode::values_8>(ctx, what, a, s.from_rows);
    default: return run_sweep_of<payload_mode::values_16>(ctx, what, a, s.from_rows);
  }
}

}  // namespace sheaf::cuda
