#pragma once

#include <cooperative_groups.h>

#include "cuda/sort/onesweep/digit_histogram.cuh"
#include "cuda/sort/onesweep/pass.cuh"

// Onesweep (Adinets and Merrill 2022): an LSD radix sort whose passes read and write the words once, because decoupled
// look-back takes the place of a histogram and a scan before each pass. It takes as long whatever the keys are, except
// that digits which all keys share take no pass.
namespace sheaf::cuda {

/// The whole sort in one cooperative kernel: clears the tables, counts all digits, then runs a pass for each digit in
/// which keys differ.
template <int Limbs, payload_mode Payload, onesweep_tiles Tiles, bool FromRows>
__global__ void __launch_bounds__(onesweep_tuning<Limbs, Payload, Tiles>::threads,
                                  onesweep_tuning<Limbs, Payload, Tiles>::blocks_per_multiprocessor)
    onesweep_words(const __grid_constant__ onesweep_arguments a) {
  extern __shared__ __align__(16) unsigned char dynamic[];
  if (a.only_if != nullptr && __ldcg(a.only_if) == 0) return;
  const onesweep_block<Limbs, Payload, Tiles, FromRows> block(a, *reinterpret_cast<onesweep_shared*>(dynamic),
                                                              dynamic + sizeof(onesweep_shared));
  const auto grid = cooperative_groups::this_grid();
  const std::uint32_t digits = (a.key_high - a.key_low - 1) / radix_bits + 1;
  clear_tables(block);
  grid.sync();
  count_digits(block, digits);
  grid.sync();
  std::uint32_t differing = differing_digits(block, digits);
  std::uint32_t source = 0;
  for (std::uint32_t number = 0; differing != 0; ++number) {
    const std::uint32_t digit = __ffs(static_cast<int>(differing)) - 1;
    const std::uint32_t passes_left = __popc(differing);
    differing &= differing - 1;
    // The last pass but one writes to buffer 1, because buffer 2 may be the target.
    const std::uint32_t target = passes_left == 1 ? 0 : passes_left % 2 == 0 ? 1 : 2;
    onesweep_pass<Limbs, Payload, Tiles, FromRows>(block, {number, digit, source, target}).move_tiles();
    source = target;
    if (passes_left > 1) grid.sync();
  }
}

}  // namespace sheaf::cuda
