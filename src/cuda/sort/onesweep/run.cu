#include "cuda/sort/onesweep/run.hpp"

#include "core/scratch_offsets.hpp"
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

/// The tables of a sort in its scratch; without scratch, their size alone.
struct onesweep_scratch {
  onesweep_tables tables;
  std::uint64_t bytes;

  onesweep_scratch(const word_sort& s, std::byte* scratch) {
    const std::uint64_t tiles = ceil_div(
        s.count, s.limbs == 1 ? tile_words_of<1>(s.count, s.value_bytes) : tile_words_of<2>(s.count, s.value_bytes));
    core::scratch_arrays arrays(scratch);
    tables.histogram = arrays.take<std::uint32_t>(most_onesweep_passes<2> * radix_bins);
    tables.tile_counters = arrays.take<std::uint32_t>(most_onesweep_passes<2>);
    for (std::uint32_t*& states : tables.tile_states) states = arrays.take<tile_state>(tiles * radix_bins);
    bytes = arrays.bytes();
  }
};

}  // namespace

std::uint64_t onesweep_scratch_bytes(const word_sort& s) { return onesweep_scratch(s, nullptr).bytes; }

void run_onesweep(const context& ctx, const char* operation, const word_sort& s, std::byte* scratch,
                  const std::uint32_t* only_if) {
  const onesweep_arguments a{s, only_if, onesweep_scratch(s, scratch).tables};
  return s.limbs == 1 ? queue_onesweep<1>(ctx, operation, a) : queue_onesweep<2>(ctx, operation, a);
}

}  // namespace sheaf::cuda
