#pragma once

#include <sheaf/machine_profile.hpp>

// The units in which the cost models state their constants: multiples of what a profile measures, so that predictions
// follow the profile. All constants were fitted to an H200 with the shipped profile (profiles/nvidia-h200.json); the
// records are lab/results/h200/model.json for movements, split-model.json and sort-model.json.
namespace sheaf::cuda {

/// Seconds in which all multiprocessors together do `items` steps of a loop that waits for instructions or shared
/// memory and not for memory. `items_per_byte` is how many they do in the time in which the L2 cache moves one byte.
inline double instruction_seconds(double items, double items_per_byte, const machine& m) noexcept {
  return items / (items_per_byte * m.cached_bytes_per_second);
}

/// What a phase of a radix sort takes for each word, in bytes that could be moved in that time.
struct word_cost {
  double cached_bytes;  ///< of the L2 cache, for the word's instructions, whatever its width
  double copied_bytes;  ///< of memory, for each byte of the word and of its value

  /// Seconds for a word and a value of `bytes` together.
  double seconds(double bytes, const machine& m) const {
    return cached_bytes / m.cached_bytes_per_second + copied_bytes * bytes / m.copy_bytes_per_second;
  }
};

}  // namespace sheaf::cuda
