#pragma once

#include <cstdint>

#include "lab/inputs/pattern_function.hpp"
#include "papers/wei2010/figures.hpp"

// Where the memory test goes, on host and device.
namespace sheaf::bench::papers::wei2010 {

/// The word that a walker begins with: at a random place, as splitters of a list are.
SHEAF_HOST_DEVICE inline std::uint64_t first_word(std::uint64_t walker, std::uint64_t words) {
  return inputs::mix(walker) & (words - 1);
}

/// The word of a later access, which does not depend on what was read. At random, a linear congruential generator goes
/// through all words before it repeats one.
SHEAF_HOST_DEVICE inline std::uint64_t next_word(bool at_random, std::uint64_t word, std::uint64_t stride,
                                                 std::uint64_t words) {
  const std::uint64_t next = at_random ? word * 6364136223846793005U + 1442695040888963407U : word + stride;
  return next & (words - 1);
}

}  // namespace sheaf::bench::papers::wei2010
